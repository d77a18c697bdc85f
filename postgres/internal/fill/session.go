package fill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/wire"
	"culvert/sink"
)

// readBuffer is the size of reads from the network. Sum reads much.
const readBuffer = 64 << 10

// session is a connection that is in a transaction, or between two.
type session struct {
	conn *pgconn.PgConn

	searchPath string        // the setting of the user
	schemas    string        // the schemas of the search path, in order, as a name[]
	pid        string        // of the server's process
	xid        string        // of the transaction, once it has written; ""
	redact     bool          // errors have no values
	timeout    time.Duration // of waiting for a lock
	facts      *facts        // of tables, in the transaction; nil if there are none
	counted    bool          // a statement has locked a table to count its rows

	address     string // host, port and database
	server      string // identifies the server and the database; "" if it was not asked for
	isUnnamable bool   // it is the address, since the user may not ask
}

func connect(ctx context.Context, config *pgconn.Config) (*session, error) {
	config = config.Copy()
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(bufio.NewReaderSize(r, readBuffer), w)
	}
	conn, err := wire.Connect(ctx, config, grace)
	if failed, ok := errors.AsType[*wire.ConnectError](err); ok {
		return nil, sqlsource.Unavailable(failed.Error(), failed)
	}
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, address: fmt.Sprintf("%s:%d/%s", config.Host, config.Port, config.Database)}, nil
}

// beginSQL begins a transaction with the settings under which package read reads, as far as they concern the meaning
// of the text of values, and those under which any XML, NULL in arrays, and expressions are read as they were printed.
// They end with the transaction, so they also work behind a connection pooler. transaction_timeout is new in PostgreSQL
// 17, and jit in 11: to compile a question about many tables would take longer than to answer it. The user's
// session_replication_role stays: whoever sets it wants no triggers and no checks of foreign keys.
const beginSQL = `BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO';
SET LOCAL IntervalStyle = 'postgres';
SET LOCAL lc_monetary = 'C';
SET LOCAL extra_float_digits = 3;
SET LOCAL bytea_output = 'hex';
SET LOCAL xmloption = 'content';
SET LOCAL array_nulls = on;
SET LOCAL transform_null_equals = off;
SET LOCAL exit_on_error = off;
SET LOCAL quote_all_identifiers = off;
SET LOCAL standard_conforming_strings = on;
SET LOCAL row_security = off;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SELECT pg_catalog.set_config(name, value, true)
FROM (VALUES ('transaction_timeout', '0'), ('jit', 'off')) AS known(name, value)
WHERE pg_catalog.current_setting(name, true) IS NOT NULL;
SET LOCAL client_encoding = '%s';
SET LOCAL lock_timeout = %d;
SELECT pg_catalog.current_setting('search_path'), pg_catalog.current_schemas(true), pg_catalog.pg_backend_pid(),
	pg_catalog.current_setting('transaction_read_only'), pg_catalog.pg_is_in_recovery()`

// beginSQL returns the statements that begin a transaction. A server in SQL_ASCII does not convert text to UTF-8, but
// refuses text that is not valid UTF-8.
func (s *session) beginSQL() string {
	encoding := "UTF8"
	if s.conn.ParameterStatus("server_encoding") == "SQL_ASCII" {
		encoding = "SQL_ASCII"
	}
	return fmt.Sprintf(beginSQL, encoding, s.timeout.Milliseconds())
}

// begin begins a transaction, in place of one that is open.
func (s *session) begin(ctx context.Context, f sink.Filling) error {
	s.rollback()
	s.facts, s.counted = nil, false
	s.xid, s.redact, s.timeout = "", f.Redact, f.Timeout()
	results, err := s.conn.Exec(ctx, s.beginSQL()).ReadAll()
	var rows [][][]byte
	if len(results) > 0 {
		rows = results[len(results)-1].Rows
	}
	if err == nil && (len(rows) != 1 || len(rows[0]) != 5) {
		err = errAnswer
	}
	if err != nil {
		return s.failed(ctx, "beginning a transaction", err)
	}
	switch readOnly, isStandby := string(rows[0][3]) == "on", string(rows[0][4]) == "t"; {
	case isStandby:
		return fmt.Errorf("postgres: %w: the server is a standby", sink.ErrReadOnly)
	case readOnly:
		return fmt.Errorf("postgres: %w: default_transaction_read_only is on", sink.ErrReadOnly)
	}
	s.searchPath, s.schemas, s.pid = string(rows[0][0]), string(rows[0][1]), string(rows[0][2])
	return nil
}

// isPooled reports whether a transaction was begun behind a pooler, which tells its clients a process of its own.
func (s *session) isPooled() bool { return s.pid != strconv.FormatUint(uint64(s.conn.PID()), 10) }

var errAnswer = errors.New("the server sent an unexpected answer")

// ownPathSQL has only the system's schema on the search path.
const ownPathSQL = "SET LOCAL search_path = pg_catalog, pg_temp"

// question is a statement of this package, with the number of columns of its rows.
type question struct {
	sql        string
	columns    int
	parameters []string
}

// queries runs statements of this package in one round trip, and returns the rows of each as text. During the
// statements, the search path has only the system's schema, so that no operator, type or relation of others is found
// before the system's.
func (s *session) queries(ctx context.Context, questions ...question) ([][][][]byte, error) {
	var batch pgconn.Batch
	batch.ExecParams(ownPathSQL, nil, nil, nil, nil)
	for _, q := range questions {
		batch.ExecParams(q.sql, valuesOf(q.parameters), nil, nil, nil)
	}
	batch.ExecParams("SELECT pg_catalog.set_config('search_path', $1, true)",
		[][]byte{[]byte(s.searchPath)}, nil, nil, nil)
	results, err := s.conn.ExecBatch(ctx, &batch).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) != len(questions)+2 {
		return nil, errAnswer
	}
	answers := make([][][][]byte, len(questions))
	for i, q := range questions {
		answers[i] = results[i+1].Rows
		if slices.ContainsFunc(answers[i], func(row [][]byte) bool { return len(row) != q.columns }) {
			return nil, errAnswer
		}
	}
	return answers, nil
}

// query is queries for one statement.
func (s *session) query(ctx context.Context, columns int, sql string, parameters ...string) ([][][]byte, error) {
	answers, err := s.queries(ctx, question{sql, columns, parameters})
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

func valuesOf(parameters []string) [][]byte {
	values := make([][]byte, len(parameters))
	for i, parameter := range parameters {
		values[i] = []byte(parameter)
	}
	return values
}

// one is query for a statement that returns one value.
func (s *session) one(ctx context.Context, sql string, parameters ...string) (string, error) {
	rows, err := s.query(ctx, 1, sql, parameters...)
	if err == nil && len(rows) != 1 {
		err = errAnswer
	}
	if err != nil {
		return "", err
	}
	return string(rows[0][0]), nil
}

// exec runs statements, with the search path of the user.
func (s *session) exec(ctx context.Context, sql string) error { return s.conn.Exec(ctx, sql).Close() }

// params runs a statement with parameters, with the search path of the user.
func (s *session) params(ctx context.Context, sql string, parameters ...string) *pgconn.Result {
	return s.conn.ExecParams(ctx, sql, valuesOf(parameters), nil, nil, nil).Read()
}

// writes asks for the number of the transaction, which gives it one, so that it can be looked up later.
func (s *session) writes(ctx context.Context) error {
	if s.xid != "" {
		return nil
	}
	xid, err := s.one(ctx, "SELECT pg_catalog.txid_current()")
	if err != nil {
		return s.failed(ctx, "asking for the transaction", err)
	}
	s.xid = xid
	return nil
}

// own is a condition for the rows that the transaction has added. Its number is known.
func (s *session) own() (string, error) {
	xid, err := strconv.ParseUint(s.xid, 10, 64)
	if err != nil {
		return "", errAnswer
	}
	return "xmin OPERATOR(pg_catalog.=) '" + strconv.FormatUint(xid&(1<<32-1), 10) + "'::pg_catalog.xid", nil
}

// rollback ends the transaction, if one is open. It takes grace at most. An error leaves the connection closed, which
// also ends the transaction.
func (s *session) rollback() {
	if s.conn.IsClosed() || s.conn.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := s.exec(ctx, "ROLLBACK"); err != nil {
		s.close()
	}
}

func (s *session) close() { wire.Close(s.conn, "ROLLBACK", grace) }

// commit commits the transaction. If the connection is lost meanwhile, it asks the server what has become of it.
func (s *session) commit(ctx context.Context, config *pgconn.Config) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("postgres: committing: %w", err)
	}
	results, err := s.conn.Exec(ctx, "COMMIT").ReadAll()
	switch {
	case err == nil && len(results) == 1 && results[0].CommandTag.String() == "COMMIT":
		return nil
	case err == nil:
		return errors.New("postgres: the server rolled the transaction back instead of committing it")
	}
	failed := s.failed(ctx, "committing", err)
	if !s.conn.IsClosed() || s.xid == "" {
		return failed
	}
	return sink.Outcome(ctx, grace, failed, func(ctx context.Context) (bool, error) {
		return askOutcome(ctx, config, s.xid)
	})
}

// askOutcome asks over a new connection whether a transaction is committed. It is an error if it has not ended.
func askOutcome(ctx context.Context, config *pgconn.Config, xid string) (isCommitted bool, err error) {
	s, err := connect(ctx, config)
	if err != nil {
		return false, err
	}
	defer s.close()
	result := s.conn.ExecParams(ctx, "SELECT pg_catalog.txid_status($1)", [][]byte{[]byte(xid)}, nil, nil, nil).Read()
	if result.Err != nil || len(result.Rows) != 1 || len(result.Rows[0]) != 1 {
		return false, errAnswer
	}
	switch string(result.Rows[0][0]) {
	case "committed":
		return true, nil
	case "aborted":
		return false, nil
	}
	return false, errAnswer
}
