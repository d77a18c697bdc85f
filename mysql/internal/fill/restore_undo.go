package fill

import (
	"context"
	"time"

	"culvert/mysql/internal/wire"
)

// Abandon undoes what Restore has done, unless rows are recorded.
func (r *restoration) Abandon(ctx context.Context) error {
	if !r.isNew {
		return nil
	}
	if err := r.db.ready(ctx, r.filling); err != nil {
		return err
	}
	return r.alone(ctx, func() error {
		found, err := r.db.conn.Query(ctx, 1, "SELECT CAST(row_count > 0 AS CHAR) FROM "+restoringLedger+
			" ORDER BY row_count DESC LIMIT 1")
		switch refused := wire.Refused(err); {
		case refused != nil && refused.Number == codeNoSuchTable:
		case err != nil:
			return r.failed("reading the table "+restoringLedger, err)
		case len(found) > 0 && found[0][0] == "1":
			return nil
		case len(found) > 0: // a table without rows, which may use the sequences
			return r.forget()
		}
		return r.undo()
	})
}

// undo drops the sequences that were made, and forgets the load, of which there are no tables yet.
func (r *restoration) undo() error {
	for _, s := range r.steps {
		made := sequence.FindStringSubmatch(s.sql)
		if made == nil || s.after || r.states[s.key] != done {
			continue
		}
		if err := r.db.conn.Exec(r.ctx, "DROP SEQUENCE IF EXISTS "+made[1]); err != nil {
			return r.failed("dropping a sequence that was made", err)
		}
	}
	return r.forget()
}

// forget drops the tables of the restoration. MariaDB drops one after the other, and may be killed between them. So the
// ledger, which nobody would find alone, is the first. Without it, the other table still says that all rows are there.
func (r *restoration) forget() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), time.Minute)
	defer cancel()
	r.db.ledger = ""
	return r.db.failed(ctx, "dropping the table "+restoring,
		r.db.conn.Exec(ctx, "DROP TABLE IF EXISTS "+restoringLedger+", "+restoring))
}
