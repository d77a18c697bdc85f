package fill

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/wire"
	"culvert/sink"
)

// Error codes of the server (errcodes.txt in its sources).
const (
	codeInvalidParameterValue = "22023"
	codeForeignKey            = "23503"
	codeUndefinedTable        = "42P01"
	codeUndefinedObject       = "42704"
	codeUndefinedFunction     = "42883"
	codeLockNotAvailable      = "55P03"
	codeDeadlock              = "40P01"
	codeDiskFull              = "53100"
	codeTooManyConnections    = "53300"
	codeUniqueViolation       = "23505"
)

// failed explains an error of what was being done. It returns nil for nil.
func (s *session) failed(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("postgres: %s: %w", doing, ctx.Err())
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		explained := fmt.Errorf("postgres: %s: %w", doing, s.cause(refused))
		switch {
		case wire.EndsSession(refused):
			return sqlsource.Unavailable(explained.Error(), refused)
		case refused.Code == codeLockNotAvailable:
			return s.locked(explained)
		case refused.Code == codeDiskFull:
			return fmt.Errorf("%w: %w", sink.ErrFull, explained)
		}
		return explained
	}
	if !s.conn.IsClosed() {
		return fmt.Errorf("postgres: %s: %w", doing, err)
	}
	return sqlsource.Unavailable(fmt.Sprintf("postgres: %s: lost the connection: %v", doing, err), err)
}

// cause returns the error of the server with its notes, or, if values are not to be shown, the meaning of its code.
func (s *session) cause(refused *pgconn.PgError) error {
	if s.redact {
		return &redactedError{refused.Code}
	}
	notes := ""
	if refused.Detail != "" {
		notes += "; detail: " + sink.Shorten(refused.Detail)
	}
	if refused.Hint != "" {
		notes += "; hint: " + refused.Hint
	}
	return fmt.Errorf("%w%s", refused, notes)
}

// redactedError is an error of the server without its text.
type redactedError struct{ code string }

// meanings are the names that the server has for its codes, for those of values and constraints.
var meanings = map[string]string{
	"21000": "cardinality violation", "22001": "string data right truncation", "22003": "numeric value out of range",
	"22007": "invalid datetime format", "22008": "datetime field overflow", "22021": "character not in repertoire",
	"22P02": "invalid text representation", "22P04": "bad copy file format", "22P05": "untranslatable character",
	"23502": "not null violation", codeForeignKey: "foreign key violation", "23505": "unique violation",
	"23514": "check violation", "23P01": "exclusion violation", codeDiskFull: "disk full", "P0001": "raise exception",
	codeLockNotAvailable: "lock not available", codeDeadlock: "deadlock detected",
}

func (e *redactedError) Error() string {
	if meaning := meanings[e.code]; meaning != "" {
		return meaning + " (SQLSTATE " + e.code + ")"
	}
	return "SQLSTATE " + e.code
}

// rowFailed explains an error of a statement that adds rows to a table.
func (s *session) rowFailed(ctx context.Context, t *target, err error) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || ctx.Err() != nil || wire.EndsSession(refused) || !ofRow(refused) {
		return s.failed(ctx, "loading table "+t.name(), err)
	}
	row := &sink.RowError{
		Table: t.name(), Column: refused.ColumnName, Constraint: refused.ConstraintName, Code: refused.Code,
		Dangling: refused.Code == codeForeignKey, Err: s.cause(refused),
	}
	line, column, value := placeOf(refused.Where, t)
	row.Line = line
	if column != "" {
		row.Column = column
	}
	if !s.redact {
		row.Value = sink.Shorten(value)
	}
	if refused.Code == codeLockNotAvailable {
		return s.locked(row)
	}
	return row
}

// locked says for how long the session has waited for a lock.
func (s *session) locked(cause error) error {
	return fmt.Errorf("%w for longer than %v: %w", sink.ErrLocked, s.timeout, cause)
}

// ofRow reports whether a row has caused an error: it is about data (class 22), a constraint (23) or a trigger, or the
// server names its line.
func ofRow(e *pgconn.PgError) bool {
	for _, class := range []string{"21", "22", "23", "P0"} {
		if strings.HasPrefix(e.Code, class) {
			return true
		}
	}
	return strings.Contains(e.Where, "COPY ") && !strings.HasPrefix(e.Code, "53") && !strings.HasPrefix(e.Code, "58")
}

// placeOf reads the place of an error from its context, such as: COPY orders, line 3, column id: "x". The words are in
// the language of the server.
func placeOf(where string, t *target) (line int64, column, value string) {
	_, place, found := strings.Cut("\n"+where, "\nCOPY "+t.copied+", ")
	if !found {
		return 0, "", ""
	}
	first := strings.IndexFunc(place, isDigit)
	if first < 0 {
		return 0, "", ""
	}
	place = place[first:]
	end := strings.IndexFunc(place, func(r rune) bool { return !isDigit(r) })
	if end < 0 {
		end = len(place)
	}
	line, err := strconv.ParseInt(place[:end], 10, 64)
	if err != nil {
		return 0, "", ""
	}
	_, place, found = strings.Cut(strings.TrimPrefix(place[end:], ", "), " ")
	if !found {
		return line, "", ""
	}
	for _, c := range t.all {
		if place == c.Name { // the binary form has no text of the value
			return line, c.Name, ""
		}
		if rest, ok := strings.CutPrefix(place, c.Name+": "); ok {
			return line, c.Name, strings.Trim(strings.TrimSuffix(rest, "\n"), `"`)
		}
	}
	return line, "", ""
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }
