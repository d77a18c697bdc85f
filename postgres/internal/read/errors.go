package read

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// failed explains an error of what was being done. It returns nil for nil.
func (s *session) failed(ctx context.Context, doing string, err error) error {
	return s.explain(ctx, doing, "", err)
}

// failedAfter is failed for a statement that has already sent rows.
func (s *session) failedAfter(ctx context.Context, doing string, rows int64, err error) error {
	where := ""
	if rows > 0 {
		where = fmt.Sprintf(" after %d rows", rows)
	}
	return s.explain(ctx, doing, where, err)
}

// failedAt is failed for a statement of the user, with the position that the server may have reported.
func (s *session) failedAt(ctx context.Context, doing string, err error) error {
	place := ""
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Position > 0 {
		place = fmt.Sprintf(" at character %d", refused.Position)
	}
	return s.explain(ctx, doing, place, err)
}

func (s *session) explain(ctx context.Context, doing, where string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("postgres: %s: %w", doing, ctx.Err())
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		explained := &refusedError{doing, where, refused, nil}
		switch {
		case refused.Code == codeLockNotAvailable:
			explained.class = source.ErrLocked
		case s.standby && slices.Contains(conflictCodes, refused.Code):
			explained.class = source.ErrConflict
		}
		if wire.EndsSession(refused) {
			return sqlsource.Unavailable(explained.Error(), errors.Join(explained.class, refused))
		}
		return explained
	}
	_, tooLong := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err)
	_, miscounted := errors.AsType[*source.CountError](err)
	if tooLong || miscounted || !s.conn.IsClosed() {
		return fmt.Errorf("postgres: %s: %w", doing, err)
	}
	return sqlsource.Unavailable(fmt.Sprintf("postgres: %s: lost the connection%s: %v", doing, where, err), err)
}

// conflictCodes are those with which a standby ends what holds up its replay.
var conflictCodes = []string{"40001", "40P01"}

// refusedError is what the server says of a statement.
type refusedError struct {
	doing, where string
	refused      *pgconn.PgError
	class        error // [source.ErrLocked], [source.ErrConflict] or nil
}

func (e *refusedError) Error() string {
	text := fmt.Sprintf("postgres: %s: %v%s", e.doing, e.refused, e.where)
	if e.refused.Detail != "" {
		text += "; detail: " + e.refused.Detail
	}
	if e.refused.Hint != "" {
		text += "; hint: " + e.refused.Hint
	}
	return text
}

func (e *refusedError) Unwrap() error { return e.refused }

// Is reports whether the error is of a class that callers act upon.
func (e *refusedError) Is(target error) bool { return e.class != nil && target == e.class }

// Redacted is for [source.Redacted].
func (e *refusedError) Redacted() error {
	refused := &pgconn.PgError{Severity: e.refused.Severity, Code: e.refused.Code, Message: source.HiddenMessage}
	return &refusedError{e.doing, e.where, refused, e.class}
}
