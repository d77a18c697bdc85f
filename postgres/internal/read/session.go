package read

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/budget"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// readBuffer is the size of reads from the network. The server sends 8 KiB at a time, and a slow reader finds many of
// these at once. Compared to reads of 8 KiB, this saves about a fifth of the client's processor time over a Unix socket
// on 4 cores; larger buffers save no more.
const readBuffer = 256 << 10

// grace is how long to wait for the server when a query is canceled or the connection is closed. After that, the
// connection is dropped. Only tests change it.
var grace = 5 * time.Second

// session is a connection that is in a transaction.
type session struct {
	conn   *pgconn.PgConn
	budget *budget.Reader

	searchPath string // the setting of the user
	jit        string // the setting of the user
	schemas    string // the schemas of the search path, in order, as a name[]
	own        bool   // tables are read without the rows of those that inherit from them; see [DB.Separate]
	view       string // equal for sessions that read the same rows as the same text
	settings   string // equal for sessions that print the same rows as the same text
	standby    bool   // the snapshot may be one of a standby
	statistics string // when the server's statistics were last reset, once it was identified

	description source.Description
	types       map[typeID]source.Column // without names, as far as they are known
	bases       map[string]string        // of domains, once they are known: see [session.baseTypes]
	prepared    map[string]string        // names of prepared statements by their SQL; "" for one that was run once
	end         string                   // the statements that end the session; a pooler keeps its connection

	day, time string // of now(): when the transaction began
	lockRoom  int64  // the least size of the server's lock table
}

// connect opens a session without a transaction.
func connect(ctx context.Context, config *pgconn.Config) (*session, error) {
	config = config.Copy()
	in := new(budget.Reader)
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		in.Reset(bufio.NewReaderSize(r, readBuffer))
		return pgproto3.NewFrontend(in, w)
	}
	conn, err := wire.Connect(ctx, config, grace)
	if failed, ok := errors.AsType[*wire.ConnectError](err); ok {
		return nil, sqlsource.Unavailable(failed.Error(), failed)
	}
	if err != nil {
		return nil, err
	}
	return &session{
		conn: conn, budget: in, types: map[typeID]source.Column{}, prepared: map[string]string{}, standby: true,
		end: "ROLLBACK",
	}, nil
}

// beginSQL begins the transaction, and settingsSQL makes its settings. They end with the transaction, so they also work
// behind a connection pooler. They are the settings of pg_dump that concern the text of values or timeouts,
// gin_fuzzy_search_limit, which can hide rows that meet a condition, and exit_on_error, since some statements may fail.
// The last one is new in PostgreSQL 17; reading it also fixes the snapshot. The search path here is the user's, so all
// names have a schema; see [session.query].
const (
	beginSQL    = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n"
	settingsSQL = `
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO';
SET LOCAL IntervalStyle = 'postgres';
SET LOCAL lc_monetary = 'C';
SET LOCAL extra_float_digits = 3;
SET LOCAL bytea_output = 'hex';
SET LOCAL quote_all_identifiers = off;
SET LOCAL row_security = off;
SET LOCAL synchronize_seqscans = off;
SET LOCAL enable_tidscan = on;
SET LOCAL gin_fuzzy_search_limit = 0;
SET LOCAL standard_conforming_strings = on;
SET LOCAL exit_on_error = off;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SELECT pg_catalog.set_config('transaction_timeout', '0', true)
WHERE pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL;
`
)

// positionSQL reads the position in the log in a transaction of its own, before the one that reads rows, whose snapshot
// must not be older.
const positionSQL = `
BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY;
SELECT CASE WHEN pg_catalog.pg_is_in_recovery()
	THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_lsn() END,
	pg_catalog.pg_is_in_recovery();
COMMIT;
`

// begunSQL is the last statement of the beginning. The savepoint is for [session.recover].
const begunSQL = `
SAVEPOINT culvert;
SELECT pg_catalog.current_setting('search_path'), pg_catalog.current_schemas(true),
	CURRENT_USER, pg_catalog.pg_postmaster_start_time(),
	pg_catalog.current_database(), pg_catalog.current_setting('server_version'), pg_catalog.txid_current_snapshot(),
	CURRENT_DATE, LOCALTIME, pg_catalog.current_setting('max_locks_per_transaction'),
	pg_catalog.current_setting('max_connections'), pg_catalog.current_setting('max_prepared_transactions'),
	pg_catalog.current_setting('jit')`

// beginTransaction begins the transaction, with an exported snapshot unless it is "".
func (s *session) beginTransaction(ctx context.Context, snapshot string) error {
	// A server in SQL_ASCII does not convert text to UTF-8, but refuses text that is not valid UTF-8.
	encoding := "UTF8"
	if s.conn.ParameterStatus("server_encoding") == "SQL_ASCII" {
		encoding = "SQL_ASCII"
	}
	begin := beginSQL
	if snapshot != "" {
		begin += "SET TRANSACTION SNAPSHOT '" + snapshot + "';" // before anything else
	}
	begin += settingsSQL + "SET LOCAL client_encoding = '" + encoding + "';" + begunSQL
	results, position, err := s.execBegin(ctx, begin, snapshot == "")
	var begun [][][]byte
	if len(results) > 0 {
		begun = results[len(results)-1].Rows
	}
	if err == nil && (len(begun) != 1 || !haveColumns(begun, 13)) {
		err = errAnswer
	}
	var perTransaction, connections, preparedTransactions int64
	if err == nil {
		err = scanInts([][][]byte{begun[0][9:12]}, &perTransaction, &connections, &preparedTransactions)
	}
	if err != nil {
		return s.failed(ctx, "beginning the transaction", err)
	}
	version, _, _ := strings.Cut(string(begun[0][5]), " ") // the name of the packager may follow
	s.day, s.time = string(begun[0][7]), string(begun[0][8])
	s.lockRoom = perTransaction * (connections + preparedTransactions)
	s.searchPath, s.schemas, s.jit = string(begun[0][0]), string(begun[0][1]), string(begun[0][12])
	s.view = fmt.Sprintf("%q", begun[0][:7])
	s.settings = fmt.Sprintf("%q", begun[0][:3]) + version
	s.description = source.Description{
		System: "PostgreSQL " + version, Database: string(begun[0][4]), Snapshot: string(begun[0][6]),
		Position: position,
	}
	return nil
}

// States of a session, as the server calls them (ReadyForQuery in the protocol).
const (
	openTransaction   = 'T'
	failedTransaction = 'E'
)

// execBegin runs the statements that begin the transaction, after reading the position if ask is set. If the server
// refuses to tell the position, it begins again without it.
func (s *session) execBegin(
	ctx context.Context, begin string, ask bool,
) (results []*pgconn.Result, position string, err error) {
	if !ask {
		results, err = s.conn.Exec(ctx, begin).ReadAll()
		return results, "", err
	}
	results, err = s.conn.Exec(ctx, positionSQL+begin).ReadAll()
	switch {
	case err != nil && s.conn.TxStatus() == failedTransaction:
		return s.execBegin(ctx, "ROLLBACK;\n"+begin, false)
	case len(results) > 1 && len(results[1].Rows) == 1 && haveColumns(results[1].Rows, 2):
		position = string(results[1].Rows[0][0])
		s.standby = string(results[1].Rows[0][1]) != "f"
	}
	return results, position, err
}

// inTransaction reports whether the session is in a transaction in which no statement has failed.
func (s *session) inTransaction() bool {
	return !s.conn.IsClosed() && s.conn.TxStatus() == openTransaction
}

// recover makes the transaction usable again after a statement has failed. It keeps its snapshot.
func (s *session) recover(ctx context.Context) error {
	if s.conn.TxStatus() != failedTransaction {
		return nil
	}
	return s.release(ctx)
}

// release returns to the savepoint, which undoes all locks and settings since then.
func (s *session) release(ctx context.Context) error {
	err := s.conn.Exec(ctx, "ROLLBACK TO SAVEPOINT culvert").Close()
	return s.failed(ctx, "returning to the savepoint", err)
}

// probe runs the statements that ask adds to a batch, and undoes their locks, their settings and their failure, which
// it returns as a *pgconn.PgError.
func (s *session) probe(ctx context.Context, ask func(*pgconn.Batch)) ([]*pgconn.Result, error) {
	var batch pgconn.Batch
	batch.ExecParams(beginProbe, nil, nil, nil, nil)
	ask(&batch)
	batch.ExecParams(undoProbe, nil, nil, nil, nil)
	batch.ExecParams(endProbe, nil, nil, nil, nil)
	results, err := s.conn.ExecBatch(ctx, &batch).ReadAll()
	return s.probed(ctx, results, err)
}

// These begin and end a probe.
const (
	beginProbe = "SAVEPOINT culvert_probe"
	undoProbe  = "ROLLBACK TO SAVEPOINT culvert_probe"
	endProbe   = "RELEASE SAVEPOINT culvert_probe"
)

// probed returns the results of what a probe has asked for.
func (s *session) probed(ctx context.Context, results []*pgconn.Result, err error) ([]*pgconn.Result, error) {
	if wire.IsRefusal(ctx, err) && s.conn.TxStatus() == failedTransaction {
		if undoErr := s.conn.Exec(ctx, undoProbe+";"+endProbe).Close(); undoErr != nil {
			err = undoErr
		}
	}
	if err != nil {
		return results, err
	}
	if len(results) < 3 {
		return nil, errAnswer
	}
	return results[1 : len(results)-2], nil
}

// query runs a statement of this package and returns its rows as text. They must have the given number of columns.
//
// The owner of the database, or anyone who may create a schema, can define operators, types and relations that are
// found before the system's, or match better. So during the statement, the search path has only the system's schema. If
// the statement fails, the savepoint restores the user's path.
func (s *session) query(ctx context.Context, columns int, sql string, parameters ...string) ([][][]byte, error) {
	if err := s.prepareAgain(ctx, sql, len(parameters)); err != nil {
		return nil, err
	}
	var batch pgconn.Batch // one round trip
	s.add(&batch, sql, parameters...)
	results, err := s.conn.ExecBatch(ctx, &batch).ReadAll()
	return answerOf(results, err, columns)
}

// prepareAgain prepares a statement with parameters that was run before, such as one that is run for each table:
// planning it takes longer than running it. The server parses it as query says, with only its own schema on the search
// path. Statements without parameters are not run often.
func (s *session) prepareAgain(ctx context.Context, sql string, parameters int) error {
	name, again := s.prepared[sql]
	if parameters == 0 || name != "" {
		return nil
	}
	if s.prepared[sql] = ""; !again {
		return nil
	}
	// A pooler may give the connection to others, which have names of their own.
	name = fmt.Sprintf("culvert_%s_%d", strconv.FormatInt(time.Now().UnixNano(), 36), len(s.prepared))
	pipeline := s.conn.StartPipeline(ctx)
	pipeline.SendQueryParams(ownPathSQL, nil, nil, nil, nil)
	pipeline.SendPrepare(name, sql, nil)
	pipeline.SendQueryParams(userPathSQL, s.userPath(), nil, nil, nil)
	err := pipeline.Sync()
	if closeErr := pipeline.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		s.prepared[sql], s.end = name, s.end+"; DEALLOCATE "+name
	}
	return err
}

// These change the search path for a statement of this package, and back. Such statements are not compiled: that can
// take a second, and much longer than to run them.
const (
	ownPathSQL = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), " +
		"pg_catalog.set_config('jit', 'off', true)"
	userPathSQL = "SELECT pg_catalog.set_config('search_path', $1, true), pg_catalog.set_config('jit', $2, true)"
)

func (s *session) userPath() [][]byte { return [][]byte{[]byte(s.searchPath), []byte(s.jit)} }

// probeQuery is probe for a statement of this package.
func (s *session) probeQuery(ctx context.Context, columns int, sql string) ([][][]byte, error) {
	results, err := s.probe(ctx, func(batch *pgconn.Batch) { s.add(batch, sql) })
	return answerOf(results, err, columns)
}

// probeAll is probe for statements that need nothing of the search path, and have no parameters.
func (s *session) probeAll(ctx context.Context, sql string) ([]*pgconn.Result, error) {
	results, err := s.conn.Exec(ctx, beginProbe+";\n"+sql+undoProbe+"; "+endProbe).ReadAll()
	return s.probed(ctx, results, err)
}

// answerOf returns the rows of the second of three statements.
func answerOf(results []*pgconn.Result, err error, columns int) ([][][]byte, error) {
	if err == nil && (len(results) != 3 || !haveColumns(results[1].Rows, columns)) {
		err = errAnswer
	}
	if err != nil {
		return nil, err
	}
	return results[1].Rows, nil
}

// add adds a statement of this package to a batch, as the second of three; see [session.query].
func (s *session) add(batch *pgconn.Batch, sql string, parameters ...string) {
	values := make([][]byte, len(parameters))
	for i, parameter := range parameters {
		values[i] = []byte(parameter)
	}
	batch.ExecParams(ownPathSQL, nil, nil, nil, nil)
	if name := s.prepared[sql]; name != "" {
		batch.ExecPrepared(name, values, nil, nil)
	} else {
		batch.ExecParams(sql, values, nil, nil, nil)
	}
	batch.ExecParams(userPathSQL, s.userPath(), nil, nil, nil)
}

var errAnswer = errors.New("the server sent an unexpected answer")

// haveColumns reports whether all rows have the given number of columns.
func haveColumns(rows [][][]byte, columns int) bool {
	return !slices.ContainsFunc(rows, func(row [][]byte) bool { return len(row) != columns })
}

// scanInts reads the integers of an answer that is a single row of them.
func scanInts(answer [][][]byte, to ...*int64) error {
	if len(answer) != 1 || len(answer[0]) != len(to) {
		return errAnswer
	}
	for i, text := range answer[0] {
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return errAnswer
		}
		*to[i] = n
	}
	return nil
}

// probeInt is probeQuery for a statement that returns one integer.
func (s *session) probeInt(ctx context.Context, sql string) (n int64, err error) {
	found, err := s.probeQuery(ctx, 1, sql)
	if err == nil {
		err = scanInts(found, &n)
	}
	return n, err
}

// prepare has the server parse and describe a statement. Until the transaction ends, the tables that it names, but not
// their children, are locked against changes.
func (s *session) prepare(ctx context.Context, sql string) (*pgconn.StatementDescription, error) {
	return s.conn.Prepare(ctx, "", sql, nil)
}

// close ends the session within grace.
func (s *session) close() { wire.Close(s.conn, s.end, grace) }
