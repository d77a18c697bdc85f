// Package wire connects to PostgreSQL servers, for the packages that read and fill their tables. It keeps passwords out
// of errors, cancels statements reliably, and tells errors of a statement from those that end a session.
//
//	config, err := wire.ParseConfig(connString)
//	…
//	conn, err := wire.Connect(ctx, config, grace)
//	…
//	defer wire.Close(conn, "ROLLBACK", grace)
package wire

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ParseConfig reads a connection string: a URL or a list of keyword=value, as for psql. Missing parts come from the
// environment, the service file and the password file. No error contains a password.
func ParseConfig(connString string) (*pgconn.Config, error) {
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
