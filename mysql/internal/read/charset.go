package read

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

// The server converts texts to UTF-8, and writes "?" or U+FFFD for what has no equal there, without a warning. Some
// character sets also have two codes for one character, of which only one comes back. So each row of a table has
// another value, which says whether its texts survive the way there and back. For queries, see query_charset.go.

// unicode are the character sets that hold what UTF-8 holds, and those of values that are not converted.
var unicode = map[string]bool{
	"": true, "binary": true, "utf8": true, "utf8mb3": true, "utf8mb4": true, "ucs2": true, "utf16": true,
	"utf16le": true, "utf32": true,
}

// survives reports whether every text of a character set comes back from UTF-8. It asks the server, since that has the
// tables: by all characters that a character set of one byte has. Others may have any.
func (s *session) survives(ctx context.Context, charset string) (bool, error) {
	if unicode[charset] {
		return true, nil
	}
	if known, asked := s.converted[charset]; asked {
		return known, nil
	}
	if !setName.MatchString(charset) {
		return false, fmt.Errorf("the character set %q has a name that is not expected", charset)
	}
	var all strings.Builder
	for c := range 256 {
		fmt.Fprintf(&all, "%02x", c)
	}
	text := "CONVERT(X'" + all.String() + "' USING " + charset + ")"
	found, err := s.Query(ctx, 1, "SELECT MAXLEN = 1 AND IFNULL(NOT "+changes(text, charset)+", FALSE)"+
		" FROM information_schema.CHARACTER_SETS WHERE CHARACTER_SET_NAME = ?", charset)
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return false, err
	}
	if s.converted == nil {
		s.converted = map[string]bool{}
	}
	s.converted[charset] = found[0][0] == "1"
	return s.converted[charset], nil
}

// changes returns the condition that a text of a character set does not come back from UTF-8.
func changes(text, charset string) string {
	back := "CONVERT(CONVERT(" + text + " USING utf8mb4) USING " + charset + ")"
	return "CONVERT(" + text + " USING binary) <> CONVERT(" + back + " USING binary)"
}

// checkSQL returns the expression of the value that says which column, counted from 1, does not survive. It is NULL if
// all do, and "" if that is always so. It also returns the columns as SQL, with the bytes of those that may not
// survive.
func (s *session) checkSQL(ctx context.Context, columns []sqlsource.Column) (check, asBytes string, err error) {
	cases := ""
	list := make([]string, len(columns))
	for i, c := range columns {
		survives, err := s.survives(ctx, c.Charset)
		if err != nil {
			return "", "", s.Explain(ctx, "asking for the character set of column "+c.Name, err)
		}
		if list[i] = catalog.Quote(c.Name); !survives {
			list[i] = bytesOf(c.Name)
			cases += fmt.Sprintf(" WHEN %s THEN %d", changes(catalog.Quote(c.Name), c.Charset), i+1)
		}
	}
	if cases == "" {
		return "", "", nil
	}
	return "CASE" + cases + " END", strings.Join(list, ", "), nil
}

// bytesOf returns the bytes of a text as SQL, under the name of its column.
func bytesOf(column string) string {
	name := catalog.Quote(column)
	return "CAST(" + name + " AS BINARY) AS " + name
}

// checkRow returns an error if a text of the row that was read last does not survive, by what checkSQL has returned.
func (r *rows) checkRow() error {
	at, fails := r.values[len(r.columns)].(int64)
	switch {
	case r.values[len(r.columns)] == driver.Value(nil):
		return nil
	case !fails || at < 1 || int(at) > len(r.columns):
		return wire.ErrAnswer
	}
	c := r.checked[at-1]
	lost := lostText(c.Name, c.Charset)
	lost.Row, lost.Query = r.received+1, r.asBytes
	return lost
}

// lostText returns the error of a column with a text that does not survive.
func lostText(column, charset string) *source.TextError {
	return &source.TextError{
		Column: column, Charset: charset,
		Condition: changes(catalog.Quote(column), charset), Bytes: bytesOf(column),
	}
}
