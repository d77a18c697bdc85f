package sinktest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/sink"
	"culvert/source"
)

func testRestoreOtherLoad(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	db := to.Open(t)
	restoration, err := db.(sink.Restorer).Restore(t.Context(), "first", s, sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	if restoration.Filled() {
		t.Error("the rows are there before they were loaded")
	}
	_, err = db.(sink.Restorer).Restore(t.Context(), "second", s, sink.Filling{})
	if !errors.Is(err, sink.ErrOtherRestore) {
		t.Errorf("another load: %v", err)
	}
	// While it goes on, the same load has no place.
	again := to.Open(t)
	_, err = again.(sink.Restorer).Restore(t.Context(), "first", s, sink.Filling{LockTimeout: 1})
	if err != nil && !errors.Is(err, sink.ErrBusy) || err == nil && s.Dialect != source.SQLite {
		t.Errorf("the same load at the same time: %v", err)
	}
	closeSource(t, again)
	if err := restoration.Close(); err != nil {
		t.Error(err)
	}
	if err := f.restore(t.Context(), t, to, "second", s); !errors.Is(err, sink.ErrOtherRestore) {
		t.Errorf("another load of another sink: %v", err)
	}
	closeSource(t, db)
	if err := f.restore(t.Context(), t, to, "first", s); err != nil {
		t.Fatal(err)
	}
	f.expect(t, to)
}

// testRestoreAbandoned abandons a load that has no rows, and one that has.
func testRestoreAbandoned(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	abandon := func(load string, fill bool) {
		db := to.Open(t)
		defer closeSource(t, db)
		restoration, err := db.(sink.Restorer).Restore(t.Context(), load, s, sink.Filling{})
		if err != nil {
			t.Fatal(err)
		}
		defer closeSource(t, restoration)
		if fill {
			f.fill(t, db, s, restoration.Ledger())
		}
		if err := restoration.Abandon(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	last := "first"
	if abandon(last, false); !s.Tables { // or it has made the tables
		last = "second"
	}
	abandon(last, true)
	if err := f.restore(t.Context(), t, to, "third", s); !errors.Is(err, sink.ErrOtherRestore) {
		t.Errorf("another load, after rows were loaded: %v", err)
	}
	if err := f.restore(t.Context(), t, to, last, s); err != nil {
		t.Fatal(err)
	}
	f.expect(t, to)
}

// testRestoreUnended reads a database while it is being made again: what the load has made for itself is no part of it.
func testRestoreUnended(t *testing.T, f *Restoring) {
	s := f.schema(t)
	to := f.New(t)
	db := to.Open(t)
	defer closeSource(t, db)
	restoration, err := db.(sink.Restorer).Restore(t.Context(), "unended", s, sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	f.fill(t, db, s, restoration.Ledger())
	want, _ := f.read(t, f.Source)
	names, lacks := f.read(t, to.Source)
	if !slices.Equal(names, want) {
		t.Errorf("the tables are %q, want %q", names, want)
	}
	const unended = "a load that has not ended"
	if !slices.ContainsFunc(lacks, func(one string) bool { return strings.HasPrefix(one, unended) }) {
		t.Errorf("the schema lacks %q, and not %s", lacks, unended)
	}
	if err := restoration.Finish(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	f.expect(t, to)
}

// read returns the tables of a database, and what its schema lacks. Nothing of that may be of a load.
func (f *Restoring) read(t *testing.T, open func(t *testing.T) source.Source) (names, lacks []string) {
	t.Helper()
	src := open(t)
	defer closeSource(t, src)
	names, err := src.(source.Lister).Tables(t.Context(), "")
	if err != nil {
		t.Fatal("Tables:", err)
	}
	omitted, err := source.Omitted(t.Context(), src, "")
	if err != nil {
		t.Fatal("Omitted:", err)
	}
	s, err := src.(source.Schemer).Schema(t.Context(), source.SchemaConfig{})
	if err != nil {
		t.Fatal("Schema:", err)
	}
	for _, statement := range s.Statements {
		omitted = append(omitted, statement.SQL)
	}
	for _, one := range omitted {
		if strings.Contains(one, "culvert_restore") {
			t.Errorf("the database has %s", one)
		}
	}
	return names, s.Lacks
}
