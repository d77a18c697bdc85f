package postgres

import (
	"context"

	"culvert/source"
)

// Describe says what the transaction shows. It is known since the transaction began, and not asked for again.
//
// The snapshot is what txid_current_snapshot gives: of the transactions before the second number, all are seen but
// those that follow, which were in progress; before the first, none was. The position is that of the write-ahead log
// just before; on a standby, as far as it was replayed. A transaction that was about to end then may be in the log
// before that position, and yet not be seen. Without the right to ask for it, the position is "".
func (db *DB) Describe(context.Context) (source.Description, error) {
	return db.session.description, nil
}
