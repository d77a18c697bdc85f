package read

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

var _ source.Preparer = (*DB)(nil)

// preparedAtOnce is the most tables that are looked up together. Only tests change it.
var preparedAtOnce = 500

// Prepare looks up ordinary tables by a few statements for many of them, and locks them first, as far as such locks are
// kept. What is said of them is kept until this DB and those that it opens by Join are closed; a definition is kept
// until Define returns it. Then a small table is read by one statement, which also shows that the table is still the
// same.
//
// Others are left to Table: views and the like, partitioned tables, tables that have children and come with their rows,
// tables that the user may not read or that have policies, and what another session has changed.
func (db *DB) Prepare(ctx context.Context, tables []string) error {
	if err := db.begin(ctx); err != nil {
		return err
	}
	for some := range slices.Chunk(tables, preparedAtOnce) {
		found, err := db.find(ctx, some)
		if err != nil {
			return err
		}
		for len(found) > 0 {
			n := min(len(found), max(1, int(db.mostLocks()/4)))
			if left := int(db.mostLocks()/2 - db.kept); left > 0 {
				n = min(n, left) // whose locks can be kept
			}
			if err := db.prepare(ctx, found[:n]); err != nil {
				return err
			}
			found = found[n:]
		}
	}
	return nil
}

// prepared is what is known of tables, by the names for which they were looked up. It is shared by sessions of one
// snapshot.
type prepared struct {
	mu        sync.Mutex
	tables    map[string]*known
	sequences map[string]source.Sequence // of their definitions, by name as SQL
	found     map[string]*known          // tables that were found, but not looked up
	lists     map[string][]string        // see [DB.list]
}

func newPrepared() *prepared {
	return &prepared{
		tables: map[string]*known{}, sequences: map[string]source.Sequence{}, found: map[string]*known{},
		lists: map[string][]string{},
	}
}

// listed returns a list that was kept.
func (p *prepared) listed(key string) (tables []string, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tables, known = p.lists[key]
	return slices.Clone(tables), known
}

func (p *prepared) keepList(key string, tables []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lists[key] = slices.Clone(tables)
}

// keepFound keeps tables for Prepare, which finds others.
func (p *prepared) keepFound(found []*known) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range found {
		p.found[one.name] = one
	}
}

// takeFound takes out what was kept of tables. It returns that, and the names of tables of which nothing was kept.
func (p *prepared) takeFound(names []string) (found []*known, others []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if one := p.found[name]; one != nil {
			found = append(found, one)
			delete(p.found, name)
		} else {
			others = append(others, name)
		}
	}
	return found, others
}

// known is what is known of a table. Only the definition changes.
type known struct {
	name       string // as it was looked up
	relation   relation
	columns    []source.Column // without those that Table leaves out
	types      []uint32        // of them; those of domains are their base types
	size       source.Size
	definition *source.Definition // nil if it was not looked up, or was returned
}

// of returns what is known of a table, or nil.
func (p *prepared) of(name string) *known {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tables[name]
}

func (p *prepared) add(all []*known) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range all {
		p.tables[one.name] = one
		if one.definition == nil {
			continue
		}
		for _, sequence := range one.definition.Sequences {
			if sequence.Last != nil || sequence.Next != nil {
				p.sequences[sequence.Name] = source.Sequence{
					Name: sequence.Name, Last: sequence.Last, Next: sequence.Next,
				}
			}
		}
	}
}

// sequence returns what was read of a sequence, since the snapshot was taken.
func (p *prepared) sequence(name string) (sequence source.Sequence, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sequence, ok = p.sequences[name]
	return sequence, ok
}

// takeDefinition returns a definition that is known, once.
func (p *prepared) takeDefinition(name string) *source.Definition {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.tables[name]
	if one == nil {
		return nil
	}
	d := one.definition
	one.definition = nil
	return d
}

// relationsSQL finds the tables with the names $1 that can be prepared, of which $3 are the parts that can be the name
// of the table itself; see exactlyNamed. If a name has several rows, it may mean several relations. If $4 is true,
// tables are read without the rows of their children.
const relationsSQL = `
SELECT w.name, c.oid, n.nspname, c.relname, NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid),
	c.relfilenode, c.relkind = 'r' AND c.relpersistence <> 't' AND NOT c.relrowsecurity AND c.oid::int8 >= 16384
	AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
	AND pg_catalog.to_regclass(pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname))::oid
		IS NOT DISTINCT FROM c.oid
FROM unnest($1::text[], $3::name[]) AS w(name, ending)
JOIN pg_catalog.pg_class c ON c.relname = w.ending JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
	AND (c.relname = w.name AND ` + visible + ` OR n.nspname || '.' || c.relname = w.name)`

// find finds the tables of the given names that can be prepared. Those that are kept were found before.
func (db *DB) find(ctx context.Context, names []string) ([]*known, error) {
	found, names := db.known.takeFound(names)
	if len(names) == 0 {
		return found, nil
	}
	others, err := db.session.findRelations(ctx, names)
	return append(found, others...), err
}

// findRelations finds the tables of the given names that can be prepared.
func (s *session) findRelations(ctx context.Context, names []string) ([]*known, error) {
	var repeated, endings []string
	for _, name := range names {
		for _, ending := range endsOfName(name) {
			repeated, endings = append(repeated, name), append(endings, ending)
		}
	}
	rows, err := s.query(ctx, 7, relationsSQL, sqltext.Array(repeated), s.schemas, sqltext.Array(endings))
	if err != nil {
		return nil, s.failed(ctx, listing, err)
	}
	times := map[string]int{}
	for _, row := range rows {
		times[string(row[0])]++
	}
	var found []*known
	for _, row := range rows {
		one := &known{name: string(row[0]), relation: relation{
			oid: string(row[1]), schema: string(row[2]), name: string(row[3]), plain: string(row[4]) == "t",
			file: string(row[5]), kind: "r",
		}}
		if s.own {
			one.relation.separate()
		}
		if times[one.name] == 1 && one.relation.plain && string(row[6]) == "t" {
			found = append(found, one)
		}
	}
	return found, nil
}

// prepare locks tables and looks them up. If the server refuses it, such as because a table was just dropped, they are
// looked up in halves, and what is left is not known.
func (db *DB) prepare(ctx context.Context, tables []*known) error {
	names := make([]string, len(tables))
	for i, one := range tables {
		names[i] = "ONLY " + one.relation.sqlName()
	}
	err := db.session.conn.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN ACCESS SHARE MODE").Close()
	var complete []*known
	if err == nil {
		complete, err = db.session.lookUp(ctx, tables)
	}
	if wire.IsRefusal(ctx, err) {
		if err := db.session.recover(ctx); err != nil || len(tables) == 1 {
			return err
		}
		half := len(tables) / 2
		if err := db.prepare(ctx, tables[:half]); err != nil {
			return err
		}
		return db.prepare(ctx, tables[half:])
	}
	if err != nil {
		return db.session.failed(ctx, listing, err)
	}
	if db.kept+int64(len(tables)) > db.mostLocks()/2 {
		err = db.session.release(ctx)
	} else if err = db.session.keep(ctx, ""); err == nil {
		db.kept += int64(len(tables))
		for _, one := range tables {
			db.keptOf[one.relation.oid]++
		}
	}
	db.known.add(complete)
	return err
}

// lookUp asks for all that is known of tables that are locked. It returns those that have not changed.
func (s *session) lookUp(ctx context.Context, tables []*known) ([]*known, error) {
	byOID := make(map[string]*known, len(tables))
	var oids, names, files []string
	for _, one := range tables {
		byOID[one.relation.oid] = one
		oids, names = append(oids, one.relation.oid), append(names, one.relation.sqlName())
		files = append(files, one.relation.file)
	}
	all := sqltext.Array(oids)
	if err := s.lookUpSizes(ctx, byOID, all, sqltext.Array(names), sqltext.Array(files)); err != nil {
		return nil, err
	}
	if err := s.lookUpColumns(ctx, byOID, all); err != nil {
		return nil, err
	}
	if err := s.lookUpDefinitions(ctx, byOID, all); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(tables), func(one *known) bool { return one.relation.family == nil }), nil
}

// sizesSQL returns the sizes of the tables $1 with the names $2, if these tables still have them and the files $3; see
// unchangedSQL and familyMembers. The number of rows is the one that the planner expects.
const sizesSQL = `
SELECT c.oid, size.bytes, coalesce(pg_catalog.pg_relation_size(c.reltoastrelid), 0),
	1 + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid),
	pg_catalog.current_setting('server_version_num'), pg_catalog.current_setting('block_size'),
	CASE WHEN c.reltuples > 0 AND c.relpages > 0 THEN pg_catalog.ceil(c.reltuples / c.relpages
		* size.bytes / pg_catalog.current_setting('block_size')::int8)::int8 ELSE 0 END,
	CASE WHEN pg_catalog.current_setting('old_snapshot_threshold', true) <> '-1'
		THEN 'the server lets snapshots expire (old_snapshot_threshold)'
		WHEN c.relam NOT IN (0, 2) THEN '` + notHeap + `' ELSE '' END
FROM unnest($1::oid[], $2::text[], $3::oid[]) AS w(oid, name, file) JOIN pg_catalog.pg_class c ON c.oid = w.oid
CROSS JOIN LATERAL (SELECT pg_catalog.pg_relation_size(c.oid) OFFSET 0) AS size(bytes)
WHERE pg_catalog.to_regclass(w.name)::oid IS NOT DISTINCT FROM w.oid
	AND pg_catalog.pg_relation_filenode(w.oid) IS NOT DISTINCT FROM w.file`

// lookUpSizes sets the sizes of tables that have not changed.
func (s *session) lookUpSizes(ctx context.Context, byOID map[string]*known, oids, names, files string) error {
	found, err := s.query(ctx, 8, sizesSQL, oids, names, files)
	for _, row := range found {
		one := byOID[string(row[0])]
		if one == nil {
			return errAnswer
		}
		f := new(familySize)
		var bytes, toast int64
		err := scanInts([][][]byte{row[1:7]}, &bytes, &toast, &f.locks, &f.version, &f.pageSize, &one.size.Rows)
		if err != nil || f.pageSize <= 0 {
			return errAnswer
		}
		f.largest = bytes / f.pageSize
		f.total, f.toast, f.indivisible = f.largest, toast/f.pageSize, string(row[7])
		one.size.Bytes, one.relation.family = bytes+toast, f
	}
	return err
}

// domainsSQL returns the base type of each domain, which may be another domain.
const domainsSQL = "SELECT oid, typbasetype FROM pg_catalog.pg_type WHERE typtype = 'd'"

// baseTypes returns the base type of each domain. They are asked for once, since the snapshot stays.
func (s *session) baseTypes(ctx context.Context) (map[string]string, error) {
	if s.bases != nil {
		return s.bases, nil
	}
	found, err := s.query(ctx, 2, domainsSQL)
	if err != nil {
		return nil, err
	}
	s.bases = map[string]string{}
	for _, row := range found {
		s.bases[string(row[0])] = string(row[1])
	}
	return s.bases, nil
}

// lookUpColumns sets the columns of tables.
func (s *session) lookUpColumns(ctx context.Context, byOID map[string]*known, oids string) error {
	bases, err := s.baseTypes(ctx)
	if err != nil {
		return err
	}
	found, err := s.query(ctx, 6, `
SELECT a.attrelid, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypid,
	`+madeOf("a.atttypid", "a.atttypmod")+`, `+refusesNull+`
FROM pg_catalog.pg_attribute a WHERE a.attrelid = ANY ($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
	AND a.attgenerated = ''
ORDER BY a.attrelid, a.attnum`, oids)
	if err != nil {
		return err
	}
	for _, row := range found {
		one, base := byOID[string(row[0])], string(row[3])
		for bases[base] != "" {
			base = bases[base]
		}
		oid, err := strconv.ParseUint(base, 10, 32)
		if one == nil || err != nil {
			return errAnswer
		}
		column := typed(string(row[1]), row[2], row[4])
		column.NotNull = string(row[5]) == "t"
		one.columns = append(one.columns, column)
		one.types = append(one.types, uint32(oid))
	}
	for _, one := range byOID {
		names := make([]string, len(one.columns))
		for i, column := range one.columns {
			names[i] = sqltext.Quote(column.Name)
		}
		one.relation.list = strings.Join(names, ", ")
	}
	return nil
}
