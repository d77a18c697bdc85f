package read

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/source"
)

var _ source.PartialSnapshotter = (*DB)(nil)

// OutsideSnapshot returns the tables of storage engines without snapshots, such as MyISAM, those of the system, and the
// views that read such tables, also by other views and by functions. Nothing is known of views and functions whose
// definition the user may not see.
func (db *DB) OutsideSnapshot(ctx context.Context, names []string) ([]string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	r := s.newReading(ctx)
	var outside []string
	for _, name := range names {
		if f := s.names[name]; f != nil {
			if f.outside {
				outside = append(outside, name)
			}
			continue
		}
		t, err := s.findTable(ctx, name)
		if _, unknown := errors.AsType[*source.UnknownError](err); unknown {
			continue
		}
		if err != nil {
			return nil, err
		}
		clear(r.seen) // but not the names, which are the same for all tables
		reads, err := r.table(t.Database, t.Name)
		if err != nil {
			return nil, s.Explain(ctx, "asking for the storage engine", err)
		}
		if reads {
			outside = append(outside, name)
		}
	}
	return outside, nil
}

// QueryOutsideSnapshot reports whether a query has the name of such a table, view or function, and may read it.
func (db *DB) QueryOutsideSnapshot(ctx context.Context, sql string) (bool, error) {
	if err := db.begin(ctx); err != nil {
		return false, err
	}
	s := db.session
	reads, err := s.newReading(ctx).text(sql, s.Database)
	return reads, s.Explain(ctx, "asking for the storage engines", err)
}

// reading finds out whether a statement reads a table outside the snapshot, by all names that it has: of tables, and of
// views and functions, whose statements are looked at too. A text that only looks like a name counts, since the plan of
// the server leaves out tables that it has read while it made the plan.
type reading struct {
	*session
	ctx   context.Context
	seen  map[[3]string]bool
	names map[string]map[string]bool // of the tables of each database that was asked for, in lower case
}

func (s *session) newReading(ctx context.Context) *reading {
	return &reading{session: s, ctx: ctx, seen: map[[3]string]bool{}, names: map[string]map[string]bool{}}
}

// isTable reports whether a database has a table of that name, whatever its letter case. A statement can have many
// words that are none.
func (r *reading) isTable(database, name string) (bool, error) {
	known, asked := r.names[database]
	if !asked {
		known = map[string]bool{}
		found, err := r.Query(r.ctx, 1, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?",
			database)
		if err != nil {
			return false, err
		}
		for _, row := range found {
			known[strings.ToLower(row[0])] = true
		}
		r.names[database] = known
	}
	return known[strings.ToLower(name)], nil
}

// isNew reports whether it is the first time that a name is looked for.
func (r *reading) isNew(what, database, name string) bool {
	key := [3]string{what, strings.ToLower(database), strings.ToLower(name)}
	defer func() { r.seen[key] = true }()
	return database != "" && !r.seen[key]
}

// table reports whether a table, if there is one of that name, is outside the snapshot.
func (r *reading) table(database, name string) (bool, error) {
	if !r.isNew("table", database, name) {
		return false, nil
	}
	if is, err := r.isTable(database, name); !is || err != nil {
		return false, err
	}
	found, err := r.Query(r.ctx, 2, `SELECT TABLE_TYPE, IFNULL(ENGINE IN (`+catalog.SnapshotEngines+`), TRUE)
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, database, name)
	if err != nil {
		return false, err
	}
	isView := false
	for _, row := range found { // of which there are several if letter case counts
		isView = isView || row[0] == "VIEW"
		if row[0] != "VIEW" && row[0] != "SEQUENCE" && row[1] != "1" {
			return true, nil
		}
	}
	if !isView {
		return false, nil
	}
	views, err := r.Query(r.ctx, 1, `SELECT VIEW_DEFINITION FROM information_schema.VIEWS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, database, name)
	if err != nil {
		return false, err
	}
	return r.texts(views, database)
}

// routine reports whether a function or procedure, if there is one of that name, reads tables outside the snapshot.
func (r *reading) routine(database, name string) (bool, error) {
	if !r.isNew("routine", database, name) {
		return false, nil
	}
	found, err := r.Query(r.ctx, 1, `SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES
		WHERE ROUTINE_SCHEMA = ? AND ROUTINE_NAME = ?`, database, name)
	if err != nil {
		return false, err
	}
	return r.texts(found, database)
}

// texts is text for each of the statements.
func (r *reading) texts(rows [][]string, database string) (bool, error) {
	for _, row := range rows {
		if reads, err := r.text(row[0], database); reads || err != nil {
			return reads, err
		}
	}
	return false, nil
}

const identifier = "(`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\\pL\\pN_$]+)"

var (
	inStatement = lazyregexp.New(`(?:` + identifier + `\s*\.\s*)?` + identifier + `\s*(\()?`)
	quotes      = strings.NewReplacer("`", " ", `"`, " ", "'", " ")
)

// text reports whether a statement has the name of a table outside the snapshot. Names without a database are those of
// the given one. The statement is also read without its quotes, one of which may be part of a comment or a text.
func (r *reading) text(sql, database string) (bool, error) {
	matches := slices.Concat(
		inStatement.FindAllStringSubmatch(sql, -1), inStatement.FindAllStringSubmatch(quotes.Replace(sql), -1))
	for _, found := range matches {
		of, name := unquoted(found[1]), unquoted(found[2])
		if _, err := strconv.Atoi(found[1]); err == nil {
			continue // a number with a fraction
		}
		if of == "" {
			of = database
		}
		reads, err := r.table(of, name)
		if !reads && err == nil && found[3] != "" {
			reads, err = r.routine(of, name)
		}
		if reads || err != nil {
			return reads, err
		}
	}
	return false, nil
}

// unquoted returns the name that an identifier stands for.
func unquoted(identifier string) string {
	if identifier == "" || identifier[0] != '`' && identifier[0] != '"' {
		return identifier
	}
	quote := identifier[:1]
	return strings.ReplaceAll(identifier[1:len(identifier)-1], quote+quote, quote)
}
