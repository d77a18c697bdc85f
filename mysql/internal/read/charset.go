package read

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

// The server converts texts to UTF-8, and writes "?" or U+FFFD for what has no equal there, without a warning. Some
// character sets also have two codes for one character, of which only one comes back. So each row of a table has
// another value, which says whether its texts survive the way there and back. For queries, see query_charset.go.
//
// MariaDB keeps halves of surrogate pairs, except in utf16. It sends each half as three bytes that are not UTF-8.

// sameText are the character sets of values that the server does not convert, and of texts that it sends unchanged.
// Only halves of surrogate pairs are invalid there; the rows look for them.
var sameText = map[string]bool{"": true, "binary": true, "utf8": true, "utf8mb3": true, "utf8mb4": true}

// unicode are the character sets that may have halves of surrogate pairs.
var unicode = map[string]bool{
	"utf8": true, "utf8mb3": true, "utf8mb4": true, "ucs2": true, "utf16": true, "utf16le": true, "utf32": true,
}

// survives reports whether every text of a character set comes back from UTF-8. It asks the server, since that has the
// tables: by all characters that a character set of one byte has. Others may have any.
func (s *session) survives(ctx context.Context, charset string) (bool, error) {
	if sameText[charset] || unicode[charset] {
		return sameText[charset], nil
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
	sent := "CONVERT(" + text + " USING utf8mb4)"
	if unicode[charset] {
		sent = "CONVERT(" + sent + " USING utf16)"
	}
	back := "CONVERT(" + sent + " USING " + charset + ")"
	return "CONVERT(" + text + " USING binary) <> CONVERT(" + back + " USING binary)"
}

// checkSQL returns the expression of the value that says which column, counted from 1, does not survive. It is NULL if
// all do, and "" if that is always so. It also returns the columns as SQL, with the bytes of those that may not
// survive.
func (s *session) checkSQL(ctx context.Context, columns []sqlsource.Column) (
	check string, asBytes []string, err error,
) {
	cases := ""
	asBytes = make([]string, len(columns))
	for i, c := range columns {
		survives, err := s.survives(ctx, c.Charset)
		if err != nil {
			return "", nil, s.Explain(ctx, "asking for the character set of column "+c.Name, err)
		}
		if asBytes[i] = catalog.Quote(c.Name); !survives {
			asBytes[i] = bytesOf(c.Name)
			cases += fmt.Sprintf(" WHEN %s THEN %d", changes(catalog.Quote(c.Name), c.Charset), i+1)
		}
	}
	if cases != "" {
		check = "CASE" + cases + " END"
	}
	return check, asBytes, nil
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
	return r.lost(int(at) - 1)
}

// checkHalves returns an error if a text of the row that was read last has half a surrogate pair.
func (r *rows) checkHalves() error {
	for i, value := range r.values[:len(r.columns)] {
		isText := r.decoders[i].IsText() || r.decoders[i] == catalog.JSON
		if text, ok := value.([]byte); ok && isText && hasHalf(text) {
			return r.lost(i)
		}
	}
	return nil
}

// hasHalf reports whether a text has half a surrogate pair, U+D800 to U+DFFF, as the server sends it.
func hasHalf(text []byte) bool {
	const lead, firstOfHalves = 0xED, 0xA0
	for {
		at := bytes.IndexByte(text, lead)
		if at < 0 || at+1 == len(text) {
			return false
		}
		if text = text[at+1:]; text[0] >= firstOfHalves {
			return true
		}
	}
}

// lost returns the error of a column of the row that was read last.
func (r *rows) lost(column int) error {
	row := r.received + 1
	if r.known == nil {
		name := r.columns[column].Name
		lost := lostText(name, "utf8mb4")
		lost.Row, lost.Condition = row, changes("CONVERT("+catalog.Quote(name)+" USING utf8mb4)", "utf8mb4")
		return lost
	}
	c := r.known[column]
	lost := lostText(c.Name, c.Charset)
	asBytes := slices.Clone(r.asBytes)
	asBytes[column] = bytesOf(c.Name)
	lost.Row, lost.Query = row, sqlsource.Select(strings.Join(asBytes, ", "), r.table.SQL(), r.table.Selection)
	return lost
}

// lostText returns the error of a column with a text that does not survive.
func lostText(column, charset string) *source.TextError {
	return &source.TextError{
		Column: column, Charset: charset,
		Condition: changes(catalog.Quote(column), charset), Bytes: bytesOf(column),
	}
}
