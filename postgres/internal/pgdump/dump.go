package pgdump

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// Config says what to dump.
type Config struct {
	Snapshot string // that another session has exported, and keeps
	Server   int    // the major version of the server
	Grants   bool   // whether owners and privileges are printed
}

// Dump has pg_dump print the schema of a database. Two of its processes do so at the same time, for the statements
// before the rows and those after them, over two connections. They lock all tables as a reader does. The error is a
// [*source.NoSchemaError] if there is no pg_dump for the server, or if it fails.
//
// These are left out: tablespaces, subscriptions and user mappings, since both have passwords, and comments of
// extensions, which the extensions make. The settings of the session that is to run the statements are left out too:
// see [Settings].
func Dump(ctx context.Context, config *pgconn.Config, c Config) (*source.Schema, error) {
	p, err := find(ctx, c.Server)
	if err != nil {
		return nil, err
	}
	sections, err := p.runAll(ctx, config, c)
	if err != nil {
		return nil, err
	}
	schema := &source.Schema{Dialect: source.PostgreSQL, By: "pg_dump " + p.version, Tables: true}
	for i, text := range sections {
		if !utf8.Valid(text) {
			return nil, &source.NoSchemaError{Reason: "its text is not UTF-8"}
		}
		statements, err := Split(string(text))
		if err != nil {
			return nil, &source.NoSchemaError{Reason: "its text is not understood", Err: err}
		}
		for _, sql := range statements {
			if leftOut.MatchString(sql) {
				continue
			}
			if !Allowed(sql, i == 1) {
				return nil, &source.NoSchemaError{Reason: "it has a statement that is not known: " + firstLine(sql)}
			}
			schema.Statements = append(schema.Statements, source.Statement{SQL: sql, After: i == 1})
		}
	}
	return schema, nil
}

// lockTimeout is how long pg_dump waits for the lock of a table, which a change of it may hold.
const lockTimeout = "1min"

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
	return allowed.MatchString(sql) && !forbidden.MatchString(sql) || !after && authorization.MatchString(sql)
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

// runAll prints both sections at the same time, or one after the other if the server accepts only one more connection.
func (p *program) runAll(ctx context.Context, config *pgconn.Config, c Config) (sections [2][]byte, err error) {
	names := [...]string{"pre-data", "post-data"}
	first, err := listen(ctx, config)
	if err != nil {
		return sections, err
	}
	second, err := listen(ctx, config)
	if err != nil {
		if ctx.Err() != nil {
			return sections, errors.Join(err, first.close())
		}
		if sections[0], err = p.run(ctx, first, config, c, names[0]); err != nil {
			return sections, err
		}
		if second, err = listen(ctx, config); err != nil {
			return sections, err
		}
		sections[1], err = p.run(ctx, second, config, c, names[1])
		return sections, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, one := range []*proxy{first, second} {
		group.Go(func() (err error) {
			sections[i], err = p.run(ctx, one, config, c, names[i])
			return err
		})
	}
	return sections, group.Wait()
}

// run runs a pg_dump for one section, and returns what it prints. It closes the proxy.
func (p *program) run(
	ctx context.Context, to *proxy, config *pgconn.Config, c Config, section string,
) (_ []byte, err error) {
	ended := false // by itself, so that nothing is left to cancel
	defer func() { err = errors.Join(err, to.end(ended)) }()
	arguments := []string{
		"--schema-only", "--section=" + section, "--snapshot=" + c.Snapshot, "--encoding=UTF8",
		"--no-tablespaces", "--no-subscriptions", "--no-password", "--lock-wait-timeout=" + lockTimeout,
		"--exclude-schema=" + Restoring,
	}
	if !c.Grants {
		arguments = append(arguments, "--no-owner", "--no-privileges")
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
