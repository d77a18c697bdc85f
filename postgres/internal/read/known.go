package read

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// isSmall reports whether a table is read by one statement. Others are not worth it, and may be divided.
func (k *known) isSmall() bool {
	f := k.relation.family
	return f.indivisible == "" && f.weight() < 2*rangePages
}

// openKnown returns the rows of a small table that was looked up before. It asks the server for nothing. The statement
// that reads the rows also locks the table, and shows whether it is the one that was looked up.
//
// A session that has joined others waits for the lock no longer than one that reads parts, for the same reason: the
// first session may have locked the table, and somebody may wait to change it.
func (db *DB) openKnown(ctx context.Context, k *known) (*rows, error) {
	last := db.reading
	release := last != nil && last.known != nil && last.holdsLocks()
	if !release || !db.session.inTransaction() {
		release = false
		if err := db.begin(ctx); err != nil {
			return nil, err
		}
	}
	if db.joined.Token != "" {
		if err := db.limitWaits(ctx); err != nil {
			return nil, err
		}
	}
	relation := k.relation
	fields := make([]pgconn.FieldDescription, len(k.types))
	for i, oid := range k.types {
		fields[i].DataTypeOID = oid
	}
	sql := sqlsource.Select(relation.list, relation.from(), source.Selection{})
	r := newRows(ctx, db.session, relation.String(), k.columns, sql, fields)
	r.relation, r.known, r.release = &relation, k, release
	db.reading = r
	return r, nil
}

// holdsLocks reports whether locks must be released before the next rows.
func (r *rows) holdsLocks() bool { return r.known == nil || r.begun || r.release }

// releaseBefore releases the locks of the rows before these.
func (r *rows) releaseBefore() error {
	if !r.release {
		return nil
	}
	r.release = false
	return r.session.release(r.ctx)
}

// sameSQL returns the table that the name of a relation means now, and its file. It names everything with its schema,
// and has no operator.
func (r *relation) sameSQL() string {
	return "SELECT pg_catalog.to_regclass(" + sqltext.Literal(r.sqlName()) + ")::pg_catalog.oid, " +
		"pg_catalog.pg_relation_filenode(" + r.oid + "::pg_catalog.oid)"
}

// checkKnown is checkUnchanged for a table that was looked up before. The table is locked since it was read, so it was
// the same then as it is now: no other table gets its object identifier or its file.
func (r *rows) checkKnown() error {
	same := r.same
	if same == nil {
		found, err := r.session.query(r.ctx, 2, r.relation.sameSQL())
		if err == nil && len(found) != 1 {
			err = errAnswer
		}
		if err != nil {
			return r.session.failed(r.ctx, r.name, err)
		}
		same = found[0]
	}
	table := r.relation.schema + "." + r.relation.name
	switch {
	case string(same[0]) != r.relation.oid:
		return changed(table, "renamed")
	case string(same[1]) != r.relation.file:
		return changed(table, "truncated, rewritten or dropped")
	}
	return nil
}

// copyKnown has the server print the rows of a table, and say whether it is the one that was looked up, in one round
// trip. It returns io.EOF if the server confirms the count.
func (r csvRows) copyKnown(out *rowWriter, sql string) error {
	sql += ";\n" + r.relation.sameSQL()
	if r.release {
		sql = "ROLLBACK TO SAVEPOINT culvert;\n" + sql
		r.release = false
	}
	defer wire.Watch(r.ctx, r.session.conn, grace)()
	answer, err := r.session.copyTogether(out, sql)
	switch {
	case out.err != nil:
		return out.err
	case err != nil:
		return err
	case len(answer.row) != 2:
		return errAnswer
	}
	r.same = answer.row
	return confirm(answer.copied, r.received-r.before)
}

// together is the answer to statements one of which is a COPY and one returns a row.
type together struct {
	copied pgconn.CommandTag
	row    [][]byte
}

// copyTogether runs statements in one round trip, and writes the rows of the COPY among them. It is what CopyTo of
// pgconn is for one statement.
func (s *session) copyTogether(out *rowWriter, sql string) (answer together, err error) {
	frontend := s.conn.Frontend()
	frontend.SendQuery(&pgproto3.Query{String: sql})
	if err := frontend.Flush(); err != nil {
		return answer, s.lose(err)
	}
	for {
		message, receiveErr := s.conn.ReceiveMessage(context.Background()) // whoever calls watches the context
		if receiveErr != nil {
			return answer, s.lose(receiveErr)
		}
		switch message := message.(type) {
		case *pgproto3.CopyData:
			_, _ = out.Write(message.Data) // it keeps its error
		case *pgproto3.DataRow:
			for _, value := range message.Values {
				answer.row = append(answer.row, append([]byte(nil), value...))
			}
		case *pgproto3.CommandComplete:
			if tag := string(message.CommandTag); strings.HasPrefix(tag, "COPY ") {
				answer.copied = pgconn.NewCommandTag(tag)
			}
		case *pgproto3.ErrorResponse:
			err = pgconn.ErrorResponseToPgError(message)
		case *pgproto3.ReadyForQuery:
			return answer, err
		}
	}
}

// lose closes a connection that has failed, so that it is known to be lost, and returns the failure.
func (s *session) lose(err error) error {
	_ = s.conn.Conn().Close()
	_ = s.conn.Close(context.Background()) // says nothing more on it
	return err
}
