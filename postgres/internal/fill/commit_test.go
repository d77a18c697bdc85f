package fill_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/fill"
	"culvert/sink"
	"culvert/sink/sinktest"
	"culvert/source"
)

func newCutter(t *testing.T, server *testkit.PostgresServer) *sinktest.Cutter {
	t.Helper()
	return sinktest.NewCutter(t, testkit.ListenTCP(t), server.SocketPath(), messages)
}

// messages reads what a client of PostgreSQL says: a letter, a length, and the rest. The first message has no letter.
func messages(client io.Reader) func() (message []byte, statement string, err error) {
	head := 4
	return func() ([]byte, string, error) {
		message := make([]byte, head)
		if _, err := io.ReadFull(client, message); err != nil {
			return nil, "", err
		}
		body := make([]byte, binary.BigEndian.Uint32(message[head-4:])-4)
		head = 5
		_, err := io.ReadFull(client, body)
		return append(message, body...), strings.TrimSuffix(string(body), "\x00"), err
	}
}

func cutConnString(c *sinktest.Cutter, database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", c.Address(), database)
}

// TestCommitLost loses the connection while a load is committed.
func TestCommitLost(t *testing.T) {
	fill.ShortenGrace(t)
	server := testkit.Postgres(t)
	for name, test := range map[string]struct {
		loaders      int32
		due          int32
		passOn, gone bool
		want         error
		rows         string
	}{
		"not arrived":      {1, 1, false, false, source.ErrUnavailable, "0"},
		"answer lost":      {1, 1, true, false, nil, "1"},
		"nobody to ask":    {1, 1, true, true, sink.ErrUnconfirmed, "1"},
		"second of three":  {3, 2, false, false, source.ErrUnavailable, "0"},
		"answer of second": {3, 2, true, false, nil, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			database := server.NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (id bigint)")
			c := newCutter(t, server)
			c.PassOn, c.Gone = test.passOn, test.gone
			db := openAgain(t, cutConnString(c, database.Name))
			ledger := &sink.Ledger{Table: "s.ledger", Load: "x"}
			table := beginTable(t, db, "t", sink.Filling{Loaders: int(test.loaders), Ledger: ledger})
			loadRows(t, table)
			c.Due.Store(test.due)
			if err := table.Commit(); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("Commit: %v, want %v", err, test.want)
			}
			expectCount(t, database, "t", test.rows)
			expectCount(t, database, "s.ledger", test.rows)
		})
	}
}
