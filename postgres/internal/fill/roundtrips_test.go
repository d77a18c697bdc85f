package fill_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
	"culvert/source"
)

// counter is a relay that counts how often the server is ready for the next question.
type counter struct {
	*testkit.Relay
	trips atomic.Int64
}

func newCounter(t *testing.T, server *testkit.PostgresServer) *counter {
	t.Helper()
	c := &counter{}
	pass := func(client, server net.Conn) (ask, answer func()) {
		ask = func() {
			_, _ = io.Copy(server, client) // until one side ends
			_ = server.Close()             // the other side may have ended it
		}
		return ask, func() { c.answer(client, server) }
	}
	c.Relay = testkit.NewRelay(t, testkit.ListenTCP(t), server.SocketPath, pass)
	return c
}

// answer passes on what the server says, until one side ends.
func (c *counter) answer(client io.Writer, server io.Reader) {
	const readyForQuery = 'Z'
	for {
		header := make([]byte, 5)
		if _, err := io.ReadFull(server, header); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[1:])-4)
		if _, err := io.ReadFull(server, body); err != nil {
			return
		}
		if header[0] == readyForQuery {
			c.trips.Add(1)
		}
		if _, err := client.Write(slices.Concat(header, body)); err != nil {
			return
		}
	}
}

// count returns how many round trips something takes.
func (c *counter) count(t *testing.T, do func() error) int64 {
	t.Helper()
	before := c.trips.Load()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	return c.trips.Load() - before
}

// TestManyTables looks up and fills a few tables, and many, which may need a round trip more only for the rows of each.
func TestManyTables(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	const few, many = 3, 40
	var tables []sink.Member
	for i := range many {
		name := fmt.Sprintf("table_%d", i)
		database.Exec(t, "CREATE TABLE "+name+" (id integer, text text)")
		tables = append(tables, sink.Member{Name: name, Filling: sink.Filling{
			Columns: []string{"id", "text"}, Ledger: &sink.Ledger{Table: "ledger", Load: "load"},
		}})
	}
	c := newCounter(t, server)
	db := open(t, fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", c.Address(), database.Name))
	plan := func(tables []sink.Member) int64 {
		return c.count(t, func() error {
			_, errs := db.Plans(t.Context(), tables)
			for _, err := range errs {
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	plan(tables[:1]) // identifies the server
	if a, b := plan(tables[:few]), plan(tables); a != b {
		t.Errorf("%d tables are looked up in %d round trips, and %d in %d", few, a, many, b)
	}
	_ = c.count(t, func() error { return fillAll(t, db, tables[:1]) }) // makes the ledger
	a := c.count(t, func() error { return fillAll(t, db, tables[1:few+1]) })
	b := c.count(t, func() error { return fillAll(t, db, tables[few+1:]) })
	if between := int64(many - few - 1 - few); b-a > between {
		t.Errorf("%d tables are filled in %d round trips, and %d more in %d more", few, a, between, b-a)
	}
}

// fillAll fills tables in one transaction.
func fillAll(t *testing.T, db sink.Grouper, tables []sink.Member) error {
	t.Helper()
	group, err := db.Group(t.Context(), tables)
	if err != nil {
		return err
	}
	for _, i := range group.Order() {
		table, err := group.Table(i)
		if err != nil {
			return err
		}
		loader := table.Loaders()[0]
		var rows source.Batch
		rows.Reset(2)
		rows.Append(source.Number, []byte("7"))
		rows.Append(source.Text, []byte("ale"))
		rows.EndRow()
		if err := loader.Load(&rows); err != nil {
			return err
		}
		if err := loader.EndPart(sink.Part{Name: "all", Rows: 1}); err != nil {
			return err
		}
		if _, err := loader.Close(); err != nil {
			return err
		}
		if err := table.Commit(); err != nil {
			return err
		}
	}
	return group.Commit()
}
