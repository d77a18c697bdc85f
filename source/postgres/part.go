package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"culvert/source"
	"culvert/source/internal/sqlsource"
)

var _ source.Parter = (*DB)(nil)

// Part returns the rows of a part of this snapshot, or of another one that is proven to show the same state. The table
// is found by its object identifier, so it does not matter by which name it was cut.
func (db *DB) Part(ctx context.Context, p source.Part) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("postgres: a part of table %q", p.Table)
	if err := db.checkSnapshot(ctx, p.Snapshot); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	condition, err := conditionOf(p.Range)
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
		r.relation.plain = false // otherwise COPY would read all of it
		r.sql, r.exact = r.rangeSQL(condition), p.Rows
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
	if relation == nil || relation.object() != p.Object {
		return nil, fmt.Errorf("%s: the table that was cut does not exist", name)
	}
	r, err := db.open(ctx, relation, p.Selection)
	if err != nil {
		return nil, err
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

var errRange = errors.New("its range is not one of PostgreSQL")

// conditionOf returns the condition of a range, or "" for all rows. The operators are the system's, whatever the search
// path.
func conditionOf(r source.Range) (string, error) {
	var place string // what is compared
	var value func(text string) (string, error)
	switch {
	case r == source.Range{}:
		return "", nil
	case r.By == byPages:
		place, value = "ctid", tidOf
	default:
		columns, err := sqlsource.ReadTexts(r.By)
		if err != nil {
			return "", errRange
		}
		place = rowOf(columns, quote)
		value = func(text string) (string, error) {
			values, err := sqlsource.ReadTexts(text)
			if err != nil || len(values) != len(columns) {
				return "", errRange
			}
			return rowOf(values, literal), nil
		}
	}
	var conditions []string
	for _, end := range []struct{ operator, text string }{{">=", r.From}, {"<", r.To}} {
		if end.text == "" {
			continue
		}
		limit, err := value(end.text)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, place+" OPERATOR(pg_catalog."+end.operator+") "+limit)
	}
	return strings.Join(conditions, " AND "), nil
}

var tidText = regexp.MustCompile(`^\([0-9]{1,10},[0-9]{1,5}\)$`)

// tidOf returns a ctid as SQL.
func tidOf(text string) (string, error) {
	if !tidText.MatchString(text) {
		return "", errRange
	}
	return tid(text), nil
}

// rowOf writes one or several values as SQL.
func rowOf(values []string, write func(string) string) string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = write(value)
	}
	if len(list) == 1 {
		return list[0]
	}
	return "ROW(" + strings.Join(list, ", ") + ")"
}

// literal writes a text as an SQL constant of no type, which so takes the type and the collation of the column that it
// is compared with. With E, it means the same whatever the setting standard_conforming_strings.
func literal(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}
