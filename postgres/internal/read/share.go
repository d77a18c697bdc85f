package read

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/wire"
	"culvert/source"
)

var _ source.Sharer = (*DB)(nil)

// Share exports the snapshot. The server keeps the exported snapshot, and all row versions that it shows, until this DB
// is closed.
//
// The State is what pg_current_snapshot returns, with the timeline. It does not change while nothing is written: even
// VACUUM and ANALYZE change it. A crash loses unlogged tables, and may lose transactions, whose numbers are then used
// again; but it also resets the statistics, so the State contains the time of their last reset. On a standby, the
// result of the function is incomplete (it lacks running transactions): while replay is paused, the State is the
// position in the log, and otherwise it contains the token, so that it is equal only for those that join.
//
// Share fails behind a connection pooler in transaction mode, where a session is not one.
func (db *DB) Share(ctx context.Context) (source.Snapshot, error) {
	if err := db.begin(ctx); err != nil {
		return source.Snapshot{}, err
	}
	if db.shared.Token != "" {
		return db.shared, nil
	}
	if err := db.session.refusePooler(ctx, db.config); err != nil {
		return source.Snapshot{}, err
	}
	snapshot, err := db.session.identify(ctx)
	if err != nil {
		return source.Snapshot{}, err
	}
	if err := db.shareSnapshot(ctx); err != nil {
		return source.Snapshot{}, fmt.Errorf("postgres: sharing the snapshot: %w", err)
	}
	for _, s := range db.helpers {
		s.close() // it would keep a connection, perhaps for hours
	}
	db.helpers = nil
	snapshot.Token = db.snapshot
	switch {
	case db.joined.Token != "":
		snapshot.State = db.joined.State
	case snapshot.State == "":
		snapshot.State = db.session.stateOfToken(snapshot.Token)
	}
	db.shared = snapshot
	return snapshot, nil
}

// Join connects to a database and reads a snapshot that another session has shared. Of a snapshot that a session has
// exported by itself, with pg_export_snapshot, only the Token may be known; then nothing else tells whether this is the
// right server.
func Join(ctx context.Context, connString string, snapshot source.Snapshot) (*DB, error) {
	config, err := wire.ParseConfig(connString)
	if err != nil {
		return nil, err
	}
	return join(ctx, config, snapshot)
}

// Join opens another DB, which reads a snapshot that another session has shared. It needs a connection of its own.
func (db *DB) Join(ctx context.Context, snapshot source.Snapshot) (source.Source, error) {
	joined, err := join(ctx, db.config, snapshot)
	if err != nil {
		return nil, err
	}
	joined.session.own, joined.known = db.session.own, db.known
	return joined, nil
}

func join(ctx context.Context, config *pgconn.Config, snapshot source.Snapshot) (*DB, error) {
	if !isToken(snapshot.Token) {
		return nil, errors.New("postgres: joining a snapshot: its token is not one of PostgreSQL")
	}
	s, err := connect(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := s.join(ctx, config, &snapshot); err != nil {
		s.close()
		return nil, err
	}
	db := newDB(config, s)
	db.joined = snapshot
	return db, nil
}

// Error codes of the server for a snapshot that is not, or no longer, exported. The first is that of PostgreSQL 17 and
// newer, and the last is for one whose session is just ending.
var codesSnapshotLost = []string{"42704", codeInvalidParameterValue, "55000"}

// join begins the transaction with a snapshot. If only its token is known, join fills in the rest.
func (s *session) join(ctx context.Context, config *pgconn.Config, snapshot *source.Snapshot) error {
	err := s.beginTransaction(ctx, snapshot.Token)
	refused, ok := errors.AsType[*pgconn.PgError](err)
	lost := ok && slices.Contains(codesSnapshotLost, refused.Code)
	elsewhere := ok && refused.Code == codeFeatureNotSupported // another database
	if lost || elsewhere {
		// The snapshot may be unknown here because it was shared elsewhere.
		if err := s.conn.Exec(ctx, "ROLLBACK").Close(); err != nil {
			return s.failed(ctx, "joining a snapshot", err)
		}
		err = s.beginTransaction(ctx, "")
	}
	if err != nil {
		return err
	}
	if err := s.refusePooler(ctx, config); err != nil {
		return err
	}
	own, err := s.identify(ctx)
	if err != nil {
		return err
	}
	if *snapshot == (source.Snapshot{Token: snapshot.Token}) {
		if elsewhere {
			return &snapshotError{"this is another database", source.ErrOtherServer}
		}
		// What the session sees is no proof: the server may have been a standby when the snapshot was taken.
		own.Token, own.State = snapshot.Token, s.stateOfToken(snapshot.Token)
		*snapshot = own
	}
	reason := ""
	switch {
	case own.Server != snapshot.Server:
		reason = "this is another server, or it was restarted"
	case own.Database != snapshot.Database:
		reason = "this is another database"
	case own.Settings != snapshot.Settings:
		reason = "this session has another user or search_path, or the server or Culvert is of another version"
	case lost:
		return &snapshotError{"the session that shared it has ended", source.ErrSnapshotLost}
	case strings.Contains(snapshot.State, stateSnapshot) &&
		!strings.HasSuffix(snapshot.State, stateSnapshot+s.description.Snapshot):
		reason = "the server shows another state"
	default:
		return nil
	}
	return &snapshotError{reason, source.ErrOtherServer}
}

// stateOfToken is the State of a snapshot of which nothing else is known. Only those that join it have an equal one.
func (s *session) stateOfToken(token string) string {
	return "shared " + token + ", statistics since " + s.statistics
}

// snapshotError is the error of a session that cannot join a snapshot.
type snapshotError struct {
	reason string
	class  error
}

func (e *snapshotError) Error() string { return "postgres: cannot join the snapshot: " + e.reason }
func (e *snapshotError) Unwrap() error { return e.class }

// identitySQL returns one row: the server, the database, the timeline, the last reset of the statistics, whether the
// server is a standby, and where it is in the log. The statistics are reset after a crash
// (pgstat_discard_stats in pgstat.c, and in pgstat_read_statsfiles before PostgreSQL 15). Times are in microseconds.
const identitySQL = `
SELECT system.system_identifier || '/' || (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::int8,
	d.oid || '/' || d.datname, checkpoint.timeline_id,
	coalesce((extract(epoch FROM statistics.stats_reset) * 1000000)::int8, 0),
	pg_catalog.pg_is_in_recovery(), coalesce(pg_catalog.pg_last_wal_replay_lsn()::text, '')
FROM pg_catalog.pg_control_system() AS system, pg_catalog.pg_control_checkpoint() AS checkpoint,
	pg_catalog.pg_stat_bgwriter AS statistics, pg_catalog.pg_database d
WHERE d.datname = pg_catalog.current_database()`

// identify returns what identifies the snapshot of the session, without a token. The State is "" if it is not known.
func (s *session) identify(ctx context.Context) (source.Snapshot, error) {
	found, err := s.query(ctx, 6, identitySQL)
	if err == nil && len(found) != 1 {
		err = errAnswer
	}
	if err != nil {
		return source.Snapshot{}, s.failed(ctx, "identifying the server", err)
	}
	digest := sha256.Sum256([]byte(s.settings))
	row := found[0]
	snapshot := source.Snapshot{
		Server: string(row[0]), Database: string(row[1]), Settings: hex.EncodeToString(digest[:16]),
	}
	s.statistics = string(row[3])
	state := fmt.Sprintf("timeline %s, statistics since %s", row[2], row[3])
	switch recovering, replayed := string(row[4]) != "f", string(row[5]); {
	case !recovering && !s.standby:
		snapshot.State = state + stateSnapshot + s.description.Snapshot
	case recovering && replayed == s.description.Position && s.paused(ctx):
		snapshot.State = state + ", replayed " + replayed
	}
	return snapshot, nil
}

const stateSnapshot = ", snapshot " // before the snapshot of a primary in the State

// paused reports whether the server is a standby that has paused. Before PostgreSQL 14, it does not say whether the
// last record before the pause is complete.
func (s *session) paused(ctx context.Context) bool {
	found, err := s.probeQuery(ctx, 1, "SELECT pg_catalog.pg_get_wal_replay_pause_state()")
	return err == nil && len(found) == 1 && string(found[0][0]) == "paused"
}

// refusePooler returns an error if the session is behind a connection pooler in transaction mode.
//
// A pooler tells its clients a process of its own. In session mode, two clients have two sessions of the server as long
// as they are connected. In transaction mode, the second gets the session that the first one has just given back.
func (s *session) refusePooler(ctx context.Context, config *pgconn.Config) error {
	process, err := s.process(ctx)
	if err != nil || process == strconv.FormatUint(uint64(s.conn.PID()), 10) {
		return err
	}
	var processes [2]string
	for i := range processes {
		client, err := connect(ctx, config)
		if err != nil {
			return err
		}
		defer client.close()
		if processes[i], err = client.process(ctx); err != nil {
			return err
		}
	}
	if processes[0] != processes[1] {
		return nil
	}
	return errors.New("postgres: this is a connection pooler in transaction mode, such as PgBouncer, whose sessions " +
		"cannot share a snapshot: connect to the server itself")
}

// process returns the number of the server's process, which need not be in a transaction.
func (s *session) process(ctx context.Context) (string, error) {
	results, err := s.conn.Exec(ctx, "SELECT pg_catalog.pg_backend_pid()").ReadAll()
	if err == nil && (len(results) != 1 || len(results[0].Rows) != 1 || !haveColumns(results[0].Rows, 1)) {
		err = errAnswer
	}
	if err != nil {
		return "", s.failed(ctx, "asking for the process of the server", err)
	}
	return string(results[0].Rows[0][0]), nil
}
