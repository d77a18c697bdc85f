package pgdump

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// Config says what to dump.
type Config struct {
	Snapshot string // that another session has exported, and keeps
	Server   int    // the major version of the server
	Grants   bool   // whether owners and privileges are printed

	LockTimeout time.Duration // how long to wait for the lock of a table, which a change of it may hold

	Without []string // tables and views that are left out, as SQL
}

// Dump has pg_dump print the schema of a database, over a connection of its own. It locks all tables as a reader does.
// The error is a [*source.NoSchemaError] if there is no pg_dump for the server, or if it fails.
//
// These are left out: tablespaces, subscriptions and user mappings, since both have passwords, and comments of
// extensions, which the extensions make. The settings of the session that is to run the statements are left out too:
// see [Settings].
func Dump(ctx context.Context, config *pgconn.Config, c Config) (*source.Schema, error) {
	p, err := find(ctx, c.Server)
	if err != nil {
		return nil, err
	}
	text, err := p.run(ctx, config, c)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		return nil, &source.NoSchemaError{Reason: "its text is not UTF-8"}
	}
	all, err := Split(string(text))
	if err != nil {
		return nil, &source.NoSchemaError{Reason: "its text is not understood", Err: err}
	}
	statements := divide(slices.DeleteFunc(all, leftOut.MatchString))
	for _, one := range statements {
		if !Allowed(one.SQL, one.After) {
			return nil, &source.NoSchemaError{Reason: "it has a statement that is not known: " + firstLine(one.SQL)}
		}
	}
	return &source.Schema{
		Dialect: source.PostgreSQL, By: "pg_dump " + p.version, Tables: true, Statements: statements,
	}, nil
}

// Statements of the section post-data come after those of pre-data, except that rights come after both. Two processes
// of pg_dump, one for each section, would read the whole catalogs twice. These match the statements with which
// post-data can begin, and those of the rights of what is in pre-data; rights that are given by default are in the
// other section.
var (
	postData = lazyregexp.New(`^(?:CREATE (?:UNIQUE INDEX|INDEX|STATISTICS|(?:CONSTRAINT )?TRIGGER|RULE|POLICY|` +
		`EVENT TRIGGER|PUBLICATION)|ALTER (?:PUBLICATION|DEFAULT PRIVILEGES|EVENT TRIGGER)|` +
		`REFRESH MATERIALIZED VIEW|ALTER INDEX ` + name + `\s+ATTACH PARTITION|` +
		`ALTER DOMAIN ` + name + `\s+ADD CONSTRAINT|` +
		`ALTER TABLE (?:ONLY )?` + name + `\s+(?:ADD CONSTRAINT|ENABLE|DISABLE|CLUSTER ON|REPLICA IDENTITY USING)) `)
	rights = lazyregexp.New(`^(?:GRANT|REVOKE|SET SESSION AUTHORIZATION|RESET SESSION AUTHORIZATION)\b`)
)

// name matches a name with a schema.
const name = `(?:"(?:[^"]|"")*"|[^"\s])+`

// divide returns statements of pg_dump, those before the rows first.
func divide(all []string) []source.Statement {
	var before, after []source.Statement
	for _, sql := range all {
		if !rights.MatchString(sql) && (len(after) > 0 || postData.MatchString(sql)) {
			after = append(after, source.Statement{SQL: sql, After: true})
		} else {
			before = append(before, source.Statement{SQL: sql})
		}
	}
	return append(before, after...)
}

// Restoring is the schema in which a load that has not ended keeps what it has done. It is no part of the database.
const Restoring = "culvert_restore"

// allowed matches what statements of pg_dump begin with, forbidden those of them that it prints only for other
// databases and servers, and authorization those by which it grants as somebody else.
var (
	allowed = lazyregexp.New(`^(?:(?:CREATE|ALTER) [A-Z]+ |COMMENT ON |SECURITY LABEL |` +
		`(?:GRANT|REVOKE) [A-Z][A-Z ,]*(?:\((?s:.*))? ON |` + // not the membership in a role
		`REFRESH MATERIALIZED VIEW |SET default_(?:table_access_method|tablespace|with_oids) |` +
		`SELECT pg_catalog\.setval\('(?:[^']|'')*', -?[0-9]+, (?:true|false)\)$)`)
	forbidden     = lazyregexp.New(`^(?:CREATE|ALTER) (?:DATABASE|ROLE|USER|GROUP|SYSTEM|TABLESPACE|SUBSCRIPTION)\b`)
	authorization = lazyregexp.New(`^(?:SET SESSION AUTHORIZATION |RESET SESSION AUTHORIZATION$)`)
)

// Allowed reports whether a statement begins as one of a schema. Those that change the user are only before the rows,
// which one transaction makes.
func Allowed(sql string, after bool) bool {
	return allowed.MatchString(sql) && !forbidden.MatchString(sql) || !after && authorization.MatchString(sql) ||
		isOfLargeObjects(sql)
}

// leftOut matches the statements that do not come along.
var leftOut = lazyregexp.New(`^(?:SET (?:statement_timeout|lock_timeout|idle_in_transaction_session_timeout|` +
	`transaction_timeout|client_encoding|standard_conforming_strings|check_function_bodies|xmloption|` +
	`client_min_messages|row_security|restrict_nonsystem_relation_kind) = |` +
	`SELECT pg_catalog\.set_config\('search_path'|COMMENT ON EXTENSION |CREATE USER MAPPING )`)

// Settings are those under which the statements of a schema mean what they meant to pg_dump, for a transaction.
const Settings = `
SET LOCAL search_path = '';
SET LOCAL check_function_bodies = off;
SET LOCAL xmloption = 'content';
SET LOCAL standard_conforming_strings = on;
SET LOCAL client_min_messages = warning;
SET LOCAL default_tablespace = '';
SET LOCAL row_security = off;
`

// run returns what a pg_dump prints.
func (p *program) run(ctx context.Context, config *pgconn.Config, c Config) (_ []byte, err error) {
	to, err := listen(ctx, config)
	if err != nil {
		return nil, err
	}
	ended := false // by itself, so that nothing is left to cancel
	defer func() { err = errors.Join(err, to.end(ended)) }()
	arguments := []string{
		"--schema-only", "--snapshot=" + c.Snapshot, "--encoding=UTF8",
		"--no-tablespaces", "--no-subscriptions", "--no-password", "--exclude-schema=" + Restoring,
		"--lock-wait-timeout=" + strconv.FormatInt(c.LockTimeout.Milliseconds(), 10),
	}
	if !c.Grants {
		arguments = append(arguments, "--no-owner", "--no-privileges")
	}
	for _, name := range c.Without {
		arguments = append(arguments, "--exclude-table="+name) // a pattern, in which names with quotes are literal
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, p.path, arguments...)
	cmd.Env = environment("PGHOST="+to.directory, "PGPORT="+port, "PGUSER="+config.User,
		"PGDATABASE="+cmp.Or(config.Database, config.User), "PGSSLMODE=disable", "PGGSSENCMODE=disable")
	out := &bounded{stop: stop}
	var said tail
	cmd.Stdout, cmd.Stderr = out, &said
	err = cmd.Run()
	ended = err == nil
	switch {
	case out.full:
		return nil, source.ErrSchemaTooLarge
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &source.NoSchemaError{Reason: "pg_dump failed", Err: errors.New(lastLines(string(said), err))}
	}
	return out.text.Bytes(), nil
}

// firstLine returns the beginning of a statement in one line.
func firstLine(sql string) string {
	line := strings.Join(strings.Fields(sql), " ")
	return strings.ToValidUTF8(line[:min(len(line), 80)], "")
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(text []byte) (int, error) {
	const most = 4 << 10
	*t = append(*t, text[max(0, len(text)-most):]...)
	*t = (*t)[max(0, len(*t)-most):]
	return len(text), nil
}

// lastLines returns the end of what a program has said, in one line.
func lastLines(said string, err error) string {
	said = strings.Join(strings.Fields(strings.ToValidUTF8(said, "?")), " ")
	const most = 500
	if len(said) > most {
		said = "…" + strings.ToValidUTF8(said[len(said)-most:], "")
	}
	if said == "" {
		return err.Error()
	}
	return said
}

// bounded keeps what is written to it, up to the size of a schema.
type bounded struct {
	text bytes.Buffer
	full bool
	stop context.CancelFunc // called when it is full
}

func (b *bounded) Write(text []byte) (int, error) {
	if b.text.Len()+len(text) > source.MaxSchema {
		b.full = true
		b.stop()
		return 0, io.ErrShortWrite
	}
	return b.text.Write(text)
}
