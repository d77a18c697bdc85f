package database

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"culvert/cmd/culvert/internal/command"
	"culvert/mysql"
	"culvert/sink"
	"culvert/source"
)

type mysqlEngine struct{}

var _ server = mysqlEngine{}

func (mysqlEngine) title() string { return "MySQL" }

func (mysqlEngine) parse(scheme, rest string) (address string, is bool) {
	switch {
	case scheme != "mysql" && scheme != "mariadb":
		return "", false
	case rest == "":
		return "", true // all from the environment
	}
	return scheme + ":" + rest, strings.HasPrefix(rest, "//")
}

func (mysqlEngine) open(ctx context.Context, address string) (source.Source, error) {
	return mysql.OpenSource(ctx, address)
}

func (mysqlEngine) openTogether(
	ctx context.Context, address string, sessions int, wait time.Duration,
) (source.Source, error) {
	return mysql.SourceConfig{Connections: sessions, LockWait: wait}.Open(ctx, address)
}

func (mysqlEngine) openSink(ctx context.Context, address string, _ bool) (sink.Sink, error) {
	return mysql.OpenSink(ctx, address)
}

func (mysqlEngine) hasPassword(address string) bool { return hasPassword(address, "mysql", "mariadb") }

func (mysqlEngine) withPassword(address, password string) (string, error) {
	if address == "" {
		address = "mysql://"
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the address of the database cannot take a password")
	}
	u.User = url.UserPassword(u.User.Username(), password)
	return u.String(), nil
}

func (mysqlEngine) wanted(err error) (user, database, server string) {
	if refused, is := errors.AsType[*mysql.ConnectError](err); is && refused.NoPassword {
		return refused.User, refused.Database, refused.Server
	}
	return "", "", ""
}

func (mysqlEngine) passwordFile() string { return "the option file ~/.my.cnf" }

func (mysqlEngine) files(address string) []string { return mysql.Files(address) }

// hints goes by the number of the error with which the server has refused the connection.
func (mysqlEngine) hints(err error, _ string) []string {
	refused, is := errors.AsType[*mysql.ConnectError](err)
	if !is {
		return unavailableHints(err)
	}
	const deniedDatabase, deniedUser, unknownDatabase = 1044, 1045, 1049
	switch mysql.ErrorNumber(refused) {
	case deniedDatabase:
		return []string{"name another database, or have an administrator GRANT rights in this one to the user"}
	case deniedUser:
		if refused.NoPassword {
			return []string{
				"no password was found: set MYSQL_PWD, or put password = PASSWORD below [client] in ~/.my.cnf",
				environment,
			}
		}
		return []string{"check the user and the password", environment}
	case unknownDatabase:
		quoted := "`" + strings.ReplaceAll(refused.Database, "`", "``") + "`"
		return []string{"name another database, or make it: " + command.ForShell("CREATE DATABASE "+quoted)}
	}
	return unavailableHints(err)
}

func (mysqlEngine) readOnlyHint(error) string {
	return "load into the primary; or have an administrator allow writes: SET GLOBAL read_only = OFF"
}
