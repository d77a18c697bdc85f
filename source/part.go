package source

import (
	"context"
	"errors"
	"time"
)

// Snapshot names a state of a database, so that other sessions can read the same state, also from other processes and
// machines, and so that two states can be compared. It is data, for JSON or any other encoding: it has no address and
// no secret.
type Snapshot struct {
	// Token names the snapshot to the server. It is valid while the session that shared it is open.
	Token string `json:"token"`

	// Server identifies the running server, since a token means nothing, or something else, to another one, such as to
	// a copy or a standby. It changes when the server is restarted.
	Server string `json:"server"`

	// Database identifies the database of the server.
	Database string `json:"database"`

	// Settings is a digest of what else decides how the session prints rows, such as the user and the search path.
	Settings string `json:"settings"`

	// State is the content that the snapshot shows: as long as Server and Database are equal too, equal states show
	// equal rows. It is "" if the server cannot prove that.
	State string `json:"state"`
}

// Same reports whether two snapshots are proven to show the same rows, printed in the same way, although they may have
// been taken at different times. False says nothing: the rows may still be the same.
func (s Snapshot) Same(other Snapshot) bool {
	other.Token = s.Token
	return s.State != "" && s == other
}

// Range is a part of the rows of a table, as the source that made it writes it.
type Range struct {
	// By says how rows are identified: "" for all rows, the name that the database has for the position of a row (ctid,
	// rowid), or the columns of the primary key as a JSON array.
	By string `json:"by,omitempty"`

	// From is where the range begins, and To is the position after its end. "" is an open end. They contain values of
	// the primary key if rows are identified by it.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Part is a part of a table in a snapshot: what one session reads at once, and can be read again. It is data, as a
// [Snapshot] is. It contains the condition of its selection, and may contain values of the primary key.
//
// Only sources make parts. Besides the condition, nothing in a part becomes part of a statement unchecked; but a part
// whose range was altered is read with that range.
type Part struct {
	Table     string    `json:"table"`  // the name as it was given to Parts
	Object    string    `json:"object"` // what the database identifies the table and its content by
	Selection Selection `json:"selection"`
	Columns   []Column  `json:"columns"` // of its rows; shared by all parts of a table
	Range     Range     `json:"range"`
	Snapshot  Snapshot  `json:"snapshot"`

	Bytes int64 `json:"bytes"`          // about, as stored by the database; 0 if not known
	Rows  int64 `json:"rows,omitempty"` // exactly; 0 if not known

	// Whole is the reason why the table is a single part although it is larger than the requested size. It ends a
	// sentence, as the reason of an [IndivisibleError] does.
	Whole string `json:"whole,omitempty"`
}

// MaxParts is the most parts of a table. Parts refuses a size that would make more.
const MaxParts = 1 << 20

// Parter is implemented by sources that can cut tables into parts.
type Parter interface {
	// Parts cuts the selected rows of a table into parts of about size bytes, as stored by the database. Together they
	// have every row once. There is at least one part, also of an empty table; they are in the order of their ranges.
	// The parts of tables of one Source fit together, since they are of one snapshot.
	//
	// A source that implements [Sharer] shares its snapshot at the first call, and its parts can be read by every
	// source that has joined it. Other sources read the parts that they have made themselves.
	//
	// A selection with a limit is one part. The error is an [*UnknownError] if there is no such table or column.
	Parts(ctx context.Context, table string, s Selection, size int64) ([]Part, error)

	// Part returns the rows of a part. They have the columns of the part, and are read like those of Table, but cannot
	// be divided. Their end confirms that the table still is the one that was cut. The error is [ErrOtherSnapshot] if
	// the source reads another snapshot, unless it is proven to be the same, and [ErrLocked] if another session may be
	// able to read the part.
	Part(ctx context.Context, p Part) (Rows, error)
}

// Sharer is implemented by sources whose snapshot other sessions can join.
type Sharer interface {
	// Share returns the snapshot of this source, which others can join while this source is open. No rows may be open.
	// A source that has joined a snapshot can share it too, under a token of its own, which is valid even after the
	// first source was closed. So a snapshot outlives the session that has taken it.
	Share(ctx context.Context) (Snapshot, error)

	// Join opens another source with the same address and settings as this one, which reads a snapshot that was shared
	// by any source of the same server and database. The receiver need not read that snapshot itself, and its rows may
	// be open. Several calls may run concurrently. A snapshot that another program has shared may have only a Token.
	//
	// The error is [ErrSnapshotLost] if the source that shared it is closed, and [ErrOtherServer] if the address leads
	// to another server or database.
	Join(ctx context.Context, s Snapshot) (Source, error)
}

// Grouped is implemented by sources that several connections can read from one state if they are opened together, since
// no session can join a snapshot of the database later.
type Grouped interface {
	// Beside returns up to n other sources that were opened with this one, show the same state, and are not in use. If
	// there are fewer, the second value is the reason, or nil if this source was opened with fewer. Each must be
	// closed, which leaves it to a later call, and may be used by a goroutine of its own, while this source is open.
	// They read the parts of each other, and know what this one has prepared ([Preparer]).
	Beside(n int) ([]Source, *IndivisibleError)

	// Moment returns how they were opened.
	Moment() Moment
}

// Moment is the point in time whose state several connections show.
type Moment struct {
	Connections int           // that show it
	Held        time.Duration // how long others may have waited for a lock of the whole server; 0 if there was none
}

// Errors of snapshots and parts.
var (
	// ErrSnapshotLost marks the error that no session shares a snapshot by this token any more.
	ErrSnapshotLost = errors.New("source: the snapshot is lost")

	// ErrOtherServer marks the error that a snapshot belongs to another server, or database, or that the session has
	// other settings.
	ErrOtherServer = errors.New("source: the snapshot belongs to another server")

	// ErrLocked marks the error that others have locked a table, or wait to change it, for longer than the source waits
	// for them. Another session of the snapshot may be able to read the same part.
	ErrLocked = errors.New("source: the table is locked")

	// ErrOtherSnapshot marks the error that a part belongs to another snapshot than the one that a source reads.
	ErrOtherSnapshot = errors.New("source: the part belongs to another snapshot")
)
