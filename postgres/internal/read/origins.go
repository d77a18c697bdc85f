package read

import (
	"context"
	"strconv"

	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

var _ source.Tracer = (*DB)(nil)

// Origins implements [source.Tracer]. For each column of a query, the server says which column of a relation it is, if
// the query shows one unchanged. So the server is asked about the query of the view, without running it, and then about
// the queries of the views that this one reads.
func (db *DB) Origins(ctx context.Context, view string) (map[string][]source.Origin, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	r, err := s.findRelation(ctx, view)
	if err != nil {
		return nil, err
	}
	t := tracer{s: s, known: map[string]traced{}}
	columns, err := t.columnsOf(ctx, []string{r.oid})
	if err != nil {
		return nil, s.failed(ctx, r.String(), err)
	}
	origins, err := t.trace(ctx, r.oid)
	if err != nil {
		return nil, s.failed(ctx, r.String(), err)
	}
	all := map[string][]source.Origin{}
	for number, from := range origins {
		if column, is := columns[columnID{r.oid, number}]; is {
			all[column.Column] = from
		}
	}
	return all, nil
}

// traced are the origins of the columns of a view, by their numbers, the nearest first.
type traced = map[string][]source.Origin

// tracer finds the origins of columns of views.
type tracer struct {
	s     *session
	known map[string]traced // by the object identifiers of views
}

// columnID is the object identifier of a relation and the number of one of its columns.
type columnID struct{ oid, number string }

const originColumnsSQL = `
SELECT c.oid::text, a.attnum::text, n.nspname::text, c.relname::text, a.attname::text,
	(c.relkind IN ('v', 'm'))::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.oid = ANY ($1::pg_catalog.oid[])`

// columnsOf returns the columns of relations.
func (t *tracer) columnsOf(ctx context.Context, oids []string) (map[columnID]source.Origin, error) {
	found, err := t.s.query(ctx, 6, originColumnsSQL, sqltext.Array(oids))
	columns := map[columnID]source.Origin{}
	for _, row := range found {
		table := source.TableName{Schema: string(row[2]), Name: string(row[3])}
		columns[columnID{string(row[0]), string(row[1])}] = source.Origin{
			ColumnName: source.ColumnName{Table: table, Column: string(row[4])}, IsView: string(row[5]) == "true",
		}
	}
	return columns, err
}

// trace returns the origins of the columns of a view. A view whose query the server does not parse again has none.
func (t *tracer) trace(ctx context.Context, oid string) (traced, error) {
	if origins, is := t.known[oid]; is {
		return origins, nil
	}
	t.known[oid] = nil
	fields, err := t.fields(ctx, oid)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	var oids []string
	for _, one := range fields {
		oids = append(oids, one.oid)
	}
	columns, err := t.columnsOf(ctx, oids)
	if err != nil {
		return nil, err
	}
	origins := traced{}
	for number, id := range fields {
		column, is := columns[id]
		if !is {
			continue
		}
		from := []source.Origin{column}
		if column.IsView {
			further, err := t.trace(ctx, id.oid)
			if err != nil {
				return nil, err
			}
			from = append(from, further[id.number]...)
		}
		origins[number] = from
	}
	t.known[oid] = origins
	return origins, nil
}

const viewQuerySQL = `SELECT pg_catalog.pg_get_viewdef($1::text::pg_catalog.oid)`

// fields returns, by the numbers of the columns of a view, the columns that its query says they are. Names in the query
// are complete, since [session.query] has the server print it with an empty search path.
func (t *tracer) fields(ctx context.Context, oid string) (map[string]columnID, error) {
	found, err := t.s.query(ctx, 1, viewQuerySQL, oid)
	if err != nil || len(found) != 1 || len(found[0][0]) == 0 {
		return nil, err // a table has none
	}
	description, err := t.s.prepare(ctx, string(found[0][0]))
	if wire.IsRefusal(ctx, err) {
		return nil, t.s.recover(ctx)
	}
	if err != nil {
		return nil, err
	}
	fields := map[string]columnID{}
	for i, field := range description.Fields {
		if field.TableOID != 0 && field.TableAttributeNumber > 0 {
			fields[strconv.Itoa(i+1)] = columnID{
				strconv.FormatUint(uint64(field.TableOID), 10), strconv.Itoa(int(field.TableAttributeNumber)),
			}
		}
	}
	return fields, nil
}
