package fill_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
	"culvert/source"
)

// TestFailover kills the primary while a table is loaded part by part, and promotes its standby. The same load, with
// the same address, which names both, goes on with what is missing.
func TestFailover(t *testing.T) {
	settings := []string{"wal_level = replica", "max_wal_senders = 4"}
	primary := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings})
	database := primary.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id bigint PRIMARY KEY)")
	standby := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings, StandbyOf: primary})
	replica := &testkit.PostgresDatabase{Server: standby, Name: database.Name}
	var hosts, ports []string
	for _, server := range []*testkit.PostgresServer{primary, standby} {
		hosts = append(hosts, filepath.Dir(server.SocketPath()))
		ports = append(ports, strings.TrimPrefix(filepath.Ext(server.SocketPath()), "."))
	}
	address := fmt.Sprintf("host=%s port=%s user=postgres dbname=%s target_session_attrs=read-write",
		strings.Join(hosts, ","), strings.Join(ports, ","), database.Name)
	filling := sink.Filling{Ledger: &sink.Ledger{Table: "ledger", Load: "x"}, EachPart: true}

	table := beginTable(t, openAgain(t, address), "t", filling)
	loader := table.Loaders()[0]
	if err := loadText(loader, "1\n2\n"); err != nil {
		t.Fatal(err)
	}
	if err := loader.EndPart(sink.Part{Name: "a", Rows: 2}); err != nil {
		t.Fatal(err)
	}
	at := database.Query(t, "SELECT pg_current_wal_lsn()")[0][0]
	testkit.WaitFor(t, "the standby to replay", func() bool {
		return replica.Query(t, "SELECT pg_last_wal_replay_lsn() >= '"+at+"'")[0][0] == "t"
	})
	if err := loadText(loader, "3\n"); err != nil {
		t.Fatal(err)
	}
	primary.Kill(t)
	err := loader.EndPart(sink.Part{Name: "b", Rows: 1})
	if !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("the end of a part: %v", err)
	}
	if err := table.Discard(); err != nil {
		t.Error(err)
	}
	if _, err := openAgain(t, standby.ConnString(database.Name)).Table(context.Background(), "t", filling); !errors.Is(
		err, sink.ErrReadOnly) {
		t.Errorf("the standby: %v", err)
	}

	replica.Query(t, "SELECT pg_promote()")
	table = beginTable(t, openAgain(t, address), "t", filling)
	if loaded := table.Loaded(); len(loaded) != 1 || loaded[0].Name != "a" {
		t.Fatalf("the ledger has %v", loaded)
	}
	loader = table.Loaders()[0]
	if err := loadText(loader, "3\n"); err != nil {
		t.Fatal(err)
	}
	endPart(t, loader, sink.Part{Name: "b", Rows: 1})
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	expectCount(t, replica, "t", "3")
}
