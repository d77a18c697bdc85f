package pgdump

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

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
	var sections [2][]byte
	group, ctx := errgroup.WithContext(ctx)
	for i, section := range []string{"pre-data", "post-data"} {
		group.Go(func() (err error) {
			sections[i], err = p.run(ctx, config, c, section)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	schema := &source.Schema{Dialect: source.PostgreSQL, By: "pg_dump " + p.version, Tables: true}
	for i, text := range sections {
		if !utf8.Valid(text) {
			return nil, &source.NoSchemaError{Reason: "its text is not UTF-8"}
		}
		statements, err := Split(string(text))
		if err != nil {
			return nil, err
		}
		for _, sql := range statements {
			if !leftOut.MatchString(sql) {
				schema.Statements = append(schema.Statements, source.Statement{SQL: sql, After: i == 1})
			}
		}
	}
	return schema, nil
}

// leftOut matches the statements that do not come along.
var leftOut = regexp.MustCompile(`^(?:SET (?:statement_timeout|lock_timeout|idle_in_transaction_session_timeout|` +
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

// run runs a pg_dump for one section, and returns what it prints.
func (p *program) run(ctx context.Context, config *pgconn.Config, c Config, section string) (_ []byte, err error) {
	proxy, err := listen(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, proxy.close()) }()
	arguments := []string{
		"--schema-only", "--section=" + section, "--snapshot=" + c.Snapshot, "--encoding=UTF8",
		"--no-tablespaces", "--no-subscriptions", "--no-password",
	}
	if !c.Grants {
		arguments = append(arguments, "--no-owner", "--no-privileges")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, p.path, arguments...)
	cmd.Env = environment("PGHOST="+proxy.directory, "PGPORT="+port, "PGUSER="+config.User,
		"PGDATABASE="+cmp.Or(config.Database, config.User), "PGSSLMODE=disable", "PGGSSENCMODE=disable")
	out := &bounded{stop: stop}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &said
	err = cmd.Run()
	switch {
	case out.full:
		return nil, source.ErrSchemaTooLarge
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &source.NoSchemaError{Reason: "pg_dump failed", Err: errors.New(lastLines(said.String(), err))}
	}
	return out.text.Bytes(), nil
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
