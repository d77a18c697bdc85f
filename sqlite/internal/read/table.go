package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/sqlsource"
	"culvert/source"
	"culvert/sqlite/internal/dbfile"
)

var (
	_ source.Selector  = (*DB)(nil)
	_ source.Lister    = (*DB)(nil)
	_ source.Omitter   = (*DB)(nil)
	_ source.Describer = (*DB)(nil)
)

// Table returns all rows of a table or view. Names are compared as SQLite does, without regard to the case of ASCII
// letters, and may begin with "main.". The columns are those of SELECT *: they include generated columns, but not
// hidden columns of virtual tables. Those of FTS5 and Geopoly begin with the rowid.
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Select returns a part of a table or view. Column names are compared like table names, and may name hidden columns of
// a virtual table.
//
// The condition is any expression that may follow WHERE. It cannot end the statement or add to it.
func (db *DB) Select(ctx context.Context, name string, s source.Selection) (_ source.Rows, err error) {
	defer db.catch(&err)
	if err := sqlsource.Check("sqlite", s); err != nil {
		return nil, err
	}
	table, err := db.find(ctx, name)
	if err != nil {
		return nil, err
	}
	rows, err := db.read(ctx, table, s, "")
	if err != nil {
		return nil, err
	}
	return tableRows{rows}, nil
}

// read returns the rows of a selection that are in a range, or all of them if that is "".
func (db *DB) read(ctx context.Context, table string, s source.Selection, inRange string) (*rows, error) {
	if v, err := db.virtual(ctx, table); err != nil {
		return nil, err
	} else if v != nil {
		if content, outside := v.content(); outside && content == "" {
			return nil, fmt.Errorf("sqlite: the full-text index %q keeps no texts that could be read", table)
		}
	}
	list, err := db.list(ctx, table, s.Columns)
	if err != nil {
		return nil, err
	}
	from := "main." + sqlite3.QuoteIdentifier(table)
	if s.Where != "" {
		// This makes sure that the condition is a single expression; see package sqlsource.
		stmt, err := db.prepare(ctx, "SELECT 1 FROM "+from+" WHERE "+s.Where)
		if err != nil {
			return nil, fmt.Errorf("sqlite: condition for table %q: %w", table, err)
		}
		finish(stmt)
	}
	sql := sqlsource.Select(list, from, s)
	if inRange != "" {
		sql = restrict(sql, s, inRange)
	}
	stmt, err := db.compile(ctx, sql, s.Where)
	if err != nil {
		return nil, err
	}
	columns := columnsOf(stmt)
	err = db.refuseNull(ctx, table, columns)
	var selected *rows
	if err == nil {
		of := &scan{db: db, columns: columns, from: from, chosen: s, inRange: inRange}
		selected, err = db.scan(ctx, of, stmt, table)
	}
	if err != nil {
		finish(stmt)
		return nil, err
	}
	selected.name, selected.told = table, newTold(selected.columns)
	if selected.scan != nil {
		selected.scan.told = selected.told
	}
	if s.Where == "" {
		selected.table, selected.limit = table, s.Limit
	}
	return selected, nil
}

// refuseNull sets which columns of a table have no NULL. In SQLite, a primary key may have NULL, unless it is the
// rowid. In tables that are STRICT or WITHOUT ROWID, it may not: SQLite says that its columns are NOT NULL.
func (db *DB) refuseNull(ctx context.Context, table string, columns []source.Column) error {
	if o := db.catalog.tables[lower(table)]; o.isView || o.isVirtual {
		return nil
	}
	names, err := db.texts(ctx, `SELECT c.name FROM pragma_table_xinfo(?1, 'main') AS c
		WHERE c.hidden = 0 AND (c."notnull" OR `+isRowid+")", table)
	for i := range columns {
		columns[i].NotNull = slices.Contains(names, columns[i].Name)
	}
	return err
}

// scan returns the rows of a scan, or of its statement if it is none of an ordinary table.
func (db *DB) scan(ctx context.Context, s *scan, stmt *sqlite3.Stmt, table string) (*rows, error) {
	if o := db.catalog.tables[lower(table)]; o.isView || o.isVirtual || !s.fits() {
		return db.start(ctx, stmt)
	}
	finish(stmt)
	db.open = &rows{db: db, ctx: ctx, scan: s, columns: s.columns}
	return db.open, nil
}

// find returns the name of a table or view as the database writes it.
func (db *DB) find(ctx context.Context, name string) (string, error) {
	all, err := db.known(ctx)
	if err != nil {
		return "", err
	}
	found, is := all.tables[lower(name)]
	const main = "main."
	if !is && len(name) > len(main) && strings.EqualFold(name[:len(main)], main) {
		found, is = all.tables[lower(name[len(main):])]
	}
	if is {
		return found.name, nil
	}
	known, err := db.texts(ctx, `SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return "", err
	}
	return "", &source.UnknownError{What: "table", Name: name, Known: known}
}

// list returns the named columns as SQL, or all that are not hidden if there are no names.
func (db *DB) list(ctx context.Context, table string, names []string) (string, error) {
	v, err := db.virtual(ctx, table)
	switch {
	case err != nil:
		return "", err
	case len(names) == 0 && v.hasRowid():
		return rowidColumn + ", *", nil
	case len(names) == 0:
		return "*", nil
	}
	known, err := db.texts(ctx, "SELECT name FROM pragma_table_xinfo(?, 'main')", table)
	if err != nil {
		return "", err
	}
	if v.hasRowid() {
		known = append(known, rowidColumn)
	}
	chosen, err := sqlsource.Choose(fmt.Sprintf("sqlite: table %q", table), sqlsource.Columns(known), names, sameName)
	return sqlsource.List(chosen, func(name string) string {
		quoted := sqlite3.QuoteIdentifier(name)
		return quoted + " AS " + quoted // without AS, SQLite promises no name
	}), err
}

// sameName compares names as SQLite does, without regard to the case of ASCII letters.
func sameName(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower := a[i] | 0x20; a[i] != b[i] && (lower != b[i]|0x20 || lower < 'a' || lower > 'z') {
			return false
		}
	}
	return true
}

// Tables returns the names of the tables, sorted by bytes. The only schema is "main". Virtual tables are in the list if
// their rows are no copy of those of other tables, and the tables that hold the content of a virtual table if that
// cannot be read. See Omitted. Those in which a load of the whole database keeps what it has done are left out.
func (db *DB) Tables(ctx context.Context, schema string) (_ []string, err error) {
	defer db.catch(&err)
	if schema != "" && !strings.EqualFold(schema, "main") {
		return nil, &source.UnknownError{What: "schema", Name: schema, Known: []string{"main"}}
	}
	const list = `SELECT name FROM pragma_table_list
		WHERE schema = 'main' AND type = ? AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name NOT IN ('` + dbfile.Restoring + "', '" + dbfile.RestoringLedger + "') ORDER BY name"
	tables, err := db.texts(ctx, list, "table")
	if err != nil {
		return nil, err
	}
	shadows, err := db.texts(ctx, list, "shadow")
	if err != nil {
		return nil, err
	}
	virtuals, err := db.virtuals(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range virtuals {
		readable, err := db.readable(ctx, v)
		if err != nil {
			return nil, err
		}
		for _, shadow := range shadows {
			if begins := len(v.name) < len(shadow) && sameName(shadow[:len(v.name)], v.name); begins && !readable {
				tables = append(tables, shadow)
			}
		}
		if readable || strings.HasPrefix(v.module, "fts") { // an R*Tree that cannot be read has its rows there
			tables = slices.DeleteFunc(tables, v.isShadow)
		}
		if readable && v.isData() {
			tables = append(tables, v.name)
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables), nil
}

// Describe returns the version of SQLite that reads the file, and the file. SQLite does not name the state that a
// transaction shows.
func (db *DB) Describe(ctx context.Context) (source.Description, error) {
	version, err := db.texts(ctx, "SELECT sqlite_version()")
	if err != nil {
		return source.Description{}, err
	}
	return source.Description{
		System: "SQLite " + version[0], Database: db.path, Snapshot: "one read transaction",
	}, nil
}
