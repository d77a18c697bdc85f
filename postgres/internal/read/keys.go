package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// keySQL returns the columns of the primary key of a table in order, and whether the order of each is the system's: the
// default order of a type, by operators that the owner of the database cannot replace. A table has no key here if its
// children may have rows without one: a primary key is that of all partitions, but not of other children.
const keySQL = `
SELECT a.attname, o.oid::int8 < 16384 AND o.opcdefault
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) WITH ORDINALITY AS k(number, class, place)
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
JOIN pg_catalog.pg_opclass o ON o.oid = k.class
WHERE i.indrelid = $1::oid AND i.indisprimary AND i.indisvalid AND place <= i.indnkeyatts
	AND (c.relkind = 'p' OR $2::bool OR NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = c.oid))
ORDER BY place`

// key returns the columns of the primary key of a relation; none if it has no key that it can be cut by.
func (s *session) key(ctx context.Context, r *relation) ([]string, error) {
	found, err := s.query(ctx, 2, keySQL, r.oid, strconv.FormatBool(r.plain))
	if err != nil {
		return nil, s.failed(ctx, r.String(), err)
	}
	var columns []string
	for _, row := range found {
		if string(row[1]) != "t" {
			return nil, nil
		}
		columns = append(columns, string(row[0]))
	}
	return columns, nil
}

// checkKey returns an error if a range is one of a key, but not of the primary key of the relation. The columns of a
// primary key are never NULL, so the ranges have all rows.
func (db *DB) checkKey(ctx context.Context, r *relation, cut source.Range) error {
	if cut.By == "" || cut.By == sqltext.Pages {
		return nil
	}
	key, err := db.session.key(ctx, r)
	if err != nil {
		return err
	}
	if columns, err := sqlsource.ReadTexts(cut.By); err != nil || !slices.Equal(columns, key) {
		return errors.New("it was cut by a key that the table does not have")
	}
	return nil
}

// cutByKey cuts a table by its primary key, since its pages cannot be cut for the given reason. The server walks along
// the key twice, usually in its index alone: it counts the rows, and returns every n-th.
//
// The ranges are complete whatever the texts of the keys: two neighbours have the same text between them, which is the
// same value to the server. And all that is compared is compared by one operator, in the order of which the server
// walks, so that each range ends behind its beginning.
func (r *rows) cutByKey(f familySize, size int64, reason string) (cuts, error) {
	bytes := f.weight() * f.pageSize
	if expected, err := r.session.size(r.ctx, r.sql, r.relation); err == nil {
		bytes = max(bytes, expected.Bytes) // such as of compressed rows
	} else if !wire.IsRefusal(r.ctx, err) {
		return cuts{}, r.session.failed(r.ctx, r.name, err)
	}
	n, err := sqlsource.NumberOfParts("postgres", bytes, size)
	if err != nil || n == 1 {
		return cuts{bytes: bytes}, err
	}
	key, err := r.session.key(r.ctx, r.relation)
	if err != nil {
		return cuts{}, err
	}
	if len(key) == 0 {
		return cuts{whole: reason + ", and it has no primary key in an order of the system", bytes: bytes}, nil
	}
	rows, err := r.session.probeInt(r.ctx, "SELECT pg_catalog.count(*) FROM "+r.relation.from())
	if err != nil {
		return cuts{}, r.session.failed(r.ctx, r.name, err)
	}
	c := cuts{bytes: bytes}
	step := max(1, (rows+n-1)/n)
	if c.places, err = r.walk(key, step); err != nil || len(c.places) == 0 {
		return c, err
	}
	if slices.ContainsFunc(c.places, func(place string) bool { return place == "" }) {
		return cuts{whole: reason + ", and its primary key has texts that are not UTF-8", bytes: bytes}, nil
	}
	if c.by, err = sqlsource.Texts(key); err != nil {
		return cuts{}, err
	}
	if r.relation.Where == "" {
		c.rows, c.lastRows = step, rows-step*int64(len(c.places))
	}
	if reason, err := r.refusesCondition(c); reason != "" || err != nil {
		return cuts{whole: reason, bytes: bytes}, err
	}
	return c, nil
}

// walk returns every n-th key of a relation except the first, as a JSON array each. It is "" for one that is not UTF-8.
func (r *rows) walk(key []string, n int64) ([]string, error) {
	var columns, names, order []string
	for i, column := range key {
		name := fmt.Sprintf("k%d", i)
		names = append(names, name)
		columns = append(columns, sqltext.Quote(column)+" AS "+name)
		order = append(order, sqltext.Quote(column)+" USING OPERATOR(pg_catalog.<)")
	}
	sql := fmt.Sprintf(`
SELECT %s FROM (SELECT %s, pg_catalog.row_number() OVER (ORDER BY %s) - 1 AS number FROM %s) AS walked
WHERE number > 0 AND number %% %d = 0 ORDER BY number`,
		strings.Join(names, ", "), strings.Join(columns, ", "), strings.Join(order, ", "), r.relation.from(), n)
	found, err := r.session.probeQuery(r.ctx, len(key), sql)
	if err != nil {
		return nil, r.session.failed(r.ctx, r.name, err)
	}
	places := make([]string, len(found))
	for i, row := range found {
		values := make([]string, len(row))
		for j, value := range row {
			values[j] = string(value)
		}
		if !utf8.ValidString(strings.Join(values, "")) {
			continue
		}
		if places[i], err = sqlsource.Texts(values); err != nil {
			return nil, err
		}
	}
	return places, nil
}
