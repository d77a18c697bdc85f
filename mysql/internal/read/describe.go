package read

import (
	"context"
	"strconv"
	"strings"

	"culvert/mysql/internal/wire"
	"culvert/source"
)

// Describe returns the state of the database that is read.
//
// These systems do not name snapshots, so the snapshot is named by the time at which it was taken, by the server's
// clock. The position is the place of the snapshot in MariaDB's binary log, as FILE:OFFSET; and "GTID" with the global
// transaction identifiers, if several connections have begun together. MySQL tells its position only then. It is ""
// without such a log, or if the user may not see it.
func (db *DB) Describe(ctx context.Context) (source.Description, error) {
	if err := db.begin(ctx); err != nil {
		return source.Description{}, err
	}
	s := db.session
	name := "MySQL "
	if s.IsMariaDB {
		name = "MariaDB "
	}
	version, _, _ := strings.Cut(s.Version, "-")
	description := source.Description{
		System: name + version, Database: s.Database, Snapshot: "CONSISTENT SNAPSHOT at " + s.taken + " UTC",
	}
	found, err := s.Query(ctx, 2, "SHOW SESSION STATUS LIKE 'Binlog_snapshot_%'")
	if err != nil {
		return source.Description{}, s.Explain(ctx, "describing the database", err)
	}
	status := map[string]string{}
	for _, row := range found {
		status[strings.ToLower(row[0])] = row[1]
	}
	if file := status["binlog_snapshot_file"]; file != "" {
		description.Position = withGTIDs(file+":"+status["binlog_snapshot_position"], db.group.position)
	} else if !s.IsMariaDB {
		description.Position = db.group.position
	}
	return description, nil
}

var _ source.Sized = (*tableRows)(nil)

// Size returns the server's statistics of the table, which may be out of date. With a condition, it is an estimate of
// the query planner. The size of a view is not known.
func (r *tableRows) Size() (source.Size, error) {
	if r.err != nil || r.result != nil || !r.table.Base {
		return source.Size{}, nil // too late to ask, or not known
	}
	size, err := r.session.size(r.ctx, r.table)
	if err = wire.IgnoreRefusal(err); err != nil {
		err = r.fail(err)
	}
	return size, err
}

// size estimates the size of a table, or of a part of it.
func (s *session) size(ctx context.Context, t table) (source.Size, error) {
	rows, bytes, err := s.estimate(ctx, t)
	if err != nil || rows == 0 {
		return source.Size{}, err // nor the bytes: an empty table has a page
	}
	wanted := rows
	if t.Where != "" {
		if wanted, err = s.planned(ctx, t); err != nil {
			return source.Size{}, err
		}
		wanted = min(wanted, rows)
	}
	if t.Limit > 0 {
		wanted = min(wanted, float64(t.Limit))
	}
	return source.Size{Rows: int64(wanted), Bytes: int64(bytes * (wanted / rows))}, nil
}

// estimate returns what the server says of the whole table.
func (s *session) estimate(ctx context.Context, t table) (rows, bytes float64, err error) {
	if f := s.known(t.Table); f != nil {
		return f.rows, f.bytes, nil
	}
	found, err := s.Query(ctx, 2, `SELECT IFNULL(TABLE_ROWS, 0), IFNULL(DATA_LENGTH, 0)
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, t.Database, t.Name)
	if err != nil || len(found) != 1 {
		return 0, 0, err
	}
	return count(found[0][0]), count(found[0][1]), nil
}

// planned returns how many rows the server expects to meet the condition.
func (s *session) planned(ctx context.Context, t table) (float64, error) {
	return s.plannedRows(ctx, t.SQL()+" WHERE ("+t.Where+"\n)", true)
}

// plannedRows returns how many rows of a table the server expects to look at, or to find in them. MariaDB says the
// latter only in EXPLAIN EXTENDED.
func (s *session) plannedRows(ctx context.Context, from string, filtered bool) (float64, error) {
	sql := "EXPLAIN FORMAT=TRADITIONAL " // which is no longer what MySQL does by itself
	if s.IsMariaDB {
		sql = "EXPLAIN EXTENDED "
	}
	found, err := s.Query(ctx, wire.AnyColumns, sql+"SELECT 1 FROM "+from)
	if err != nil || len(found) == 0 || len(found[0]) < 3 {
		return 0, err
	}
	// The last columns are rows, filtered (in percent), and Extra.
	last := found[0][len(found[0])-3:]
	if !filtered {
		return count(last[0]), nil
	}
	return count(last[0]) * count(last[1]) / 100, nil
}

// count reads a positive number; anything else is 0.
func count(text string) float64 {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !(number > 0) || number > 1<<62 {
		return 0
	}
	return number
}
