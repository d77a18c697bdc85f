package read_test

import (
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// schemaOf returns the schema of a database as a user reads it.
func schemaOf(t *testing.T, url string, config source.SchemaConfig) *source.Schema {
	t.Helper()
	s, err := open(t, url).Schema(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchemaLacks reads the schema as a user who may not see all of it.
func TestSchemaLacks(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	for _, sql := range []string{
		"CREATE TABLE x (id int)", "CREATE VIEW v AS SELECT * FROM x", "CREATE FUNCTION f() RETURNS int RETURN 1",
		"CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW SET @x = 1",
		"CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SET @x = 1",
		"CREATE TABLE parts (id int) ENGINE=MyISAM", "CREATE TABLE merged (id int) ENGINE=MERGE UNION=(parts)",
		"CREATE SEQUENCE s", "CREATE TABLE n (a int DEFAULT (NEXTVAL(s) + 1))",
		"CREATE USER 'reader of " + database.Name + "'@localhost",
		"GRANT SELECT, EXECUTE ON " + database.Name + ".* TO 'reader of " + database.Name + "'@localhost",
	} {
		database.Exec(t, sql)
	}
	t.Cleanup(func() { database.Exec(t, "DROP USER 'reader of "+database.Name+"'@localhost") })
	always := []string{
		`the MERGE table "merged", whose rows are those of other tables`,
		"the default (nextval(`" + database.Name + "`.`s`) + 1) of column \"a\" of table \"n\"",
	}
	if s := schemaOf(t, database.URL(), source.SchemaConfig{}); !slices.Equal(s.Lacks, always) {
		t.Errorf("the schema lacks %q", s.Lacks)
	}
	reader := strings.Replace(database.URL(), "root@", url.PathEscape("reader of "+database.Name)+"@", 1)
	s := schemaOf(t, reader, source.SchemaConfig{})
	want := slices.Concat(always, []string{
		`the function "f", whose text this user may not see`,
		`the view "v", which this user may not see`, "triggers, if there are any: this user may not see them",
		"events, if there are any: this user may not see them",
	})
	if !slices.Equal(s.Lacks, want) {
		t.Errorf("the schema lacks %q,\nwant %q", s.Lacks, want)
	}
	drawn := source.ColumnName{Table: source.TableName{Schema: database.Name, Name: "n"}, Column: "a"}
	if statements := []source.Statement{
		{SQL: "CREATE SEQUENCE `s` start with 1 minvalue 1 maxvalue 9223372036854775806 increment by 1 " +
			"cache 1000 nocycle ENGINE=InnoDB"},
		{
			After: true, SQL: "DO SETVAL(`s`, 1, 0, 0)",
			Tells: &source.Numbering{Sequence: `"s"`, Columns: []source.ColumnName{drawn}},
		},
	}; !reflect.DeepEqual(s.Statements, statements) {
		t.Errorf("the schema has %+v", s.Statements)
	}
	database.Exec(t, "GRANT TRIGGER, EVENT, SHOW VIEW ON "+database.Name+".* TO 'reader of "+database.Name+
		"'@localhost")
	if s := schemaOf(t, reader, source.SchemaConfig{}); !slices.Equal(s.Lacks, want[:3]) {
		t.Errorf("with more rights, the schema lacks %q", s.Lacks)
	}
}

// TestSchemaRole has a user who may see triggers by a role.
func TestSchemaRole(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	user, role := "'reader of "+database.Name+"'@localhost", "'role of "+database.Name+"'"
	for _, sql := range []string{
		"CREATE TABLE x (id int)", "CREATE USER " + user, "CREATE ROLE " + role,
		"GRANT SELECT, EXECUTE, EVENT ON " + database.Name + ".* TO " + user,
		"GRANT TRIGGER ON " + database.Name + ".* TO " + role,
		"GRANT " + role + " TO " + user, "SET DEFAULT ROLE " + role + " FOR " + user,
	} {
		database.Exec(t, sql)
	}
	t.Cleanup(func() { database.Exec(t, "DROP USER "+user+"; DROP ROLE "+role) })
	reader := strings.Replace(database.URL(), "root@", url.PathEscape("reader of "+database.Name)+"@", 1)
	if s := schemaOf(t, reader, source.SchemaConfig{}); len(s.Lacks) > 0 {
		t.Errorf("the schema lacks %q", s.Lacks)
	}
}

// TestSchemaGrants has DEFINER only if that is asked for.
func TestSchemaGrants(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE DEFINER='no one'@'%' VIEW v AS SELECT 'DEFINER=`a`@`b` ' AS d")
	database.Exec(t, "CREATE SEQUENCE s; CREATE DEFINER='no one'@'%' VIEW drawing AS SELECT NEXTVAL(s) AS n")
	for grants, definer := range map[bool]string{true: "DEFINER=`no one`@`%` ", false: ""} {
		s := schemaOf(t, database.URL(), source.SchemaConfig{Grants: grants})
		begin := "CREATE ALGORITHM=UNDEFINED " + definer + "SQL SECURITY DEFINER "
		for _, sql := range []string{
			begin + "VIEW `v` AS select 'DEFINER=`a`@`b` ' AS `d`",
			begin + "VIEW `drawing` AS select nextval(`s`) AS `n`",
		} {
			isIt := func(one source.Statement) bool { return one.After && one.SQL == sql }
			if !slices.ContainsFunc(s.Statements, isIt) {
				t.Errorf("the schema has %+v, and not %s", s.Statements, sql)
			}
		}
		if slices.Contains(s.Lacks, "the rights of users") != grants {
			t.Errorf("the schema lacks %q", s.Lacks)
		}
	}
}

func TestSchemaOfNoDatabase(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	src := open(t, strings.Replace(database.URL(), "/"+database.Name, "/", 1))
	_, err := src.Schema(t.Context(), source.SchemaConfig{})
	if without, is := errors.AsType[*source.NoSchemaError](err); !is || without.Hint == "" {
		t.Errorf("got %v", err)
	}
}

// TestSchemaWithout leaves out tables, with the views that read them and their triggers.
func TestSchemaWithout(t *testing.T) {
	testkit.NeedsMariaDB(t, "views that are printed so")
	database := testkit.MariaDB(t).NewDatabase(t)
	for _, sql := range []string{
		"CREATE TABLE log (id int, what int)", "CREATE TABLE orders (id int, log int)",
		"CREATE VIEW logged AS SELECT what FROM log", "CREATE VIEW a AS SELECT * FROM logged",
		"CREATE VIEW kept AS SELECT log FROM orders",
		"CREATE TRIGGER t BEFORE INSERT ON log FOR EACH ROW SET @x = 1",
		"CREATE TRIGGER u BEFORE INSERT ON orders FOR EACH ROW SET @x = 1",
	} {
		database.Exec(t, sql)
	}
	config := source.SchemaConfig{Without: []source.TableName{{Schema: database.Name, Name: "log"}}}
	s := schemaOf(t, database.URL(), config)
	want := []string{
		`the view "logged", which needs a table that is left out`, `the view "a", which needs a table that is left out`,
		`the trigger "t" of the table "log", which is left out`,
	}
	slices.Sort(s.Lacks)
	slices.Sort(want)
	made := ""
	for _, one := range s.Statements {
		made += one.SQL + "\n"
	}
	if !slices.Equal(s.Lacks, want) || strings.Contains(made, "logged") || !strings.Contains(made, "`kept`") ||
		!strings.Contains(made, "TRIGGER u") {
		t.Errorf("the schema lacks %q and has\n%s", s.Lacks, made)
	}
}
