package read

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/mysql/internal/wire"
)

// The columns of a query can have any character set, and the driver does not say which. What the server has replaced
// has a mark, "?" or U+FFFD, which a text can also have by itself. So if a column has marks, the server is asked for
// its character set, and then whether there is a text that does not survive, by another run of the query in the same
// snapshot.

// noteMarks notes which columns of the row that was read last have a text with a mark.
func (r *rows) noteMarks() {
	if r.query == "" {
		return
	}
	for i, value := range r.values {
		if text, ok := value.([]byte); ok && !r.doubtful[i] && r.decoders[i].IsText() {
			r.doubtful[i] = bytes.IndexByte(text, '?') >= 0 || bytes.Contains(text, []byte("\uFFFD"))
		}
	}
}

// checkDoubtful returns an error if a text of the query does not survive.
func (r *rows) checkDoubtful() error {
	var doubtful []int
	var charsets []string
	for i, marked := range r.doubtful {
		if marked && r.query != "" {
			doubtful, charsets = append(doubtful, i), append(charsets, "CHARSET(MIN("+columnName(i)+"))")
		}
	}
	if len(doubtful) == 0 || strings.HasPrefix(r.session.Version, "5.") {
		return nil // MySQL 5.7 has no WITH
	}
	with := r.withQuery()
	// Without rows to look at, the server does not run the query.
	found, err := r.session.Query(r.running, len(doubtful), with+"SELECT "+strings.Join(charsets, ", ")+
		" FROM "+queryName+" WHERE FALSE")
	switch {
	case slices.Contains(misplaced, wire.ErrorNumber(err)):
		return r.unchecked(err)
	case err == nil && len(found) != 1:
		err = wire.ErrAnswer
	}
	if err != nil {
		return err
	}
	cases := ""
	for at, i := range doubtful {
		if survives, err := r.session.survives(r.running, found[0][at]); err != nil {
			return err
		} else if !survives {
			cases += fmt.Sprintf(" WHEN %s THEN %d", replaced(columnName(i), found[0][at]), at)
		}
	}
	if cases == "" {
		return nil
	}
	lost, err := r.firstLost(r.running, with+"SELECT CASE"+cases+" END AS lost FROM "+queryName+
		" HAVING lost IS NOT NULL LIMIT 1")
	if err != nil || lost < 0 {
		return err
	}
	return lostText(r.columns[doubtful[lost]].Name, found[0][lost])
}

// misplaced are the errors of statements and clauses that cannot stand in a WITH: ER_PARSE_ERROR, ER_WRONG_USAGE,
// ER_CANT_USE_OPTION_HERE and ER_NOT_SUPPORTED_YET.
var misplaced = []int{1064, 1221, 1234, 1235}

// unchecked returns the error of a query that cannot be part of another one, so that its texts cannot be checked. It is
// nil for what the server cannot explain, such as SHOW, which reads no table.
func (r *rows) unchecked(refused error) error {
	statement, err := r.session.Prepare(r.running, "EXPLAIN "+r.query, 0)
	if wire.Refused(err) != nil {
		return nil
	}
	if err == nil {
		err = wire.Guarded(statement.Close)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("a text has %q or %q, and whether the server has replaced a character by it cannot be checked, "+
		"since the query cannot be part of another one; leave out what is before its columns, such as "+
		"SQL_CALC_FOUND_ROWS, and what follows a semicolon: %v", "?", "\uFFFD", refused)
}

// firstLost returns the number that a statement finds, or -1 for none.
func (r *rows) firstLost(ctx context.Context, sql string) (lost int, err error) {
	found, err := r.session.Query(ctx, 1, sql)
	if err != nil || len(found) == 0 {
		return -1, err
	}
	if _, err := fmt.Sscan(found[0][0], &lost); err != nil || lost < 0 || lost >= len(r.columns) {
		return -1, wire.ErrAnswer
	}
	return lost, nil
}

const queryName = "`culvert query`"

// columnName returns the name of a column of the query in withQuery, since several can have the same one.
func columnName(i int) string { return fmt.Sprintf("c%d", i+1) }

// withQuery returns the query as a common table expression.
func (r *rows) withQuery() string {
	names := make([]string, len(r.columns))
	for i := range names {
		names[i] = columnName(i)
	}
	return "WITH " + queryName + " (" + strings.Join(names, ", ") + ") AS (\n" +
		strings.TrimRight(r.query, "; \t\r\n") + "\n) "
}

// replaced returns the condition that a text does not come back from UTF-8, and has a mark there.
func replaced(text, charset string) string {
	utf8 := "CONVERT(" + text + " USING utf8mb4)"
	return changes(text, charset) + " AND (LOCATE('?', " + utf8 + ") > 0 OR LOCATE('\uFFFD', " + utf8 + ") > 0)"
}
