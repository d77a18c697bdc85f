package sourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"culvert/source"
)

// testSchema asks for the schema between other things.
func testSchema(t *testing.T, f *Fixture) {
	f.createMany(t, "schema_many")
	f.Exec(t, "CREATE VIEW schema_v AS SELECT * FROM "+f.Quote("schema_many"))
	t.Cleanup(func() { f.Exec(t, "DROP VIEW schema_v") })
	src := f.open(t)
	schemer := as[source.Schemer](t, src)
	rows := f.rows(t, src, "schema_many")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := schemer.Schema(context.Background(), source.SchemaConfig{}); err == nil {
		t.Error("a schema is read while rows are open")
	}
	if rest := len(readAll(t, rows)); rest != manyRows-b.Rows() {
		t.Errorf("after that there are %d rows, want %d", rest, manyRows-b.Rows())
	}
	closeRows(t, rows)
	var first *source.Schema
	for range 2 {
		s, err := schemer.Schema(context.Background(), source.SchemaConfig{})
		if without, is := errors.AsType[*source.NoSchemaError](err); is && without.Reason != "" {
			expectUsable(t, src, "schema_many", manyRows) // such as without the rights for it
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = s
		} else if !reflect.DeepEqual(s, first) {
			t.Errorf("the schema is %+v, and then %+v", first, s)
		}
	}
	if first.Dialect == "" || !slices.ContainsFunc(first.Statements, func(s source.Statement) bool {
		return strings.Contains(s.SQL, "schema_v") && !strings.HasSuffix(s.SQL, ";")
	}) {
		t.Errorf("the view is not in the schema: %+v", first)
	}
	for _, kept := range []any{first, &first.Statements} {
		text, err := json.Marshal(kept)
		again := reflect.New(reflect.TypeOf(kept).Elem())
		if err == nil {
			err = json.Unmarshal(text, again.Interface())
		}
		if s, is := again.Interface().(*source.Schema); is {
			s.Statements = first.Statements
			s.Lacks = append(first.Lacks[:0:0], s.Lacks...)
		}
		if err != nil || !reflect.DeepEqual(again.Interface(), kept) {
			t.Errorf("%s becomes %+v, error %v", text, again, err)
		}
	}
	expectUsable(t, src, "schema_many", manyRows)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := schemer.Schema(canceled, source.SchemaConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
}

// testSchemaBeside reads the schema while rows are read, and begins it once more before the source is closed.
func testSchemaBeside(t *testing.T, f *Fixture) {
	f.createMany(t, "schema_many")
	src := f.open(t)
	starter := as[source.SchemaStarter](t, src)
	want, err := starter.Schema(context.Background(), source.SchemaConfig{})
	if _, is := errors.AsType[*source.NoSchemaError](err); is {
		return // such as without the rights for it
	}
	if err != nil {
		t.Fatal(err)
	}
	ownRows, finish, err := source.StartSchema(context.Background(), src, source.SchemaConfig{})
	if err != nil || ownRows != want.OwnRows {
		t.Fatalf("it has own rows: %v, error %v", ownRows, err)
	}
	rows := f.rows(t, src, "schema_many")
	if got := len(readAll(t, rows)); got != manyRows {
		t.Errorf("beside the schema there are %d rows, want %d", got, manyRows)
	}
	closeRows(t, rows)
	rows = f.rows(t, src, "schema_many")
	if _, err := finish(context.Background()); err == nil {
		t.Error("a schema is finished while rows are open")
	}
	closeRows(t, rows)
	if s, err := finish(context.Background()); err != nil || !reflect.DeepEqual(s.Statements, want.Statements) {
		t.Errorf("beside the rows the schema is %+v, and alone %+v, error %v", s, want, err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, _, err := starter.StartSchema(canceled, source.SchemaConfig{}); err != nil {
		t.Error(err)
	}
}
