package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"culvert/source"
)

// engines check what only one database system has, by the name of the system in [database.Database].
var engines = map[string]func(ctx context.Context, e *examination) error{
	"postgres": postgres, "mysql": mysql, "sqlite": sqlite,
}

// postgresSQL asks for what concerns the session and the server. A connection by a socket has no address.
const postgresSQL = `SELECT
	coalesce((SELECT CASE WHEN s.ssl THEN s.version || ', ' || s.cipher END FROM pg_catalog.pg_stat_ssl s
		WHERE s.pid = pg_catalog.pg_backend_pid()), ''),
	CASE WHEN pg_catalog.inet_client_addr() IS NULL THEN 'socket' ELSE '' END,
	(SELECT extract(epoch FROM pg_catalog.clock_timestamp()))::text,
	CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'standby' ELSE '' END,
	pg_catalog.current_setting('max_standby_streaming_delay'),
	pg_catalog.current_setting('hot_standby_feedback')`

func postgres(ctx context.Context, e *examination) error {
	asked := e.now()
	found, err := e.ask(ctx, postgresSQL, 6)
	if err != nil {
		return err
	}
	e.tls(found[0], found[1] != "")
	seconds, err := strconv.ParseFloat(found[2], 64)
	if err != nil {
		return err
	}
	e.clock(time.UnixMicro(int64(seconds*1e6)), asked)
	if found[3] == "" {
		e.ok("standby", "this is no standby")
	} else if delay := found[4]; delay == "-1" {
		e.ok("standby", "this is a standby, which never ends a statement that holds up its replay")
	} else {
		e.add("standby", warning, fmt.Sprintf("this is a standby, which ends statements that hold up its replay: "+
			"max_standby_streaming_delay is %s, hot_standby_feedback %s", delay, found[5]),
			"raise max_standby_streaming_delay there, or read the primary")
	}
	return nil
}

func mysql(ctx context.Context, e *examination) error {
	asked := e.now()
	found, err := e.ask(ctx, "SELECT USER(), UTC_TIMESTAMP(6), @@global.read_only", 3)
	if err != nil {
		return err
	}
	status, err := e.ask(ctx, "SHOW SESSION STATUS LIKE 'Ssl_version'", 2)
	if err != nil {
		return err
	}
	const byATCP = "@localhost"
	e.tls(status[1], len(found[0]) > len(byATCP) && found[0][len(found[0])-len(byATCP):] == byATCP)
	clock, err := time.Parse("2006-01-02 15:04:05.000000", found[1])
	if err != nil {
		return err
	}
	e.clock(clock, asked)
	if found[2] == "0" {
		e.ok("standby", "this server takes writes")
	} else {
		e.add("standby", warning, "this server takes no writes, as a replica: it may be behind its primary")
	}
	return nil
}

func sqlite(ctx context.Context, e *examination) error {
	found, err := e.ask(ctx, "SELECT journal_mode FROM pragma_journal_mode", 1)
	if err != nil {
		return err
	}
	if mode := found[0]; mode != "wal" {
		e.add("locks", warning, fmt.Sprintf("programs that write wait until an export ends: the journal mode is %s",
			mode), "to let them write meanwhile: PRAGMA journal_mode = wal")
	}
	return nil
}

// tls says whether the connection is encrypted.
func (e *examination) tls(version string, isLocal bool) {
	switch {
	case version != "":
		e.ok("tls", version)
	case isLocal:
		e.ok("tls", "none is needed: the connection does not leave this machine")
	default:
		e.add("tls", warning, "the connection is not encrypted", "ask for TLS, as culvert help sources says")
	}
}

// clock compares the clock of the server, as it was at some time after it was asked, with that of this machine.
func (e *examination) clock(server, asked time.Time) {
	const most = 5 * time.Second
	switch answered := e.now(); {
	case server.Before(asked.Add(-most)):
		e.add("clock", warning, fmt.Sprintf("the server is %.0f seconds behind",
			math.Ceil(asked.Sub(server).Seconds())))
	case server.After(answered.Add(most)):
		e.add("clock", warning, fmt.Sprintf("the server is %.0f seconds ahead",
			math.Ceil(server.Sub(answered).Seconds())))
	default:
		e.ok("clock", "that of the server and of this machine agree")
	}
}

// ask returns the only row of a statement, which has so many columns.
func (e *examination) ask(ctx context.Context, sql string, columns int) (_ []string, err error) {
	rows, err := e.src.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var batch source.Batch
	var found []string
	for {
		switch err := rows.Next(&batch); {
		case err == io.EOF && len(found) == columns:
			return found, nil
		case err == io.EOF:
			return nil, errors.New("the database has answered something else than was asked")
		case err != nil:
			return nil, err
		}
		for i := range batch.Rows() * batch.Columns() {
			_, value := batch.Value(i/batch.Columns(), i%batch.Columns())
			found = append(found, string(value))
		}
	}
}
