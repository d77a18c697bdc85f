package fill

import "io"

// The savepoint of a mark. Releasing the one before keeps subtransactions from nesting.
const (
	markSQL      = "SAVEPOINT culvert_mark"
	markAgainSQL = "RELEASE SAVEPOINT culvert_mark; " + markSQL
	undoSQL      = "ROLLBACK TO SAVEPOINT culvert_mark"
)

// copySQL is the statement that adds rows. A subtransaction that has not made the table cannot freeze its rows.
func (l *loader) copySQL(form string) string { return l.t.copySQL(form, !l.marks) }

// SetMark makes a savepoint.
func (l *loader) SetMark(again bool) error {
	if err := l.readyForRows(); err != nil {
		return err
	}
	sql := markSQL
	if again {
		sql = markAgainSQL
	}
	l.marks = true
	return l.s.failed(l.t.ctx, "setting a savepoint", l.s.exec(l.t.ctx, sql))
}

// UndoToMark goes back to the savepoint.
func (l *loader) UndoToMark() error {
	if f := l.running; f != nil {
		_ = f.w.CloseWithError(io.ErrClosedPipe) // always nil
		<-f.ended
		l.running = nil
	}
	l.rows, l.sent = 0, 0
	return l.s.failed(l.t.ctx, "going back to a savepoint", l.s.exec(l.t.ctx, undoSQL))
}
