package fill

import (
	"bytes"
	"slices"
	"strings"

	"culvert/internal/typename"
)

// The error value of an ENUM is the empty text, if that is none of its values. A strict INSERT refuses it, and others
// store it with a warning. So a piece that has such values is sent by a statement that is not strict, and each warning
// of the server must be about one of them.

const (
	beTolerant = "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', max_error_count = 65535"
	beStrict   = "SET SESSION sql_mode = '" + strictMode + "', max_error_count = 64"
)

// maxErrorValues is the most error values of a piece, so that the server keeps all warnings.
const maxErrorValues = 60_000

// codeTruncated is WARN_DATA_TRUNCATED.
const codeTruncated = "1265"

// hasErrorValue reports whether the empty text is the error value of a type: of an ENUM that does not list it.
func hasErrorValue(columnType string) bool {
	values := typename.Values(columnType)
	return strings.HasPrefix(columnType, "enum(") && values != nil && !slices.Contains(values, "")
}

// tolerate sends a piece, so that the server stores its error values.
func (l *loader) tolerate(p *piece, send func(p *piece) error) error {
	if p.errorValues == 0 {
		return send(p)
	}
	conn, ctx := l.t.db.conn, l.t.ctx
	err := conn.Exec(ctx, beTolerant)
	if err != nil {
		return l.t.db.failed(ctx, "preparing the session", err)
	}
	err = send(p)
	if conn.Gone {
		return err
	}
	if failed := conn.Exec(ctx, beStrict); failed != nil && err == nil {
		err = l.t.db.failed(ctx, "preparing the session", failed)
	} else if failed != nil {
		conn.Close()
	}
	return err
}

// isErrorValue reports whether a warning is about an error value, in one of the lines of the piece.
func (l *loader) isErrorValue(warning complaint, lines [][]byte) bool {
	at, row := l.columnOf(warning), warning.rowInMessage()
	return warning.code == codeTruncated && at >= 0 && l.t.columns[at].errorValue &&
		row >= 1 && row <= int64(len(lines)) && l.w.valueIn(lines[row-1], at) == ""
}

// linesOf returns the lines of a piece with error values.
func (l *loader) linesOf(p *piece) [][]byte {
	if p.errorValues == 0 {
		return nil
	}
	return bytes.Split(p.text[l.start():], []byte{'\n'})
}
