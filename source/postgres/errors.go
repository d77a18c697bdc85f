package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/source"
	"culvert/source/internal/sqlsource"
)

// parseConfig reads a connection string.
func parseConfig(connString string) (*pgconn.Config, error) {
	config, err := pgconn.ParseConfig(connString)
	if err != nil {
		return nil, errors.New("postgres: cannot read the connection string: " + parseProblem(err))
	}
	if misread(connString, config) {
		return nil, errors.New("postgres: the connection string has an extra @; in the password of a URL, " +
			"write @ as %40, / as %2F, : as %3A and ? as %3F")
	}
	return config, nil
}

// misread reports whether the host or the database contains part of a password, which errors would then reveal.
func misread(connString string, config *pgconn.Config) bool {
	hosts := []string{config.Host}
	for _, fallback := range config.Fallbacks {
		hosts = append(hosts, fallback.Host)
	}
	if slices.ContainsFunc(hosts, func(host string) bool { return strings.Contains(host, "@") }) {
		return true
	}
	scheme, rest, _ := strings.Cut(connString, "://")
	_, path, _ := strings.Cut(rest, "/")
	path, _, _ = strings.Cut(path, "?")
	return (scheme == "postgres" || scheme == "postgresql") && strings.Contains(path, "@")
}

// parseProblem returns what is wrong with a connection string, but none of its text, any part of which may belong to a
// password.
func parseProblem(err error) string {
	failed, ok := errors.AsType[*pgconn.ParseConfigError](err)
	if !ok {
		return "unknown problem"
	}
	prefix := pgconn.NewParseConfigError(failed.ConnString, "", nil).Error()
	problem, ok := strings.CutPrefix(failed.Error(), prefix)
	if !ok {
		return "unknown problem"
	}
	inner := errors.Unwrap(failed)
	if inner != nil {
		problem = strings.TrimSuffix(problem, " ("+inner.Error()+")")
	}
	// What follows a colon is a value.
	problem, _, _ = strings.Cut(problem, ":")
	if inner != nil && slices.Contains([]string{"failed to read service", "failed to configure TLS"}, problem) {
		problem += ": " + inner.Error()
	}
	return problem
}

func connectFailed(ctx context.Context, config *pgconn.Config, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("postgres: connecting: %w", ctx.Err())
	}
	cause := err
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		cause = failed.Unwrap() // without the configuration, which holds the password
	}
	// One line for each address, with and without TLS. Most are the same.
	var tried []string
	for line := range strings.Lines(cause.Error()) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.Contains(tried, line) {
			tried = append(tried, line)
		}
	}
	return sqlsource.Unavailable(fmt.Sprintf("postgres: cannot connect to database %q as user %q: %s",
		cmp.Or(config.Database, config.User), config.User, strings.Join(tried, "; ")), cause)
}

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
		notes := where
		if refused.Detail != "" {
			notes += "; detail: " + refused.Detail
		}
		if refused.Hint != "" {
			notes += "; hint: " + refused.Hint
		}
		explained := fmt.Errorf("postgres: %s: %w%s", doing, refused, notes)
		if endsSession(refused) {
			return sqlsource.Unavailable(explained.Error(), refused)
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

// isRefusal reports whether the server has refused a statement, but not closed the connection.
func isRefusal(ctx context.Context, err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && ctx.Err() == nil && !endsSession(refused)
}

// endsSession reports whether the connection has ended with an error: it was lost (class 08), ended by an administrator
// or a crash (57P01, 57P02), the server is not ready (57P03), or the server calls the error fatal.
func endsSession(e *pgconn.PgError) bool {
	return strings.HasPrefix(e.Code, "08") || slices.Contains([]string{"57P01", "57P02", "57P03"}, e.Code) ||
		e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC"
}
