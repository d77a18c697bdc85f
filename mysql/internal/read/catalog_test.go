package read_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

func TestTables(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database, other := server.NewDatabase(t), server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE b (i int); CREATE TABLE a (i int); CREATE TABLE `B` (i int);"+
		"CREATE TABLE `x.y` (i int);"+
		"CREATE VIEW v AS SELECT 1; CREATE SEQUENCE s; CREATE TABLE versioned (i int) WITH SYSTEM VERSIONING;"+
		"CREATE TABLE parts (i int) PARTITION BY HASH (i) PARTITIONS 3; CREATE TABLE m1 (i int) ENGINE=MyISAM;"+
		"CREATE TABLE m2 (i int) ENGINE=MyISAM; CREATE TABLE m (i int) ENGINE=MERGE UNION=(m1, m2);"+
		"CREATE DATABASE `empty one`")
	other.Exec(t, "CREATE TABLE a (i int)")
	db := openAgain(t, database.URL())
	own := []string{"B", "a", "b", "m1", "m2", "parts", "versioned", "x.y"}
	none := openAgain(t, strings.Replace(database.URL(), "/"+database.Name+"?", "/?", 1))
	var all []string
	for _, name := range own {
		all = append(all, database.Name+"."+name)
	}
	all = append(all, other.Name+".a")
	for _, test := range []struct {
		source source.Lister
		schema string
		want   []string
	}{
		{db, "", own},
		{db, database.Name, own},
		{db, other.Name, []string{other.Name + ".a"}},
		{db, "empty one", nil},
		{none, "", all},
		{none, other.Name, []string{other.Name + ".a"}},
	} {
		got, err := test.source.Tables(context.Background(), test.schema)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("Tables(%q) = %q and the error %v, want %q", test.schema, got, err, test.want)
		}
	}
	database.Exec(t, "CREATE TABLE later (i int)")
	if got, err := db.Tables(context.Background(), ""); err != nil || !slices.Equal(got, own) {
		t.Errorf("tables are %q and the error %v, after they were %q", got, err, own)
	}
	if got, err := openAgain(t, database.URL()).Tables(context.Background(), ""); !slices.Contains(got, "later") {
		t.Errorf("tables of a new connection are %q and the error %v", got, err)
	}
	const merge = ", whose rows are those of other tables"
	for schema, want := range map[string][]string{
		"": {`the MERGE table "m"` + merge, `the sequence "s"`, `the view "v"`}, other.Name: nil,
	} {
		if got, err := source.Omitted(context.Background(), db, schema); err != nil || !slices.Equal(got, want) {
			t.Errorf("Omitted(%q) = %q and the error %v, want %q", schema, got, err, want)
		}
	}
	want := []string{
		fmt.Sprintf("the MERGE table %q", database.Name+".m") + merge,
		fmt.Sprintf("the sequence %q", database.Name+".s"),
		fmt.Sprintf("the view %q", database.Name+".v"),
	}
	if got, err := source.Omitted(context.Background(), none, ""); err != nil || !slices.Equal(got, want) {
		t.Errorf("of all databases, left out is %q, and the error %v, want %q", got, err, want)
	}
	for _, schema := range []string{"nowhere", strings.ToUpper(other.Name), " ", "`" + other.Name + "`"} {
		_, err := db.Tables(context.Background(), schema)
		unknown, ok := errors.AsType[*source.UnknownError](err)
		if !ok || unknown.What != "schema" || unknown.Name != schema ||
			!slices.Equal(unknown.Known, []string{"empty one", database.Name, other.Name}) {
			t.Errorf("Tables(%q): %#v", schema, err)
		}
	}
}

// TestTableNamesAreExact finds each table by its name in the list, among others that could be taken for it.
func TestTableNamesAreExact(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE DATABASE s; CREATE DATABASE `S`; CREATE DATABASE `a`; CREATE DATABASE `a.b`;"+
		"CREATE DATABASE `back``tick`;"+
		"CREATE TABLE s.t AS SELECT 's t' AS id; CREATE TABLE `S`.t AS SELECT 'S t' AS id;"+
		"CREATE TABLE s.`T` AS SELECT 's T' AS id; CREATE TABLE `s.t` AS SELECT 'own s.t' AS id;"+
		"CREATE TABLE t AS SELECT 'own t' AS id; CREATE TABLE `a`.`b.c` AS SELECT 'a b.c' AS id;"+
		"CREATE TABLE `a.b`.`c` AS SELECT 'a.b c' AS id; CREATE TABLE `back``tick`.`x``y.z` AS SELECT 'ticks' AS id;"+
		"CREATE TABLE s.`s.t` AS SELECT 's s.t' AS id")
	for _, address := range []string{
		database.URL(), strings.Replace(database.URL(), "/"+database.Name+"?", "/?", 1),
		strings.Replace(database.URL(), "/"+database.Name+"?", "/s?", 1),
	} {
		db := openAgain(t, address)
		seen := map[string]bool{}
		for _, schema := range []string{database.Name, "s", "S", "a", "a.b", "back`tick"} {
			names, err := db.Tables(context.Background(), schema)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				var b source.Batch
				rows := table(t, db, name)
				if err := rows.Next(&b); err != nil {
					t.Fatal(err)
				}
				_, id := b.Value(0, 0)
				if seen[string(id)] {
					t.Errorf("table %s was found before, and again by the name %q", id, name)
				}
				seen[string(id)] = true
				expectRows(t, rows, 0)
			}
		}
		if len(seen) != 9 {
			t.Errorf("%d tables of 9 were found", len(seen))
		}
	}
	database.Exec(t, "CREATE TABLE ```s``.``t``` (i int)")
	if names, err := openAgain(t, database.URL()).Tables(context.Background(), "s"); err == nil {
		t.Errorf("a table that has no name of its own is listed: %q", names)
	}
}

// TestFoldedNames lists tables of a server for which letter case does not count.
func TestFoldedNames(t *testing.T) {
	testkit.NeedsMariaDB(t, "a setting that need not be there when the data are made")
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{"--lower-case-table-names=1"}})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE DATABASE Other; CREATE TABLE Other.`T` (i int); CREATE TABLE `other.T` (i int)")
	db := openAgain(t, database.URL())
	for schema, want := range map[string]string{"": "other.t", "OTHER": "`other`.`t`"} {
		got, err := db.Tables(context.Background(), schema)
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("Tables(%q) = %q and the error %v, want %q", schema, got, err, want)
		}
	}
}
