package export_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/manifest"
	"culvert/place"
	"culvert/postgres"
)

// TestPostgresReadersSQLASCII tells no number of a row that is not UTF-8, but where it is.
func TestPostgresReadersSQLASCII(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t, "ENCODING SQL_ASCII TEMPLATE template0 LOCALE 'C'")
	database.Exec(t, `CREATE TABLE t AS
		SELECT CASE i WHEN 250000 THEN E'bad\xff' ELSE repeat('x', 100) END AS fill
		FROM generate_series(1, 300000) AS i`)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plan := export.Plan{Format: format.JSONL{}, Unencrypted: true, Jobs: 3}
	_, err = plan.Table(t.Context(), io.Discard, db, "t")
	invalid, ok := errors.AsType[*format.InvalidUTF8Error](err)
	if !ok || invalid.Row != 0 || invalid.Column != "fill" {
		t.Errorf("error %v", err)
	}
}

// TestPostgresSnapshot writes to the tables while they are exported, at the first moment at which a file is begun. All
// that is exported is of one moment, before that, also what several connections read.
func TestPostgresSnapshot(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `
		CREATE TABLE small AS SELECT i FROM generate_series(1, 10) AS i;
		CREATE TABLE large AS SELECT i, repeat('x', 100) AS fill FROM generate_series(1, 300000) AS i;
		CREATE TABLE late AS TABLE small;
		CREATE VIEW broken AS SELECT 1 / (i - 5) AS x FROM small`)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := sync.OnceFunc(func() {
		database.Exec(t, `DELETE FROM large WHERE i % 2 = 0; DELETE FROM late; INSERT INTO small VALUES (11)`)
	})
	shelf := newShelf()
	files := createFunc{shelf, func(ctx context.Context, name string) (place.File, error) {
		write()
		return shelf.Create(ctx, name)
	}}
	plan := export.Plan{Compression: export.None, Unencrypted: true, Jobs: 4, Progress: new(export.Progress)}
	all, err := plan.Tables(t.Context(), files, db, []string{"small", "broken", "large", "late"})
	if partial, ok := errors.AsType[*export.PartialError](err); !ok || partial.Failed != 1 || all[1].Err == nil {
		t.Fatalf("%+v, error %v", all, err)
	}
	for i, want := range []int64{10, 0, 300_000, 10} {
		if all[i].Rows != want {
			t.Errorf("%s: %d rows, want %d", all[i].Name, all[i].Rows, want)
		}
	}
	if all[2].Readers != 4 || all[0].Readers != 1 {
		t.Errorf("%d connections for the large table, %d for a small one", all[2].Readers, all[0].Readers)
	}
	m, err := manifest.Read(bytes.NewReader(shelf.files[manifest.Name]))
	if err != nil || m.Database != database.Name || m.Snapshot == "" || m.Position == "" ||
		m.Tables[2].Columns[1].Type != "text" {
		t.Errorf("manifest %+v, error %v", m, err)
	}
}

// TestPostgresParts writes to the tables while they are exported in parts, at the first moment at which a file is
// begun. All parts are of the moment before that, whichever session reads them.
func TestPostgresParts(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `
		CREATE TABLE small AS SELECT i FROM generate_series(1, 10) AS i;
		CREATE TABLE large AS SELECT i, repeat('x', 100) AS fill FROM generate_series(1, 100000) AS i;
		ANALYZE`)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	before := map[string]export.Sum{}
	for _, name := range []string{"small", "large"} {
		before[name] = sumOfLines(t, splitCSV(database.Psql(t, "-c", "COPY "+name+" TO STDOUT (FORMAT csv)")))
	}
	write := sync.OnceFunc(func() {
		database.Exec(t, `DELETE FROM large WHERE i % 2 = 0; UPDATE large SET i = -i; INSERT INTO small VALUES (11)`)
	})
	to := newShelf()
	files := createFunc{to, func(ctx context.Context, name string) (place.File, error) {
		write()
		return to.Create(ctx, name)
	}}
	plan := export.Plan{Unencrypted: true, Jobs: 3}
	all, err := inParts(plan, 1<<20).Tables(t.Context(), files, db, []string{"large", "small"})
	if err != nil {
		t.Fatal(err)
	}
	if len(all[0].Parts) < 5 || all[0].Readers != 3 {
		t.Errorf("%d parts, read by %d sessions", len(all[0].Parts), all[0].Readers)
	}
	for _, table := range all {
		if table.Sum != before[table.Name] {
			t.Errorf("%s: %d rows with the sum %s, want %s", table.Name, table.Rows, table.Sum, before[table.Name])
		}
	}
	d, err := export.OpenDirectory(filesOf(to))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(t.Context(), nil); err != nil || !d.Manifest.Consistent {
		t.Errorf("verified with error %v", err)
	}
	if err := d.Compare(t.Context(), db, 2, nil, nil, nil); err != nil {
		t.Errorf("compared in the same snapshot: %v", err)
	}
	later, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	var differs *export.DiffersError
	if err := d.Compare(t.Context(), later, 2, nil, nil, nil); !errors.As(err, &differs) || differs.Differing != 2 {
		t.Errorf("compared later: %v", err)
	}
}
