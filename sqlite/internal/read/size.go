package read

import (
	"errors"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
)

var _ source.Sized = (*rows)(nil)

// Size returns the number of rows of a table from the last ANALYZE, or otherwise from the distance between the smallest
// and the largest rowid. It reads a few pages. For views, queries and conditions nothing is known, nor is the number of
// bytes of a table.
func (r *rows) Size() (_ source.Size, err error) {
	defer r.db.catch(&err)
	if r.err != nil {
		return source.Size{}, r.err
	}
	if r.table == "" {
		return source.Size{}, nil
	}
	count := r.db.catalog.rows[r.table] // it is known, since the table was found
	if count <= 0 {
		if count, err = r.span(); err != nil {
			return source.Size{}, err
		}
	}
	if r.limit > 0 {
		count = min(count, r.limit)
	}
	return source.Size{Rows: max(0, count)}, nil
}

// keyedSQL counts the tables of a name that have a rowid under that name.
const keyedSQL = `SELECT count(*) FROM pragma_table_list(?1) AS t
	WHERE t.schema = 'main' AND t.name = ?1 AND t.type = 'table' AND t.wr = 0
		AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(t.name, 'main') WHERE name = 'rowid' COLLATE NOCASE)`

// leastRow is the smallest size of a row: two bytes for its place in the page, and one each for its length, its rowid,
// the length of its header and the type of its only value (sections 1.6 and 2.1 of
// https://sqlite.org/fileformat2.html).
const leastRow = 6

// span returns the number of rowids from the smallest to the largest. It is 0 if the file has no room for as many rows.
func (r *rows) span() (int64, error) {
	if keyed, err := r.ask(keyedSQL, r.table); err != nil || keyed == 0 {
		return 0, err
	}
	// In separate statements, SQLite finds each with one descent of the tree.
	from := " FROM main." + sqlite3.QuoteIdentifier(r.table)
	largest, err := r.ask("SELECT max(rowid)" + from)
	if err != nil {
		return 0, err
	}
	least, err := r.ask("SELECT coalesce(min(rowid), 1)" + from) // without rows, the largest is 0
	if err != nil {
		return 0, err
	}
	room, err := r.ask("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
	if err != nil {
		return 0, err
	}
	apart := uint64(largest) - uint64(least) // may overflow an int64
	if apart >= uint64(max(0, room))/leastRow {
		return 0, nil
	}
	return int64(apart) + 1, nil
}

// ask returns the number in the only row of a query, in the same transaction as the rows. It is 0 if SQLite refuses the
// query, such as if there are no statistics.
func (r *rows) ask(sql string, args ...string) (int64, error) {
	stmt, _, err := r.db.conn.Prepare(sql)
	if err == nil {
		defer finish(stmt)
		for i, arg := range args {
			if err == nil {
				err = stmt.BindText(i+1, arg)
			}
		}
	}
	if err == nil && stmt.Step() {
		return stmt.ColumnInt64(0), nil
	}
	if err == nil {
		err = stmt.Err()
	}
	if code, ok := errors.AsType[sqlite3.ErrorCode](err); err == nil || ok && code == sqlite3.ERROR {
		return 0, nil
	}
	return 0, r.db.fail(r.ctx, err)
}
