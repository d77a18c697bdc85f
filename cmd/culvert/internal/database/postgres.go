package database

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/internal/lazyregexp"
	"culvert/postgres"
)

// hintsOfPostgres says what to try after an error of PostgreSQL whose code tells it, or nil.
func (d Database) hintsOfPostgres(err error) []string {
	code := postgres.SQLState(err)
	if code == "40001" {
		return []string{
			"a standby ends statements that hold up its replay: raise max_standby_streaming_delay there, " +
				"set hot_standby_feedback = on, or read the primary",
		}
	}
	refused, is := errors.AsType[*postgres.ConnectError](err)
	if !is {
		return nil
	}
	switch code {
	case "28P01":
		if refused.Entry != "" {
			return []string{
				fmt.Sprintf("no password was found: set PGPASSWORD, or add the line %s:PASSWORD to %s", refused.Entry,
					d.passwordFile()),
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
	return nil
}

var passfileKeyword = lazyregexp.New(`(?:^|\s)passfile\s*=\s*'?((?:\\.|[^\s\\'])+)`)

// passwordFile returns the password file that is read, for a shell.
func (d Database) passwordFile() string {
	named := os.Getenv("PGPASSFILE")
	if _, query, isURL := strings.Cut(d.address, "?"); isURL {
		// A plus is no space there. The connection has understood the rest.
		values, _ := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
		named = cmp.Or(values.Get("passfile"), named)
	} else if found := passfileKeyword.FindStringSubmatch(d.address); found != nil {
		named = found[1]
	}
	if named == "" {
		return "~/.pgpass"
	}
	return command.ForShell(named)
}
