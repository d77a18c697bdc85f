package fill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	"culvert/sink"
	"culvert/source"
)

// TestRefusedValues loads values that the server would change, as with INSERT IGNORE, and checks what the error says
// and that nothing remains.
func TestRefusedValues(t *testing.T) {
	changed := func(row int64, value string) sink.RowError {
		return sink.RowError{Row: row, Column: "b", Value: value, Code: "1366"}
	}
	tests := []struct {
		columns string
		rows    []string
		want    sink.RowError
	}{
		{"a int, b tinyint", []string{"1 1", "2 300"}, sink.RowError{Row: 2, Column: "b", Value: "300", Code: "1264"}},
		{"a int, b varchar(3)", []string{"1 abcd"}, sink.RowError{Row: 1, Column: "b", Value: "abcd"}},
		{"a int, b decimal(9,1)", []string{"1 1.5", "2 1.25"}, sink.RowError{Row: 2, Column: "b", Value: "1.25"}},
		{"a int, b date", []string{"1 2026-02-31"}, sink.RowError{Row: 1, Column: "b", Value: "2026-02-31"}},
		{"a int, b datetime(1)", []string{"1 2026-02-01T10:00:00.25"}, sink.RowError{
			Row: 1, Column: "b", Value: "2026-02-01T10:00:00.25", Code: "1366",
		}},
		{"a int, b datetime", []string{"1 infinity"}, sink.RowError{Row: 1, Column: "b", Value: "infinity"}},
		{"a int, b double", []string{"1 NaN"}, sink.RowError{Row: 1, Column: "b", Value: "NaN"}},
		{"a int, b float", []string{"1 4e38"}, sink.RowError{Row: 1, Column: "b", Value: "4e38"}},
		{"a int, b int", []string{"1 x\ty"}, sink.RowError{Row: 1, Column: "b", Value: "x\ty"}},
		{"a int, b int", []string{"1 1.0", "2 1.5"}, sink.RowError{Row: 1, Column: "b", Value: "1.0", Code: "1366"}},
		{"a int, b smallint", []string{"1 1", "2 2.5"}, sink.RowError{Row: 2, Column: "b", Value: "2.5", Code: "1366"}},
		{"a int, b bigint unsigned", []string{"1 15e-1"}, sink.RowError{
			Row: 1, Column: "b", Value: "15e-1", Code: "1366",
		}},
		{"a int, b year", []string{"1 2026.0"}, sink.RowError{Row: 1, Column: "b", Value: "2026.0", Code: "1366"}},
		{"a int, b year", []string{"1 2026", "2 70"}, sink.RowError{Row: 2, Column: "b", Value: "70", Code: "1366"}},
		{"a int, b year", []string{"1 9.99"}, sink.RowError{Row: 1, Column: "b", Value: "9.99", Code: "1366"}},
		{"a int, b year", []string{"1 0070"}, sink.RowError{Row: 1, Column: "b", Value: "0070", Code: "1366"}},
		{"a int, b bit(3)", []string{"1 8"}, sink.RowError{Row: 1, Column: "b", Value: "8"}},
		{"a int, b bit(3)", []string{"1 -1"}, sink.RowError{Row: 1, Column: "b", Value: "-1", Code: "1366"}},
		{"a int, b int", []string{"1 007"}, changed(1, "007")},
		{"a int, b decimal(9,2)", []string{"1 +7"}, changed(1, "+7")},
		{"a int, b float", []string{"1 0.5", "2 0.1234567890123"}, changed(2, "0.1234567890123")},
		{"a int, b double", []string{"1 12345678901234567890"}, changed(1, "12345678901234567890")},
		{"a int, b double(9,2)", []string{"1 1.25", "2 1.239"}, changed(2, "1.239")},
		{"a int, b date", []string{"1 2026-2-3", "2 1709164800"}, changed(2, "1709164800")},
		{"a int, b date", []string{"1 2460369.5"}, changed(1, "2460369.5")},
		{"a int, b date", []string{"1 2026-01-01T10:00"}, changed(1, "2026-01-01T10:00")},
		{"a int, b datetime", []string{"1 20260101"}, changed(1, "20260101")},
		{"a int, b datetime", []string{"1 26-01-02"}, changed(1, "26-01-02")},
		{"a int, b datetime", []string{"1 2026-01-01T10:00+02:00"}, changed(1, "2026-01-01T10:00+02:00")},
		{"a int, b time", []string{"1 838:59:59", "2 101112"}, changed(2, "101112")},
		{"a int, b varchar(3)", []string{"1 ab", "2 ab\t\t"}, changed(2, "ab\t\t")},
		{"a int, b enum('x','y')", []string{"1 x", "2 z"}, sink.RowError{Row: 2, Column: "b", Value: "z"}},
		{"a int, b enum('x','y')", []string{"1 x", "2 1"}, sink.RowError{
			Row: 2, Column: "b", Value: "1", Code: "1366",
		}},
		{"a int, b enum('x','y')", []string{"1 x", "2 Y"}, changed(2, "Y")},
		{"a int, b enum('x','y')", []string{"1 x", "2 y\t"}, changed(2, "y\t")},
		{"a int, b set('x','y')", []string{"1 x,y", "2 y,x"}, changed(2, "y,x")},
		{"a int, b set('x','y')", []string{"1 x", "2 x,x"}, changed(2, "x,x")},
		{"a int, b set('x','y')", []string{"1 y", "2 1"}, changed(2, "1")},
		{"a int, b binary(3)", []string{"1 abc", "2 ab"}, changed(2, "ab")},
		{"a int, b text", []string{"1 x", "2 a\xffb"}, sink.RowError{
			Row: 2, Column: "b", Value: "a\uFFFDb", Code: "1366",
		}},
		{"a int, b text character set latin1", []string{"1 ä", "2 表"}, sink.RowError{Row: 2, Column: "b", Value: "表"}},
		{"a int, b varchar(9) not null", []string{"1 x", "2 -"}, sink.RowError{Row: 2, Column: "b"}},
		{"a int, b timestamp not null default now()", []string{"1 2026-01-01", "2 -"}, sink.RowError{
			Row: 2, Column: "b", Code: "1366",
		}},
		{"a int, b json", []string{"1 {}", "2 {"}, sink.RowError{Row: 2, Column: "b", Value: "{"}},
		{"a json, b json", []string{"1 {}", "2 -", "3 {"}, sink.RowError{Row: 3, Column: "b", Value: "{"}},
		{"a int, b point", []string{"1 xxxx"}, sink.RowError{Code: "1416"}},
		{"a int primary key, b int", []string{"1 1", "2 2", "1 3"}, sink.RowError{
			Row: 3, Constraint: "PRIMARY", Code: "1062",
		}},
		{"a int, b int, constraint small check (b < 3)", []string{"1 1", "2 7"}, sink.RowError{
			Row: 2, Constraint: "small", Code: "4025",
		}},
		{"a int, b int, constraint up foreign key (b) references p (id)", []string{"1 1", "2 7"}, sink.RowError{
			Row: 2, Constraint: "up", Code: "1452",
		}},
		{
			"a int primary key, b int, constraint up foreign key (b) references t (a)",
			[]string{"1 1", "2 7"},
			sink.RowError{Column: "b", Value: "7", Constraint: "up", Code: "1452"},
		},
	}
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		database.Exec(t, "CREATE TABLE p (id int primary key); INSERT INTO p VALUES (1)")
		db := open(t, database)
		for _, test := range tests {
			database.Exec(t, "CREATE OR REPLACE TABLE t ("+test.columns+")")
			for _, redact := range []bool{false, true} {
				err := fillRows(t, db, sink.Filling{Redact: redact}, test.rows...)
				refused, ok := errors.AsType[*sink.RowError](err)
				if !ok {
					t.Errorf("%s %q: %v", test.columns, test.rows, err)
					continue
				}
				checkRefused(t, test.columns, refused, test.want, redact)
				expect(t, database, "SELECT COUNT(*) FROM t", "0")
			}
		}
	})
}

// TestConvert has a column change values.
func TestConvert(t *testing.T) {
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		database.Exec(t, "CREATE TABLE t (a int, b float)")
		filling := sink.Filling{Convert: []string{"A", "b"}}
		if err := fillRows(t, open(t, database), filling, "007 0.1234567890123"); err != nil {
			t.Error(err)
		}
		expect(t, database, "SELECT a, b FROM t", "7 0.123457")
	})
}

// checkRefused compares an error with what is known of it. The codes of some values depend on the way.
func checkRefused(t *testing.T, about string, got *sink.RowError, want sink.RowError, redact bool) {
	t.Helper()
	if testkit.MySQL() != "" { // names other rows, codes and constraints, or none
		want.Row, want.Code, want.Column, want.Constraint = 0, "", "", ""
	}
	if want.Row > 0 && got.Row != want.Row || want.Column != "" && got.Column != want.Column ||
		want.Constraint != "" && got.Constraint != want.Constraint || want.Code != "" && got.Code != want.Code ||
		got.Code == "" || !strings.HasPrefix(got.Table, "`test") {
		t.Errorf("%s: %#v", about, got)
	}
	if redact {
		want.Value = ""
	}
	if got.Value != want.Value && (got.Value != "" || redact) {
		t.Errorf("%s: the value %q", about, got.Value)
	}
	if text := got.Error(); redact && !strings.Contains(text, "error "+got.Code) && got.Code != "1366" {
		t.Errorf("%s: %s", about, text)
	}
}

// TestTrigger has triggers refuse a row, and change one, which the sum shows.
func TestTrigger(t *testing.T) {
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		database.Exec(t, "CREATE TABLE t (a int, b varchar(9))")
		database.Exec(t, `CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW IF new.a = 2 THEN
			SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not two'; ELSE SET new.b = UPPER(new.b); END IF`)
		db := open(t, database)
		err := fillRows(t, db, sink.Filling{}, "1 x", "2 y")
		if refused, ok := errors.AsType[*sink.RowError](err); !ok || !strings.Contains(err.Error(), "not two") {
			t.Errorf("a trigger that raises: %v, %+v", err, refused)
		}
		expect(t, database, "SELECT COUNT(*) FROM t", "0")
		_, loader := begin(t, db, sink.Filling{})
		if err := loader.Load(texts("1 x", "3 y")); err != nil {
			t.Fatal(err)
		}
		rows, sum, err := loader.Sum()
		_, _, other := sumOf("1,x\n", "3,y\n")
		if err != nil || rows != 2 || sum == other {
			t.Errorf("the sum of rows that a trigger has changed: %d rows, %v, %v", rows, sum, err)
		}
	})
}

// TestKinds loads values of other systems.
func TestKinds(t *testing.T) {
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		database.Exec(t, `CREATE TABLE t (a tinyint(1), b varchar(9), c bit(1), d bit(8), e datetime(6),
			f timestamp null, g varbinary(9), h text, i time)`)
		var b source.Batch
		b.Reset(9)
		for _, value := range []string{"t", "f"} {
			b.Append(source.Bool, []byte(value))
			b.Append(source.Bool, []byte(value))
			b.Append(source.Bool, []byte(value))
			b.Append(source.Text, []byte("00000101"))
			b.Append(source.Text, []byte("2026-11-23 10:00:00.25+00"))
			b.Append(source.Text, []byte("2026-11-23T10:00:00.000Z"))
			b.Append(source.Text, []byte(`\x`))
			b.Append(source.Bytes, []byte{0, 255})
			b.Append(source.Text, []byte("10:00:00+00"))
			b.EndRow()
		}
		table, loader := begin(t, open(t, database), sink.Filling{})
		err := loader.Load(&b)
		if err == nil {
			_, err = loader.Close()
		}
		if err = errors.Join(err, table.Commit()); err != nil {
			t.Fatal(err)
		}
		const rest = ` 5 2026-11-23 10:00:00.250000 2026-11-23 10:00:00 5C78 \x00ff 10:00:00`
		expect(t, database, "SELECT a, b, c + 0, d + 0, e, CONVERT_TZ(f, @@time_zone, '+00:00'), HEX(g), h, i FROM t",
			"1 t 1"+rest, "0 f 0"+rest)
	})
}

// TestConflicts loads rows that exist.
func TestConflicts(t *testing.T) {
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		db := open(t, database)
		renew := func() {
			database.Exec(t, `CREATE OR REPLACE TABLE t
				(a int PRIMARY KEY, b varchar(9) UNIQUE, c int NOT NULL DEFAULT 7);
				INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2)`)
		}
		ignore := sink.Filling{Existing: sink.Append, Conflict: sink.Ignore, Columns: []string{"A", "b"}}
		update := ignore
		update.Conflict, update.Key = sink.Update, []string{"A"}
		for _, test := range []struct {
			filling sink.Filling
			rows    []string
			want    []string // nil if it fails
		}{
			{ignore, []string{"1 x", "3 y", "3 z"}, []string{"1 one 1", "2 two 2", "3 y 7"}},
			{ignore, []string{"4 one"}, []string{"1 one 1", "2 two 2"}},
			{ignore, []string{"5 much-too-long"}, nil},
			{ignore, []string{"- x"}, nil},
			{update, []string{"1 x", "3 y", "3 z"}, []string{"1 x 1", "2 two 2", "3 z 7"}},
			{update, []string{"1 -"}, []string{"1  1", "2 two 2"}},
			{update, []string{"4 one"}, nil}, // by the other unique index
			{update, []string{"1 two"}, nil},
		} {
			renew()
			err := fillRows(t, db, test.filling, test.rows...)
			if test.want == nil {
				if _, ok := errors.AsType[*sink.RowError](err); !ok {
					t.Errorf("%+v %q: %v", test.filling, test.rows, err)
				}
				test.want = []string{"1 one 1", "2 two 2"}
			} else if err != nil {
				t.Errorf("%+v %q: %v", test.filling, test.rows, err)
			}
			expect(t, database, "SELECT * FROM t ORDER BY a", test.want...)
		}
	})
}

// TestRefusedTables asks for tables that cannot be filled.
func TestRefusedTables(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, `CREATE TABLE myisam (a int) ENGINE=MyISAM;
		CREATE TABLE t (a int, b int AS (a + 1), c int, UNIQUE (a));
		CREATE VIEW v AS SELECT a FROM t; INSERT INTO myisam VALUES (1)`)
	db := open(t, database)
	for name, test := range map[string]struct {
		filling sink.Filling
		want    string
	}{
		"myisam": {sink.Filling{Existing: sink.Truncate}, `engine "MyISAM", which has no transactions`},
		"v":      {sink.Filling{}, "is a view"},
		"t":      {sink.Filling{Columns: []string{"b"}}, "is generated"},
		"T":      {sink.Filling{}, `"T" does not exist`},
		database.Name + ".t": {
			sink.Filling{Conflict: sink.Update, Key: []string{"c"}}, "no unique index on the columns",
		},
	} {
		_, err := db.Table(context.Background(), name, test.filling)
		_, planErr := db.Plan(context.Background(), name, test.filling)
		if err == nil || planErr == nil || !strings.Contains(err.Error(), test.want) || err.Error() != planErr.Error() {
			t.Errorf("%s: %v; %v", name, err, planErr)
		}
	}
	expect(t, database, "SELECT * FROM myisam", "1")
}

// TestCascades clears tables to which foreign keys refer, as a user who may and who may not ask InnoDB.
func TestCascades(t *testing.T) {
	server := testkit.MariaDB(t)
	database, other := server.NewDatabase(t), server.NewDatabase(t)
	writer := "cascades_" + database.Name
	database.Exec(t, "CREATE USER "+writer+"@localhost; GRANT ALL ON "+database.Name+".* TO "+writer+"@localhost;"+
		"GRANT INSERT ON "+other.Name+".* TO "+writer+"@localhost")
	for name, db := range map[string]*fill.DB{
		"root": open(t, database), "writer": openURL(t, strings.Replace(database.URL(), "root@", writer+"@", 1)),
	} {
		t.Run(name, func(t *testing.T) { testCascades(t, db, database, other) })
	}
}

func testCascades(t *testing.T, db *fill.DB, database, other *testkit.MariaDBDatabase) {
	other.Exec(t, "DROP TABLE IF EXISTS child")
	database.Exec(t, `DROP TABLE IF EXISTS of_upper, of_t, T, t;
		CREATE TABLE T (a int PRIMARY KEY); CREATE TABLE of_upper (a int REFERENCES T (a) ON DELETE CASCADE);
		CREATE TABLE t (a int PRIMARY KEY, b int REFERENCES t (a) ON DELETE CASCADE);
		CREATE TABLE of_t (a int REFERENCES t (a));
		INSERT INTO t VALUES (1, 1)`)
	filling := sink.Filling{Existing: sink.Truncate}
	if err := fillRows(t, db, filling, "1 1"); err != nil {
		t.Errorf("without cascades to other tables: %v", err)
	}
	for _, rule := range []string{"CASCADE", "SET NULL"} {
		other.Exec(t, "CREATE OR REPLACE TABLE child (a int, CONSTRAINT up FOREIGN KEY (a) REFERENCES "+
			database.Name+".t (a) ON DELETE "+rule+"); INSERT INTO child VALUES (1)")
		table, err := db.Table(context.Background(), "t", filling)
		if err == nil {
			t.Fatal(rule, "is not refused", table.Discard())
		}
		_, planErr := db.Plan(context.Background(), "t", filling)
		if planErr == nil || err.Error() != planErr.Error() ||
			!strings.Contains(err.Error(), `"up" of table "`+other.Name+`.child" (ON DELETE `+rule+")") {
			t.Errorf("%s: %v; %v", rule, err, planErr)
		}
		expect(t, other, "SELECT a FROM child", "1")
	}
	filling.Existing = sink.Append
	if err := fillRows(t, db, filling, "2 1"); err != nil {
		t.Errorf("rows are added: %v", err)
	}
}

// TestPlan shows what would be done, which changes nothing.
func TestPlan(t *testing.T) {
	bothWays(t, func(t *testing.T, database *testkit.MariaDBDatabase) {
		database.Exec(t, "CREATE TABLE t (a int, b blob, c bit(2)); INSERT INTO t VALUES (1, 'x', 1)")
		plan, err := open(t, database).Plan(context.Background(), "t", sink.Filling{
			Existing: sink.Truncate, Conflict: sink.Ignore, Loaders: 2,
			Ledger: &sink.Ledger{Table: database.Name + ".ledger", Load: "x"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Rows != 1 || plan.Alone == "" || len(plan.Steps) < 7 || !slices.Contains(plan.Steps, "COMMIT") {
			t.Errorf("%+v", plan)
		}
		expect(t, database, "SELECT a FROM t", "1")
		expect(t, database, "SHOW TABLES", "t")
	})
}

// TestConflictNextNumber loads NULL for the next number of AUTO_INCREMENT, with rows that are in conflict and others.
func TestConflictNextNumber(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id bigint unsigned AUTO_INCREMENT PRIMARY KEY, code int UNIQUE);"+
		"INSERT INTO t VALUES (7, 70)")
	db := open(t, database)
	ignore := sink.Filling{Existing: sink.Append, Conflict: sink.Ignore}
	if err := fillRows(t, db, ignore, "- 70", "7 71"); err != nil {
		t.Error(err)
	}
	update := sink.Filling{Existing: sink.Append, Conflict: sink.Update, Key: []string{"id"}}
	if err := fillRows(t, db, update, "7 72", "- 80"); err != nil {
		t.Error(err)
	}
	expect(t, database, "SELECT code, id > 7 FROM t ORDER BY id", "72 0", "80 1")
}
