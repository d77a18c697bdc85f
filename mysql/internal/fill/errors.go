package fill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/wire"
	"culvert/sink"
)

// Errors of the server, in the error references of MySQL ("Server Error Message Reference") and MariaDB ("MariaDB Error
// Code Reference").
const (
	codeTableExists   = 1050
	codeDuplicate     = 1062
	codeLockWait      = 1205
	codeSeveralRows   = 1242 // ER_SUBQUERY_NO_1_ROW
	codeDeprecated    = 1287
	codeReadOnly      = 1290
	codeUnsafeForLog  = 1592
	codeNoSuchTable   = 1146
	codeUnknownSchema = 1049
	codeDiskFull      = 1021
	codeTableFull     = 1114
)

// noSpace finds ENOSPC of Linux and other systems in the text of an error that can have several reasons, such as 1026
// (Error writing file) and 1030 (Got error from storage engine).
var noSpace = lazyregexp.New(`\b(?:errno:|Errcode:|error:?) 28\b`)

// meanings say what errors mean in place of their text, which has values.
var meanings = map[string]string{
	"1048": "a column cannot be null", "1062": "duplicate key", "1263": "a column cannot be null",
	"1264": "out of range", "1265": "the value would be changed", "1292": "incorrect value",
	"1364": "a column has no default", "1366": "incorrect value", "1406": "too long", "1411": "incorrect value",
	"1416": "invalid geometry", "1451": "foreign key violation", codeNoParent: "foreign key violation",
	"1644": "raised by a trigger", "3140": "invalid JSON", "3819": "check violation", "4025": "check violation",
	"1205": "lock wait timeout", "1213": "deadlock", "1021": "disk full", "1114": "table full",
}

// rowStates are the classes of SQLSTATE of errors that are about a row, and rowCodes the numbers of such errors in
// other classes.
var (
	rowStates = []string{"21", "22", "23", "45"}
	rowCodes  = []string{"1048", "1263", "1264", "1265", "1364", "1366", "1416", "3819", "4025", "1118"}
)

// failed explains an error of what was being done. It returns nil for nil.
func (db *DB) failed(ctx context.Context, doing string, err error) error {
	refused := wire.Refused(err)
	isLock := refused != nil && refused.Number == codeLockWait
	isFull := refused != nil && (refused.Number == codeDiskFull || refused.Number == codeTableFull ||
		noSpace.MatchString(refused.Message))
	if refused != nil && db.redact && ctx.Err() == nil {
		err = redacted(strconv.Itoa(int(refused.Number)))
	}
	err = db.conn.Explain(ctx, doing, err)
	switch {
	case ctx.Err() != nil:
	case isLock:
		return fmt.Errorf("%w: %w", sink.ErrLocked, err)
	case isFull:
		return fmt.Errorf("%w: %w", sink.ErrFull, err)
	}
	return err
}

// redacted is the meaning of an error without its text.
type redacted string

func (code redacted) Error() string {
	if meaning := meanings[string(code)]; meaning != "" {
		return meaning + " (error " + string(code) + ")"
	}
	return "error " + string(code)
}

// complaint is an error, or a warning, of the server about a row.
type complaint struct {
	code, message string
	row           int64 // since the beginning of the piece, from 1; or 0
}

var (
	columnInQuotes = lazyregexp.New(`.*[Cc]olumn '(.*?)'(?: at row|$| cannot)`)
	columnInTicks  = lazyregexp.New(".*column (?:`(?:[^`]|``)*`\\.)*`((?:[^`]|``)*)`")
	columnOfField  = lazyregexp.New(`^Field '(.*?)' doesn't have`)
	brokenKey      = lazyregexp.New(`.* for key '(.*?)'$`)
	brokenCheck    = lazyregexp.New("CONSTRAINT `((?:[^`]|``)*)` (?:failed|FOREIGN KEY)")
	brokenCheck8   = lazyregexp.New(`^Check constraint '(.*?)' is violated`)
	atRow          = lazyregexp.New(` at row ([0-9]+)$`)
)

// match returns what the first of the expressions that matches finds.
func match(text string, expressions ...*lazyregexp.Regexp) string {
	for _, e := range expressions {
		if found := e.FindStringSubmatch(text); found != nil {
			return found[1]
		}
	}
	return ""
}

// rowInMessage returns the row that the message names, or 0.
func (c complaint) rowInMessage() int64 {
	row, _ := strconv.ParseInt(match(c.message, atRow), 10, 64)
	return row
}

// columnOf returns the place of the column that a message names, or -1.
func (l *loader) columnOf(c complaint) int {
	name := match(c.message, columnInTicks, columnInQuotes, columnOfField)
	return slices.IndexFunc(l.t.columns, func(c column) bool { return c.Name == name })
}

// isOfJSON reports whether a constraint is the check of a column of JSON.
func (l *loader) isOfJSON(constraint string) bool {
	return slices.ContainsFunc(l.t.columns, func(c column) bool {
		return c.JSON && (constraint == c.Name || strings.HasSuffix(constraint, "."+c.Name))
	})
}

// brokenJSON returns the place of the column whose value the check of a column of JSON refuses, which the server does
// not name, or -1.
func (l *loader) brokenJSON(row int64, piece []byte) int {
	only, several := -1, false
	for i, c := range l.t.columns {
		if !c.JSON {
			continue
		}
		if row > 0 && piece != nil {
			if value := l.w.valueOf(piece, row, i); value != "" && !json.Valid([]byte(value)) {
				return i
			}
		}
		only, several = i, only >= 0
	}
	if several {
		return -1
	}
	return only
}

// rowError returns the error of a row of the rows that are in conflict, or of the piece that was sent.
func (l *loader) rowError(c complaint, piece []byte, before int64) error {
	row := &sink.RowError{Table: l.t.target.SQL(), Code: c.code, Dangling: c.code == codeNoParent}
	message := c.message
	if c.row == 0 {
		c.row = c.rowInMessage()
	}
	message = atRow.ReplaceAllString(message, "") // of the piece, which nobody knows
	row.Err = errors.New(message)
	row.Constraint = match(message, brokenKey, brokenCheck, brokenCheck8)
	i := l.columnOf(c)
	if i < 0 && (strings.Contains(message, "to function 'json_valid'") || l.isOfJSON(row.Constraint)) {
		i = l.brokenJSON(c.row, piece)
	}
	if i >= 0 {
		row.Column = l.t.columns[i].Name
		if c.row > 0 && piece != nil && !l.t.Redact {
			row.Value = sink.Shorten(l.w.valueOf(piece, c.row, i))
		}
	}
	if c.row > 0 {
		row.Row = before + c.row
	}
	if l.t.Redact {
		row.Err = redacted(c.code)
	}
	return row
}

// refused explains an error of a statement that adds rows.
func (l *loader) refused(err error, piece []byte, before int64) error {
	refused := wire.Refused(err)
	code := ""
	if refused != nil {
		code = strconv.Itoa(int(refused.Number))
	}
	switch {
	case refused == nil || l.t.ctx.Err() != nil,
		!slices.Contains(rowStates, wire.SQLState(refused)[:2]) && !slices.Contains(rowCodes, code):
		return l.t.db.failed(l.t.ctx, "loading "+l.t.target.String(), err)
	case refused.Number == codeSeveralRows && l.t.arrives():
		return &sink.RowError{Table: l.t.target.SQL(), Code: strconv.Itoa(codeDuplicate), Err: errOtherKey}
	}
	row, err := l.rowNumber(1)
	if err != nil {
		return err
	}
	return l.rowError(complaint{code, refused.Message, row}, piece, before)
}

var errOtherKey = errors.New("a row has the same value as another one in a unique index that is not the key")

// rowNumber asks which row a condition of the last statement is about. It is 0 if the server does not tell, as MySQL
// and older versions of MariaDB.
func (l *loader) rowNumber(condition int) (int64, error) {
	conn, ctx := l.t.db.conn, l.t.ctx
	err := conn.Exec(ctx, fmt.Sprintf("GET DIAGNOSTICS CONDITION %d @culvert_row = ROW_NUMBER", condition))
	if wire.Refused(err) != nil && ctx.Err() == nil {
		return 0, nil
	}
	var found [][]string
	if err == nil {
		found, err = conn.Query(ctx, 1, "SELECT @culvert_row")
	}
	if err != nil {
		return 0, l.t.db.failed(ctx, "asking for the row", err)
	}
	if len(found) != 1 {
		return 0, nil
	}
	row, _ := strconv.ParseInt(found[0][0], 10, 64) // 0 if there is none
	return row, nil
}

// warned returns the error of the first warning of the last statement. Warnings are what LOAD DATA LOCAL has in place
// of errors, and notes are about values that the server has changed.
func (l *loader) warned(p *piece) error {
	found, err := l.t.db.conn.Query(l.t.ctx, 3, "SHOW WARNINGS")
	if err != nil {
		return l.t.db.failed(l.t.ctx, "loading "+l.t.target.String(), err)
	}
	lines := l.linesOf(p)
	for i, row := range found {
		warning := complaint{code: row[1], message: row[2]}
		if code := warning.code; code == strconv.Itoa(codeDeprecated) || code == strconv.Itoa(codeUnsafeForLog) {
			continue // about the statement
		}
		if l.isErrorValue(warning, lines) {
			continue
		}
		if warning.row, err = l.rowNumber(i + 1); err != nil {
			return err
		}
		var text []byte
		if p.held > 0 {
			text = p.text[l.start():]
		}
		return l.rowError(warning, text, p.before)
	}
	return nil
}
