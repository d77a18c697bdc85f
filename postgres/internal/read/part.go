package read

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

var _ source.Parter = (*DB)(nil)

// Part returns the rows of a part of this snapshot, or of another one that is proven to show the same state. The table
// is found by its object identifier, so it does not matter by which name it was cut.
//
// From the first part on, this DB waits for locks for at most 10 seconds. The error is [source.ErrLocked] then, and
// names the processes of the server that have locked the table, or wait to change it.
func (db *DB) Part(ctx context.Context, p source.Part) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	if err := db.limitWaits(ctx); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("postgres: a part of table %q", p.Table)
	if err := db.checkSnapshot(ctx, p.Snapshot); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	condition, err := sqltext.Condition(p.Range)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r, err := db.openPart(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := db.checkKey(ctx, r.relation, p.Range); err != nil {
		r.end(errClosed)
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !slices.Equal(r.columns, p.Columns) {
		r.end(errClosed)
		return nil, fmt.Errorf("%s: its columns are not those of the table", name)
	}
	if condition != "" {
		r.sql, r.ranged, r.exact = r.rangeSQL(condition), true, p.Rows
	}
	return partRows{csvRows{r}, p}, nil
}

// openPart returns all rows of the selection of a part. If the last part was of the same selection, and the table is
// still locked, nothing is asked again, which halves the time of a small part.
func (db *DB) openPart(ctx context.Context, p source.Part) (*rows, error) {
	last := db.lastPart
	if last != nil && last.relation.object() == p.Object && db.keptOf[last.relation.oid] > 0 &&
		reflect.DeepEqual(last.relation.Selection, p.Selection) {
		r := newRows(ctx, db.session, last.name, last.columns, last.sql, last.fields)
		r.relation = new(*last.relation)
		db.reading = r
		return r, nil
	}
	name := fmt.Sprintf("postgres: a part of table %q", p.Table)
	oid, _, _ := strings.Cut(p.Object, "/")
	if oid == "" || strings.Trim(oid, "0123456789") != "" {
		return nil, fmt.Errorf("%s: it names no table of PostgreSQL", name)
	}
	relation, err := db.session.relationOf(ctx, oid)
	if err != nil {
		return nil, err
	}
	if relation != nil && strings.HasSuffix(p.Object, ownRows) {
		relation.separate()
	}
	if relation == nil || relation.object() != p.Object {
		return nil, fmt.Errorf("%s: the table that was cut does not exist", name)
	}
	r, err := db.open(ctx, relation, p.Selection)
	if err != nil {
		return nil, db.session.explainLock(ctx, relation, err)
	}
	kept := *r
	kept.relation = new(*relation)
	db.lastPart = &kept
	return r, nil
}

// partRows are the rows of a part.
type partRows struct {
	csvRows
	part source.Part
}

// Size returns what is known of the part.
func (r partRows) Size() (source.Size, error) {
	if r.err != nil {
		return source.Size{}, r.err
	}
	return source.Size{Rows: r.part.Rows, Bytes: r.part.Bytes}, nil
}

// checkSnapshot returns an error unless a snapshot shows the same state as the one of this DB.
func (db *DB) checkSnapshot(ctx context.Context, s source.Snapshot) error {
	own := db.shared
	switch {
	case own.State != "":
	case db.joined.State != "":
		own = db.joined
	default:
		var err error
		if own, err = db.session.identify(ctx); err != nil {
			return err
		}
	}
	if !s.Same(own) {
		return source.ErrOtherSnapshot
	}
	return nil
}
