package fill_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
	"culvert/mysql/internal/fill"
	"culvert/sink"
	"culvert/sink/sinktest"
	"culvert/source"
)

func newCutter(t *testing.T, server *testkit.MariaDBServer) *sinktest.Cutter {
	t.Helper()
	return sinktest.NewCutter(t, testkit.ListenUnix(t), server.SocketPath(), packets)
}

// packets reads what a client of MySQL says: a length in three bytes, a number, and a command.
func packets(client io.Reader) func() (message []byte, statement string, err error) {
	return func() ([]byte, string, error) {
		packet := make([]byte, 4)
		if _, err := io.ReadFull(client, packet); err != nil {
			return nil, "", err
		}
		packet = append(packet, make([]byte, int(packet[0])|int(packet[1])<<8|int(packet[2])<<16)...)
		_, err := io.ReadFull(client, packet[4:])
		statement, _ := strings.CutPrefix(string(packet[4:]), "\x03") // COM_QUERY
		return packet, statement, err
	}
}

func cutURL(c *sinktest.Cutter, database *testkit.MariaDBDatabase) string {
	return "mysql://root@localhost/" + database.Name + "?socket=" + url.QueryEscape(c.Address())
}

// TestOpenRefused has a server refuse what it is asked at the beginning: no connection stays open.
func TestOpenRefused(t *testing.T) {
	server := testkit.MariaDB(t)
	database := server.NewDatabase(t)
	for _, spoil := range []string{"@@lower_case_table_names", "@@local_infile"} {
		c := newCutter(t, server)
		c.Spoil = spoil
		leaks := goleak.IgnoreCurrent()
		db, err := fill.Open(context.Background(), cutURL(c, database))
		if err == nil || errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s: %v, %v", spoil, db, err)
		}
		goleak.VerifyNone(t, leaks)
	}
}

// TestCommitLost loses the connection while a load is committed.
func TestCommitLost(t *testing.T) {
	fill.ShortenGrace(t)
	server := testkit.MariaDB(t)
	for name, test := range map[string]struct {
		each, passOn, gone, noLedger bool
		want                         error
		rows                         string
	}{
		"not arrived":    {want: source.ErrUnavailable, rows: "0"},
		"answer lost":    {passOn: true, rows: "1"},
		"nobody to ask":  {passOn: true, gone: true, want: sink.ErrUnconfirmed, rows: "1"},
		"no ledger":      {passOn: true, noLedger: true, want: sink.ErrUnconfirmed, rows: "1"},
		"part":           {each: true, want: source.ErrUnavailable, rows: "0"},
		"answer of part": {each: true, passOn: true, want: source.ErrUnavailable, rows: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			database := server.NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (a int) ENGINE=InnoDB")
			c := newCutter(t, server)
			c.PassOn, c.Gone = test.passOn, test.gone
			filling := sink.Filling{Ledger: &sink.Ledger{Table: "ledger", Load: "x"}, EachPart: test.each}
			if test.noLedger {
				filling.Ledger = nil
			}
			table, loader := begin(t, openURL(t, cutURL(c, database)), filling)
			if err := loader.Load(texts("1")); err != nil {
				t.Fatal(err)
			}
			c.Due.Store(1)
			err := loader.EndPart(sink.Part{Name: "p", Rows: 1})
			if err == nil {
				_, err = loader.Close()
			}
			if err == nil {
				err = table.Commit()
			}
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("the commit: %v, want %v", err, test.want)
			}
			if err := table.Discard(); err != nil {
				t.Error(err)
			}
			expect(t, database, "SELECT COUNT(*) FROM t", test.rows)
			if !test.noLedger {
				expect(t, database, "SELECT COUNT(*) FROM ledger", test.rows)
			}
		})
	}
}
