package fill_test

import (
	"testing"

	"culvert/internal/rowsum"
	"culvert/sink"
)

// TestNamesOfObjects loads names of objects, as a source has them, into a database whose search path needs no schema
// for them. They are read back as they came, and a trigger still has the search path of the user.
func TestNamesOfObjects(t *testing.T) {
	db, database := openNew(t, `
CREATE SCHEMA mine; CREATE TABLE mine.seen (i int); CREATE TABLE mine.t (c regclass PRIMARY KEY, y regtype);
CREATE TABLE public.log (c regclass);
CREATE FUNCTION mine.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO log VALUES ('seen'); RETURN NEW; END $$;
CREATE TRIGGER t AFTER INSERT ON mine.t FOR EACH ROW EXECUTE FUNCTION mine.note()`)
	database.Exec(t, "ALTER DATABASE "+database.Name+" SET search_path = mine, public")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openAgain(t, database.ConnString())
	const line = "mine.seen,mine.seen\n"
	var want rowsum.Adder
	want.Line([]byte(line))
	for _, f := range []sink.Filling{
		{}, {Existing: sink.Truncate}, {Existing: sink.Append, Conflict: sink.Update, Key: []string{"c"}},
	} {
		table := beginTable(t, db, "t", f)
		loader := table.Loaders()[0]
		if err := loadText(loader, line); err != nil {
			t.Fatal(err)
		}
		if rows, sum, err := loader.Sum(); err != nil || rows != 1 || sum != want.Sum {
			t.Errorf("%+v: %d rows are read back, with the sum %v, %v, want %v", f, rows, sum, err, want.Sum)
		}
		if _, err := loader.Close(); err != nil {
			t.Fatal(err)
		}
		if err := table.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	expectCount(t, database, "mine.t", "1")
	expectCount(t, database, "log", "2") // the update fires no such trigger
}
