package read

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

var _ source.Preparer = (*DB)(nil)

// facts are what the server says of a base table, asked for many tables at once. A transaction that has looked at a
// table keeps others from altering it, so they hold until its end.
type facts struct {
	catalog.Table
	columns []sqlsource.Column
	outside bool // no snapshot holds its rows

	rows, bytes float64 // as the server estimates

	// What makes the table again. It is dropped once it was asked for, or is nil if the server refuses to say it.
	make *making
}

// making is what the server says of how a table is made.
type making struct {
	create             string
	collation, comment string
	columns            [][]string // of ofColumn
	triggers           []string   // by name
}

// atOnce bounds the names in a statement.
const atOnce = 1000

// fewestBeside is the least number of tables for which other connections are used too.
const fewestBeside = 16

// Prepare asks for all that [DB.Table] and [DB.Define] need of these tables, with a few statements for all tables and
// one for each. For a question about one table, information_schema costs more than its rows. Names of unknown tables
// and of views are left out, and so are tables that the user may not read: these fail when they are asked for.
func (db *DB) Prepare(ctx context.Context, names []string) error {
	if err := db.begin(ctx); err != nil {
		return err
	}
	var beside []*session
	if len(names) >= fewestBeside {
		beside, _ = db.group.take(math.MaxInt)
		defer func() { db.group.put(beside...) }()
	}
	for some := range slices.Chunk(names, atOnce) {
		if err := db.session.learn(ctx, some, beside); err != nil {
			return db.session.Explain(ctx, "looking up the tables", err)
		}
	}
	return nil
}

// known returns the facts of a table, or nil.
func (s *session) known(t catalog.Table) *facts { return s.facts[s.key(t.Database, t.Name)] }

// learn asks for the facts of tables, some of them over connections that have begun with this one. The first question
// is for their names alone, for which the server opens no table.
func (s *session) learn(ctx context.Context, names []string, beside []*session) error {
	there, err := s.there(ctx, names)
	if err != nil {
		return err
	}
	var asked []catalog.Table
	named := map[string]string{} // the keys of tables
	for _, name := range names {
		for _, reading := range catalog.Readings(name) {
			key := s.key(cmp.Or(reading.Database, s.Database), reading.Name)
			if t, is := there[key]; is {
				named[name], asked = key, append(asked, t)
				break
			}
		}
	}
	made := s.showBeside(ctx, beside)
	readable, err := s.lookAtAll(ctx, asked, made.tables)
	close(made.tables)
	if err == nil {
		err = wire.IgnoreRefusal(s.showAll(ctx, made))
	}
	for range made.tables { // after an error
	}
	made.asking.Wait()
	if err != nil {
		return err
	}
	looked := map[string][]string{} // the names of tables by their database
	mayRead := map[string]bool{}    // by the keys of tables
	for _, t := range readable {
		looked[t.Database] = append(looked[t.Database], t.Name)
		mayRead[s.key(t.Database, t.Name)] = true
	}
	found := map[string]*facts{} // by their keys
	for database, names := range looked {
		if err := s.learnAbout(ctx, database, names, found, beside); err != nil {
			return err
		}
	}
	if err := s.learnCreate(ctx, found, made.create); err != nil {
		return err
	}
	if s.facts == nil {
		s.facts, s.names = map[string]*facts{}, map[string]*facts{}
	}
	for name, key := range named {
		if f := found[key]; f != nil && mayRead[key] && len(f.columns) > 0 {
			s.names[name], s.facts[key] = f, f
		}
	}
	return nil
}

// there returns the tables and views that the names may stand for, by their keys.
func (s *session) there(ctx context.Context, names []string) (map[string]catalog.Table, error) {
	wanted := map[string][]string{}
	for _, name := range names {
		for _, reading := range catalog.Readings(name) {
			if database := cmp.Or(reading.Database, s.Database); database != "" {
				wanted[database] = append(wanted[database], reading.Name)
			}
		}
	}
	there := map[string]catalog.Table{}
	for database, names := range wanted {
		found := s.listed[database]
		if found == nil {
			var err error
			if found, err = s.askAbout(ctx, 3, "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE"+
				" FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME", database, names); err != nil {
				return nil, err
			}
		}
		for _, row := range found {
			there[s.key(row[0], row[1])] = catalog.Table{
				Database: row[0], Name: row[1], Base: slices.Contains(catalog.BaseTypes, row[2]),
			}
		}
	}
	return there, nil
}

// joinedAtOnce bounds the tables in a join, of which servers allow 61. A view may stand for several.
const joinedAtOnce = 20

// lookAtAll returns the tables of which the user may read all columns. The server hides other columns, and an export
// must not leave them out in silence. It selects no rows; after that, nobody can alter the tables. A join of several
// costs less than a statement for each. If the server refuses the join, its tables are looked at alone. Base tables are
// sent to those who ask for what makes them.
func (s *session) lookAtAll(
	ctx context.Context, tables []catalog.Table, seen chan<- catalog.Table,
) (readable []catalog.Table, err error) {
	for some := range slices.Chunk(tables, joinedAtOnce) {
		from := make([]string, len(some))
		for i, t := range some {
			from[i] = fmt.Sprintf("%s AS t%d", t.SQL(), i)
		}
		_, err := s.Query(ctx, wire.AnyColumns, "SELECT * FROM "+strings.Join(from, ", ")+" LIMIT 0")
		if err == nil {
			readable = append(readable, some...)
			for _, t := range some {
				if t.Base {
					seen <- t
				}
			}
			continue
		}
		if err = wire.IgnoreRefusal(err); err == nil && len(some) > 1 {
			for _, t := range some {
				alone, err := s.lookAtAll(ctx, []catalog.Table{t}, seen)
				if err != nil {
					return nil, err
				}
				readable = append(readable, alone...)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return readable, nil
}

// askAbout asks about tables of a database, whose name the first column has. A condition on their names keeps the
// server from opening others.
func (s *session) askAbout(
	ctx context.Context, columns int, sql, database string, names []string,
) (all [][]string, err error) {
	for some := range slices.Chunk(names, atOnce) {
		found, err := s.Query(ctx, columns, sql+" IN (?"+strings.Repeat(", ?", len(some)-1)+")",
			append([]string{database}, some...)...)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			if s.key(row[0], "") == s.key(database, "") { // the server ignores letter case here
				all = append(all, row)
			}
		}
	}
	return all, nil
}

// question is one about tables of a database.
type question struct {
	ask   func(*session) ([][]string, error)
	learn func(rows [][]string)
}

// learnAbout asks for facts of tables of a database, each question over another connection if there are several, since
// the server opens all tables for each. What another one does not answer, this one is asked.
func (s *session) learnAbout(
	ctx context.Context, database string, names []string, found map[string]*facts, beside []*session,
) error {
	all := append([]*session{s}, beside...)
	questions := s.questions(ctx, database, names, found)
	answers, errs := make([][][]string, len(questions)), make([]error, len(questions))
	var asking sync.WaitGroup
	for at, one := range all {
		asking.Go(func() {
			for i := at; i < len(questions); i += len(all) {
				answers[i], errs[i] = questions[i].ask(one)
			}
		})
	}
	asking.Wait()
	for i, question := range questions {
		if errs[i] != nil && i%len(all) != 0 {
			answers[i], errs[i] = question.ask(s)
		}
		if errs[i] != nil {
			return errs[i]
		}
		question.learn(answers[i])
	}
	return nil
}

// questions returns what learnAbout asks. An answer needs those before it.
func (s *session) questions(
	ctx context.Context, database string, names []string, found map[string]*facts,
) (all []question) {
	add := func(learn func([][]string), columns int, sql string) {
		all = append(all, question{func(one *session) ([][]string, error) {
			return one.askAbout(ctx, columns, sql, database, names)
		}, learn})
	}
	add(func(rows [][]string) { s.learnTables(rows, found) }, 8, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE,
		IFNULL(ENGINE IN (`+catalog.SnapshotEngines+`), TRUE), IFNULL(TABLE_ROWS, 0),
		IFNULL(DATA_LENGTH, 0), IFNULL(TABLE_COLLATION, ''), IFNULL(TABLE_COMMENT, '')
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME`)
	checks := map[string]map[string]bool{} // by the keys of tables
	if s.IsMariaDB {
		add(func(rows [][]string) {
			for _, row := range rows {
				key := s.key(row[0], row[1])
				if checks[key] == nil {
					checks[key] = map[string]bool{}
				}
				checks[key][row[2]] = true
			}
		}, 3, `SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CHECK_CLAUSE
			FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME`)
	}
	add(func(rows [][]string) { s.learnColumns(rows, checks, found) }, 13,
		"SELECT TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION, "+ofColumn+
			" FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME")
	return append(all, question{func(one *session) ([][]string, error) {
		return one.Query(ctx, 3, `SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME
			FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = ? ORDER BY TRIGGER_NAME`, database)
	}, func(rows [][]string) {
		for _, row := range rows {
			if f := found[s.key(row[0], row[1])]; f != nil {
				f.make.triggers = append(f.make.triggers, row[2])
			}
		}
	}})
}

// learnTables finds which of the names are base tables.
func (s *session) learnTables(rows [][]string, found map[string]*facts) {
	for _, row := range rows {
		if !slices.Contains(catalog.BaseTypes, row[2]) {
			continue
		}
		found[s.key(row[0], row[1])] = &facts{
			Table: catalog.Table{
				Database: row[0], Name: row[1], Base: true, Versioned: row[2] == "SYSTEM VERSIONED",
			},
			outside: row[3] != "1", rows: count(row[4]), bytes: count(row[5]),
			make: &making{collation: row[6], comment: row[7]},
		}
	}
}

// learnColumns adds the columns of the tables that were found.
func (s *session) learnColumns(rows [][]string, checks map[string]map[string]bool, found map[string]*facts) {
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(count(a[2]), count(b[2])) })
	for _, row := range rows {
		key := s.key(row[0], row[1])
		if f := found[key]; f != nil {
			row = row[3:]
			isJSON := checks[key][catalog.JSONCheck(row[0])]
			one := sqlsource.Column{
				Column:    catalog.Described(row[0], row[1], isJSON),
				JSON:      isJSON,
				Generated: row[6] != "",
				Charset:   row[8],
			}
			one.NotNull = f.Base && row[2] == "NO"
			f.columns = append(f.columns, one)
			f.make.columns = append(f.make.columns, row)
		}
	}
}

// shown are statements that make tables, for which several connections ask at the same time.
type shown struct {
	tables chan catalog.Table
	asking sync.WaitGroup

	mu     sync.Mutex
	create map[string]string // by the keys of tables
}

// showBeside has other connections ask for what makes the tables that this one has looked at, while it looks at others.
// What one of them does not get, such as since others wait to change the table, is left to learnCreate.
func (s *session) showBeside(ctx context.Context, beside []*session) *shown {
	c := &shown{tables: make(chan catalog.Table, atOnce), create: map[string]string{}}
	for _, one := range beside {
		one.sqlMode = s.sqlMode
		c.asking.Go(func() {
			if err := one.showAll(ctx, c); wire.IgnoreRefusal(err) != nil {
				one.Close() // it may be in another mode
			}
		})
	}
	return c
}

// showAll asks for what makes the tables, to the last or the first error.
func (s *session) showAll(ctx context.Context, c *shown) error {
	return s.inPlainMode(ctx, func() error {
		for t := range c.tables {
			create, err := s.showCreate(ctx, t)
			if err != nil {
				return err
			}
			c.mu.Lock()
			c.create[s.key(t.Database, t.Name)] = create
			c.mu.Unlock()
		}
		return nil
	})
}

// learnCreate adds the statements that make the tables, and asks for those that are not known. If the server refuses
// one, the table has no making.
func (s *session) learnCreate(ctx context.Context, found map[string]*facts, known map[string]string) error {
	return s.inPlainMode(ctx, func() error {
		for key, f := range found {
			if f.make.create = known[key]; f.make.create != "" {
				continue
			}
			var err error
			f.make.create, err = s.showCreate(ctx, f.Table)
			if err = wire.IgnoreRefusal(err); err != nil {
				return err
			}
			if f.make.create == "" {
				f.make = nil
			}
		}
		return nil
	})
}
