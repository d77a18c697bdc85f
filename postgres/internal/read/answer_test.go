package read_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/postgres/internal/read"
	"culvert/source"
)

// answers are the rows that a false server gives to statements with a word in them. If there are several, the one that
// comes first counts.
type answers map[string][][]string

// begun is the answer to what begins the transaction.
func begun(searchPath, schemas, locks string) []string {
	return []string{
		searchPath, schemas, "me", "now", "d", "15.1", "1:1:", "2024-01-01", "12:00:00.5", locks, "100", "0", "on",
	}
}

func honest() answers {
	return answers{
		"current_schemas":      {begun("public", "{pg_catalog,public}", "64")},
		"BY 4 DESC":            {{"1", "public", "t", "t", "t", "7", "r"}},
		"attname":              {{"x", "text", "text", "f", "f"}},
		"partition_tree":       {},
		"unnest":               {{"text", "text"}},
		"$1, true)":            {{"public"}},
		"FROM ONLY \"public\"": {{"value"}},
		"query of":             {{"value"}},
		"EXPLAIN":              {{`[{"Plan": {"Plan Rows": 7, "Plan Width": 8}}]`}},
		"reltoastrelid":        {{"4096", "2", "1", "1"}},
		"count(*)":             {{"3"}},
	}
}

// TestFalseAnswers has a server answer with other rows than it was asked for, each message being right by itself.
func TestFalseAnswers(t *testing.T) {
	read := func(t *testing.T, a answers) (tableErr, queryErr error) {
		db, err := read.Open(context.Background(), falseServer(t, a))
		if err != nil {
			return err, err
		}
		defer db.Close()
		var rows source.Rows
		if rows, tableErr = db.Table(context.Background(), "t"); tableErr == nil {
			_, tableErr = drain(rows)
		}
		if rows, queryErr = db.Query(context.Background(), "query of the user"); queryErr == nil {
			_, queryErr = drain(rows)
		}
		return tableErr, queryErr
	}
	if tableErr, queryErr := read(t, honest()); tableErr != io.EOF || queryErr != io.EOF {
		t.Fatalf("right answers: table: %v; query: %v", tableErr, queryErr)
	}
	for _, test := range []struct {
		name, word       string
		rows             [][]string
		ofTable, ofQuery bool
	}{
		{"no search path", "current_schemas", nil, true, true},
		{"half a search path", "current_schemas", [][]string{{"public"}}, true, true},
		{"two search paths", "current_schemas", [][]string{
			begun("a", "{a}", "64"), begun("b", "{b}", "64"),
		}, true, true},
		{"a limit in words", "current_schemas", [][]string{begun("a", "{a}", "many")}, true, true},
		{"a relation of no columns", "BY 4 DESC", [][]string{{}}, true, false},
		{"a relation of three", "BY 4 DESC", [][]string{{"1", "public", "t"}}, true, false},
		{"a second relation of two", "BY 4 DESC", [][]string{
			{"1", "public", "t", "f", "t", "7"}, {"2", "p"},
		}, true, false},
		{"a column without type", "attname", [][]string{{"x", "text", "text", "f"}}, true, false},
		{"no columns", "attname", nil, true, false},
		{"two columns", "attname", [][]string{
			{"x", "text", "text", "f", "f"}, {"y", "text", "text", "f", "f"},
		}, true, false},
		{"a change of nothing", "partition_tree", [][]string{{}}, true, false},
		{"a change without a kind", "partition_tree", [][]string{{"t"}}, true, false},
		{"no types", "unnest", nil, false, true},
		{"a type of no columns", "unnest", [][]string{{"text"}}, false, true},
		{"two types", "unnest", [][]string{{"text", "text"}, {"text", "text"}}, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := honest()
			a[test.word] = test.rows
			tableErr, queryErr := read(t, a)
			const want = "the server sent an unexpected answer"
			if test.ofTable && !strings.Contains(tableErr.Error(), want) {
				t.Errorf("table: %v", tableErr)
			}
			if test.ofQuery && !strings.Contains(queryErr.Error(), want) {
				t.Errorf("query: %v", queryErr)
			}
		})
	}
}

// TestFalseSizes has it answer like that when it is asked how large a table is.
func TestFalseSizes(t *testing.T) {
	read := func(t *testing.T, a answers) (source.Size, error) {
		db, err := read.Open(context.Background(), falseServer(t, a))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return table(t, db, "t").(source.Sized).Size()
	}
	if got, err := read(t, honest()); err != nil || got != (source.Size{Rows: 6, Bytes: 4096}) {
		t.Fatalf("right answers: %+v, %v", got, err)
	}
	for _, test := range []struct {
		name, word string
		rows       [][]string
	}{
		{"no plan", "EXPLAIN", nil},
		{"a plan in two", "EXPLAIN", [][]string{{"[", "]"}}},
		{"no files", "reltoastrelid", nil},
		{"files without pages", "reltoastrelid", [][]string{{"4096"}}},
		{"words for files", "reltoastrelid", [][]string{{"many", "2", "1", "1"}}},
		{"no count", "count(*)", nil},
		{"two counts", "count(*)", [][]string{{"3", "3"}}},
		{"a word for a count", "count(*)", [][]string{{"three"}}},
	} {
		a := honest()
		a[test.word] = test.rows
		_, err := read(t, a)
		if err == nil || !strings.Contains(err.Error(), "the server sent an unexpected answer") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for plan, want := range map[string]source.Size{
		"": {}, "{": {}, "[]": {}, "[1]": {}, `["Utility Statement"]`: {}, "[{}, {}]": {},
		`[{"Plan": {"Plan Rows": 1e300, "Plan Width": 8}}]`: {Rows: 1 << 62, Bytes: 1 << 62},
		`[{"Plan": {"Plan Rows": -1, "Plan Width": 8}}]`:    {},
	} {
		a := honest()
		a["EXPLAIN"] = [][]string{{plan}}
		a["reltoastrelid"] = [][]string{{"0", "0", "0", "0"}}
		if got, err := read(t, a); err != nil || got != want {
			t.Errorf("the plan %q: %+v, %v; want %+v", plan, got, err, want)
		}
	}
}

// falseServer returns the connection string of a server that is none.
func falseServer(t *testing.T, a answers) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		a.serve(pgproto3.NewBackend(conn, conn))
	}()
	t.Cleanup(func() {
		listener.Close()
		<-served
	})
	return "postgres://u@" + listener.Addr().String() + "/d?sslmode=disable"
}

// serve answers until the client leaves.
func (a answers) serve(client *pgproto3.Backend) {
	if _, err := client.ReceiveStartupMessage(); err != nil {
		return
	}
	client.Send(&pgproto3.AuthenticationOk{})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	var sql string
	for client.Flush() == nil {
		message, err := client.Receive()
		if err != nil {
			return
		}
		switch message := message.(type) {
		case *pgproto3.Terminate:
			return
		case *pgproto3.Query:
			sql = message.String
			a.describe(client, sql)
			a.execute(client, sql)
			client.Send(&pgproto3.ReadyForQuery{TxStatus: 'T'})
		case *pgproto3.Parse:
			sql = message.Query
			client.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Bind:
			client.Send(&pgproto3.BindComplete{})
		case *pgproto3.Describe:
			if message.ObjectType == 'S' {
				client.Send(&pgproto3.ParameterDescription{})
			}
			a.describe(client, sql)
		case *pgproto3.Execute:
			a.execute(client, sql)
		case *pgproto3.Sync:
			client.Send(&pgproto3.ReadyForQuery{TxStatus: 'T'})
		}
	}
}

// to finds the rows for a statement.
func (a answers) to(sql string) [][]string {
	first := len(sql)
	var found [][]string
	for word, rows := range a {
		if at := strings.Index(sql, word); at >= 0 && at < first {
			first, found = at, rows
		}
	}
	return found
}

func (a answers) describe(client *pgproto3.Backend, sql string) {
	rows := a.to(sql)
	if len(rows) == 0 {
		client.Send(&pgproto3.NoData{})
		return
	}
	const text = 25
	var description pgproto3.RowDescription
	for range rows[0] {
		description.Fields = append(description.Fields, pgproto3.FieldDescription{Name: []byte("x"), DataTypeOID: text})
	}
	client.Send(&description)
}

func (a answers) execute(client *pgproto3.Backend, sql string) {
	rows := a.to(sql)
	for _, row := range rows {
		var data pgproto3.DataRow
		for _, value := range row {
			data.Values = append(data.Values, []byte(value))
		}
		client.Send(&data)
	}
	client.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT " + string(rune('0'+len(rows))))})
}
