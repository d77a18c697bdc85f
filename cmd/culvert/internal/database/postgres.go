package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/internal/lazyregexp"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

type postgresEngine struct{}

var (
	_ server = postgresEngine{}
	_ joiner = postgresEngine{}
)

func (postgresEngine) title() string { return "PostgreSQL" }

func (postgresEngine) parse(scheme, rest string) (address string, is bool) {
	isURL := strings.HasPrefix(rest, "//")
	switch {
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return scheme + ":" + rest, true
	case scheme == "postgres":
		return rest, true
	}
	return "", false
}

func (postgresEngine) open(ctx context.Context, address string) (source.Source, error) {
	return postgres.OpenSource(ctx, address)
}

func (postgresEngine) openSink(ctx context.Context, address string, _ bool) (sink.Sink, error) {
	return postgres.OpenSink(ctx, address)
}

func (postgresEngine) join(ctx context.Context, address string, snapshot source.Snapshot) (source.Source, error) {
	return postgres.Join(ctx, address, snapshot)
}

func (postgresEngine) hasPassword(address string) bool {
	return hasPassword(address, "postgres", "postgresql")
}

func (postgresEngine) withPassword(address, password string) (string, error) {
	scheme, _, isURL := strings.Cut(address, "://")
	if !isURL || scheme != "postgres" && scheme != "postgresql" {
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password)
		return address + " password='" + quoted + "'", nil
	}
	// It may name several servers, which package url does not understand.
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	escaped := strings.ReplaceAll(url.QueryEscape(password), "+", "%20") // a plus is no space there
	return address + separator + "password=" + escaped, nil
}

func (postgresEngine) wanted(err error) (user, database, server string) {
	if refused, is := errors.AsType[*postgres.ConnectError](err); is && refused.Entry != "" {
		return refused.User, refused.Database, refused.Server
	}
	return "", "", ""
}

func (postgresEngine) passwordFile() string { return "~/.pgpass or PGPASSFILE, or a service file" }

func (postgresEngine) files(string) []string { return nil }

// hints goes by the code of the server's error.
func (postgresEngine) hints(err error, address string) []string {
	code := postgres.SQLState(err)
	if code == "42501" && strings.Contains(err.Error(), "row-level security") {
		return []string{
			"be a user whom row security does not restrict: the owner of the table, or a role with BYPASSRLS",
		}
	}
	if code == "40001" {
		return []string{
			"a standby ends statements that hold up its replay: raise max_standby_streaming_delay there, " +
				"set hot_standby_feedback = on, or read the primary",
		}
	}
	refused, is := errors.AsType[*postgres.ConnectError](err)
	if !is {
		return unavailableHints(err)
	}
	switch code {
	case "28P01":
		if refused.Entry != "" {
			return []string{
				fmt.Sprintf("no password was found: set PGPASSWORD, or add the line %s:PASSWORD to %s", refused.Entry,
					passwordFileOf(address)),
				environment,
			}
		}
		return []string{"check the user and the password", environment}
	case "28000":
		return []string{
			"check the user; the server admits those that it has, from where its pg_hba.conf permits", environment,
		}
	case "3D000":
		return []string{
			"name another database, or make it: createdb " + command.ForShell(refused.Database),
			"to list them: psql -l",
		}
	case "42501":
		return []string{fmt.Sprintf("have its owner permit it: GRANT CONNECT ON DATABASE … TO %s", refused.User)}
	case "42704", "22023":
		return []string{"check the parameters of the connection, and PGOPTIONS", environment}
	case "53300":
		return []string{"the server has no more connections: use fewer (-j), or try again later"}
	case "57P03":
		return []string{"the server is starting or stopping: try again"}
	}
	if strings.Contains(err.Error(), refusesTLS) {
		return []string{"the server has no TLS: sslmode=prefer goes on without it, and all can be read on the way"}
	}
	return unavailableHints(err)
}

// refusesTLS is what pgconn says if a server has no TLS and sslmode requires it. The error has no name.
const refusesTLS = "server refused TLS connection"

func (postgresEngine) readOnlyHint(err error) string {
	if strings.Contains(err.Error(), "standby") {
		return "load into its primary"
	}
	return "to write all the same: export PGOPTIONS='-c default_transaction_read_only=off'"
}

var passfileKeyword = lazyregexp.New(`(?:^|\s)passfile\s*=\s*'?((?:\\.|[^\s\\'])+)`)

// passwordFileOf returns the password file that is read, for a shell.
func passwordFileOf(address string) string {
	named := os.Getenv("PGPASSFILE")
	if _, query, isURL := strings.Cut(address, "?"); isURL {
		// A plus is no space there. The connection has understood the rest.
		values, _ := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
		named = cmp.Or(values.Get("passfile"), named)
	} else if found := passfileKeyword.FindStringSubmatch(address); found != nil {
		named = found[1]
	}
	if named == "" {
		return "~/.pgpass"
	}
	return command.ForShell(named)
}
