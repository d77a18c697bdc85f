package read

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

// Schema returns what the opened database has beside its tables: sequences with their positions, defaults that draw
// from them, functions, procedures, packages, views, triggers and events. Definitions are not part of the snapshot.
//
// The names of the opened database are left out of sequences, views, and the names of triggers and their tables, so
// that the statements can be run in a database with another name. The text of a function, a procedure, a trigger or an
// event is as it was written.
//
// What the user may not see is in Lacks, as far as the server says that it is there. So is a load that has not ended.
func (db *DB) Schema(ctx context.Context, config source.SchemaConfig) (*source.Schema, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	if s.Database == "" {
		return nil, &source.NoSchemaError{
			Reason: "no database is opened", Hint: "name it in the address, as in mysql://user@host/shop",
		}
	}
	listed, err := db.list(ctx, s.Database)
	if err != nil {
		return nil, err
	}
	r := &schemaReading{session: s, ctx: ctx, definers: config.Grants, schema: &source.Schema{Dialect: source.MySQL}}
	if s.IsMariaDB {
		r.schema.Dialect = source.MariaDB
	}
	if err := s.inPlainMode(ctx, func() error { return r.read(listed, config.Without) }); err != nil {
		return nil, s.Explain(ctx, "reading the schema", err)
	}
	if config.ForTables && s.IsMariaDB {
		if err := db.addForTables(ctx, r.schema, listed); err != nil {
			return nil, err
		}
	}
	return r.schema, nil
}

// schemaReading is a schema that is being read.
type schemaReading struct {
	*session
	ctx      context.Context
	schema   *source.Schema
	definers bool
	size     int
	settings string          // the SET before the last statement
	without  map[string]bool // tables and views that are left out
}

func (r *schemaReading) read(listed [][]string, without []source.TableName) error {
	var tables, sequences, views []string
	for _, row := range listed {
		switch {
		case row[2] == "SEQUENCE":
			sequences = append(sequences, row[1])
		case row[2] == "VIEW":
			views = append(views, row[1])
		case isMerge(row):
			r.lack("the MERGE table %q, whose rows are those of other tables", row[1])
		case row[1] == catalog.Restoring:
			r.lack("a load that has not ended (the table %s)", row[1])
		case isOfLoad(row):
		default:
			tables = append(tables, row[1])
		}
	}
	tables, views, err := r.leaveOut(without, tables, views)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return r.addSequences(sequences) },
		func() error { return r.addDefaults(tables) },
		r.addRoutines,
		func() error { return r.addViews(views) },
		r.addTriggers,
		r.addEvents,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if r.definers {
		r.lack("the rights of users")
	}
	return nil
}

func (r *schemaReading) lack(format string, args ...any) {
	r.schema.Lacks = append(r.schema.Lacks, fmt.Sprintf(format, args...))
}

func (r *schemaReading) add(s source.Statement) error {
	if r.size += len(s.SQL); r.size > source.MaxSchema {
		return source.ErrSchemaTooLarge
	}
	r.schema.Statements = append(r.schema.Statements, s)
	return nil
}

// unseen are the errors of what the user may not see, or what is not there any more: ER_DBACCESS_DENIED_ERROR,
// ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_NO_SUCH_TABLE, ER_SPECIFIC_ACCESS_DENIED_ERROR,
// ER_SP_DOES_NOT_EXIST, ER_VIEW_NO_EXPLAIN, ER_WRONG_OBJECT, ER_VIEW_INVALID, ER_TRG_DOES_NOT_EXIST,
// ER_PROCACCESS_DENIED_ERROR and ER_EVENT_DOES_NOT_EXIST.
var unseen = []int{1044, 1142, 1143, 1146, 1227, 1305, 1345, 1347, 1356, 1360, 1370, 1539}

// show returns the only row of a statement about an object. If the user may not see it, it is nil, and the schema lacks
// the object.
func (r *schemaReading) show(object string, columns int, sql string) ([]string, error) {
	found, err := r.Query(r.ctx, columns, sql)
	if slices.Contains(unseen, wire.ErrorNumber(err)) {
		r.lack("%s, which this user may not see", object)
		return nil, nil
	}
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// addSequences adds the sequences of MariaDB and their positions.
func (r *schemaReading) addSequences(names []string) error {
	if len(names) == 0 {
		return nil
	}
	drawn, err := r.draws(nil)
	if err != nil {
		return err
	}
	for _, name := range names {
		t := catalog.Table{Database: r.Database, Name: name}
		made, position, err := r.sequence(t)
		if err != nil {
			return err
		}
		if made == "" {
			continue
		}
		after := source.Statement{After: true, SQL: position, Tells: r.tells(t, drawn)}
		for _, statement := range []source.Statement{{SQL: made}, after} {
			if err := r.add(statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// sequence returns the statements that make a sequence and set its position, or nothing if the user may not see it.
// Numbers that the server has in its cache are lost, as when it restarts.
func (r *schemaReading) sequence(t catalog.Table) (made, position string, err error) {
	object := fmt.Sprintf("the sequence %q", t.Name)
	shown, err := r.show(object, 2, "SHOW CREATE SEQUENCE "+t.SQL())
	if err != nil || shown == nil {
		return "", "", err
	}
	at, err := r.show(object, 2, "SELECT next_not_cached_value, cycle_count FROM "+t.SQL())
	if err != nil || at == nil {
		return "", "", err
	}
	return shown[1], fmt.Sprintf("DO SETVAL(%s, %s, 0, %s)", catalog.Quote(t.Name), at[0], at[1]), nil
}

// addDefaults adds the defaults that draw from sequences of the database. Tables are made without them, since the
// server prints them with the name of the database.
func (r *schemaReading) addDefaults(tables []string) error {
	if !r.IsMariaDB {
		return nil
	}
	found, err := r.defaultsOf(r.ctx, r.Database)
	for _, row := range found {
		draws := withoutDatabase(row[2], r.Database, r.FoldCase)
		switch {
		case !slices.Contains(tables, row[0]) || !drawn.MatchString(row[2]):
			continue
		case !nextOfSequence.MatchString(draws):
			r.lack("the default %s of column %q of table %q", row[2], row[1], row[0])
			continue
		}
		sql := "ALTER TABLE " + catalog.Quote(row[0]) + " ALTER COLUMN " + catalog.Quote(row[1]) +
			" SET DEFAULT " + draws
		if err := r.add(source.Statement{After: true, SQL: sql}); err != nil {
			return err
		}
	}
	return err
}

var (
	drawn          = lazyregexp.New("^[^']*\\b(?:next|last|set)val\\(`")
	nextOfSequence = lazyregexp.New("^\\(?nextval\\((`(?:[^`]|``)+`)\\)\\)?$")
)

// settings are what a statement was made with, and means something else without: how its text is read, the character
// set of its texts, that of its parameters without one, and the time zone of its times.
type settings struct{ sqlMode, client, connection, database, zone string }

// sql returns the statement that makes these settings. The server gives a text in UTF-8, so it can be read in the
// character set of the one who wrote it only if that has the same bytes.
func (s settings) sql(statement string) string {
	if !strings.HasPrefix(s.client, "utf8") && !isASCII(statement) {
		s.client = "utf8mb4"
	}
	sql := "SET SESSION sql_mode = '" + s.sqlMode + "', character_set_client = " + s.client +
		", collation_connection = " + s.connection
	if s.database != "" {
		sql += ", collation_database = " + s.database
	}
	if s.zone != "" {
		sql += ", time_zone = '" + s.zone + "'"
	}
	return sql
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r > '\x7f' }) < 0
}

// addWith adds a statement that is run with settings. It cannot be kept if it is not UTF-8.
func (r *schemaReading) addWith(object string, s settings, sql string) error {
	switch {
	case sql == "":
		r.lack("%s, whose text this user may not see", object)
		return nil
	case !utf8.ValidString(sql):
		r.lack("%s, whose text is not UTF-8", object)
		return nil
	}
	if !r.definers {
		sql = withoutDefiner(sql)
	}
	if set := s.sql(sql); set != r.settings {
		r.settings = set
		if err := r.add(source.Statement{After: true, SQL: set}); err != nil {
			return err
		}
	}
	return r.add(source.Statement{After: true, SQL: sql})
}

// addRoutines adds functions and procedures, and the packages of MariaDB before their bodies.
func (r *schemaReading) addRoutines() error {
	found, err := r.Query(r.ctx, 2, `SELECT ROUTINE_TYPE, ROUTINE_NAME FROM information_schema.ROUTINES
		WHERE ROUTINE_SCHEMA = ? ORDER BY ROUTINE_TYPE, ROUTINE_NAME`, r.Database)
	if err != nil {
		return err
	}
	for _, row := range found {
		object := fmt.Sprintf("the %s %q", strings.ToLower(row[0]), row[1])
		name := catalog.Table{Database: r.Database, Name: row[1]}.SQL()
		made, err := r.show(object, 6, "SHOW CREATE "+row[0]+" "+name)
		if err != nil {
			return err
		}
		if made == nil {
			continue
		}
		with := settings{sqlMode: made[1], client: made[3], connection: made[4], database: made[5]}
		if err := r.addWith(object, with, made[2]); err != nil {
			return err
		}
	}
	return nil
}

// addViews adds the views, each after those that it may read.
func (r *schemaReading) addViews(names []string) error {
	made := map[string][]string{}
	for _, name := range names {
		found, err := r.showView(name)
		if err != nil {
			return err
		}
		if found != nil {
			found[1] = withoutDatabase(found[1], r.Database, r.FoldCase)
			made[name] = found
		}
	}
	for _, name := range inOrder(made) {
		with := settings{client: made[name][2], connection: made[name][3]}
		if err := r.addWith(fmt.Sprintf("the view %q", name), with, made[name][1]); err != nil {
			return err
		}
	}
	return nil
}

// writes is ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.
const writes = 1792

// showView returns the row of SHOW CREATE VIEW, or nil. If a view draws from a sequence, MariaDB refuses that in the
// transaction, and has most of it in another place.
func (r *schemaReading) showView(name string) ([]string, error) {
	object, sql := fmt.Sprintf("the view %q", name), catalog.Table{Database: r.Database, Name: name}.SQL()
	found, err := r.show(object, 4, "SHOW CREATE VIEW "+sql)
	if wire.ErrorNumber(err) != writes {
		return found, err
	}
	all, err := r.Query(r.ctx, 6, `SELECT ALGORITHM, DEFINER, SECURITY_TYPE, VIEW_DEFINITION, CHARACTER_SET_CLIENT,
		COLLATION_CONNECTION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, r.Database, name)
	if err == nil && len(all) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return nil, err
	}
	view := all[0]
	at := strings.LastIndexByte(view[1], '@')
	if view[3] == "" || at < 0 {
		r.lack("%s, whose text this user may not see", object)
		return nil, nil
	}
	return []string{
		name,
		"CREATE ALGORITHM=" + view[0] + " DEFINER=" + catalog.Quote(view[1][:at]) + "@" +
			catalog.Quote(view[1][at+1:]) + " SQL SECURITY " + view[2] +
			" VIEW " + catalog.Quote(name) + " AS " + view[3],
		view[4],
		view[5],
	}, nil
}

// addTriggers adds the triggers, those of a table and an event in the order in which they fire.
func (r *schemaReading) addTriggers() error {
	found, err := r.Query(r.ctx, 2, `SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS
		WHERE TRIGGER_SCHEMA = ?
		ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER`, r.Database)
	if err != nil {
		return err
	}
	for _, row := range found {
		if r.without[row[1]] {
			r.lack("the trigger %q of the table %q, which is left out", row[0], row[1])
			continue
		}
		object := fmt.Sprintf("the trigger %q", row[0])
		made, err := r.show(object, 7,
			"SHOW CREATE TRIGGER "+catalog.Table{Database: r.Database, Name: row[0]}.SQL())
		if err != nil {
			return err
		}
		if made == nil {
			continue
		}
		with := settings{sqlMode: made[1], client: made[3], connection: made[4], database: made[5]}
		sql := made[2]
		if sql != "" {
			sql = triggerHere(sql, r.Database, r.FoldCase)
		}
		if err := r.addWith(object, with, sql); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return nil
	}
	return r.checkTriggerRight()
}

// grantsRole matches what SHOW GRANTS of MySQL prints of roles.
var grantsRole = lazyregexp.New("^GRANT `(?:[^`]|``)*`@`")

// checkTriggerRight names the triggers if the user has no right to see any. The server does not say that there are
// some. MySQL does not show the rights of roles either, so nothing is known if it has any.
func (r *schemaReading) checkTriggerRight() error {
	found, err := r.Query(r.ctx, 1, "SHOW GRANTS")
	if err != nil {
		return wire.IgnoreRefusal(err)
	}
	if !r.IsMariaDB && slices.ContainsFunc(found, func(row []string) bool { return grantsRole.MatchString(row[0]) }) {
		return nil
	}
	database := strings.NewReplacer(`\_`, "_", `\%`, "%")
	for _, row := range found {
		rights, on, _ := strings.Cut(row[0], " ON ")
		on = database.Replace(on)
		if strings.Contains(rights, "ALL PRIVILEGES") || strings.Contains(rights, "TRIGGER") {
			if strings.HasPrefix(on, "*.* ") || strings.HasPrefix(on, catalog.Quote(r.Database)+".") {
				return nil
			}
		}
	}
	r.lack("triggers, if there are any: this user may not see them")
	return nil
}

// addEvents adds the events, as enabled or disabled as they are.
func (r *schemaReading) addEvents() error {
	if _, err := r.Query(r.ctx, wire.AnyColumns, "SHOW EVENTS LIKE ''"); err != nil {
		if slices.Contains(unseen, wire.ErrorNumber(err)) {
			r.lack("events, if there are any: this user may not see them")
			return nil
		}
		return err
	}
	found, err := r.Query(r.ctx, 1, `SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ?
		ORDER BY EVENT_NAME`, r.Database)
	if err != nil {
		return err
	}
	for _, row := range found {
		object := fmt.Sprintf("the event %q", row[0])
		made, err := r.show(object, 7,
			"SHOW CREATE EVENT "+catalog.Table{Database: r.Database, Name: row[0]}.SQL())
		if err != nil {
			return err
		}
		if made == nil {
			continue
		}
		with := settings{
			sqlMode: made[1], zone: made[2], client: made[4], connection: made[5], database: made[6],
		}
		if err := r.addWith(object, with, made[3]); err != nil {
			return err
		}
	}
	return nil
}
