package workers_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/source"
	"culvert/workers"
)

// cable is a proxy that can be cut.
type cable struct {
	listener net.Listener
	network  string
	server   string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	group sync.WaitGroup
}

func newCable(t *testing.T, network, server string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener, network: network, server: server}
	c.group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			c.connect(client)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.setCut(true)
		c.group.Wait()
	})
	return c
}

func (c *cable) connect(client net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	server, err := net.Dial(c.network, c.server)
	if c.cut || err != nil {
		_ = client.Close()
		if err == nil {
			_ = server.Close()
		}
		return
	}
	c.conns = append(c.conns, client, server)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		c.group.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_, _ = pair[0].Close(), pair[1].Close()
		})
	}
}

// setCut cuts the cable, or mends it.
func (c *cable) setCut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// TestCableIsCut cuts a worker off the queue before it records a part, and off the database before it reads one.
func TestCableIsCut(t *testing.T) {
	t.Parallel()
	for what, step := range map[string]string{"Queue": "commit", "Database": "create orders/000002"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			server := natsserver.New(t)
			f.URL = server.URL()
			worker := f.participant
			worker.Name, worker.Steps = "worker", true
			var c *cable
			if what == "Queue" {
				c = newCable(t, "tcp", server.Address)
				worker.URL = "nats://" + c.listener.Addr().String()
			} else {
				c = newCable(t, "unix", f.db.Server.SocketPath())
				worker.Database = fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", c.listener.Addr(), f.db.Name)
			}
			ended := f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
			process := worker.start(t)
			process.step(t, step)
			c.setCut(true)
			process.answer(t)
			c.setCut(false)
			process.goOn(t)
			(<-ended).check(t)
			f.check(t)
		})
	}
}

// TestOtherServer has a worker that reaches another server than the coordinator. Then the right one is restarted, which
// ends the snapshot.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, testkit.NewPostgres(t, testkit.PostgresConfig{}))
	q := f.queue(t)
	ended := f.beginAndSee(t.Context(), t, q)
	astray := f.participant
	astray.Name, astray.Database = "astray", testkit.Postgres(t).NewDatabase(t).ConnString()
	if err := astray.workOn(t.Context(), q, nil); !errors.Is(err, source.ErrOtherServer) {
		t.Error(err)
	}
	f.db.Server.Stop(t)
	f.db.Server.Start(t)
	result := <-ended
	if lost, is := errors.AsType[*workers.LostError](result.err); !is || lost.Of < 5 {
		t.Error(result.err)
	}
	if done, err := f.done(); done || err != nil {
		t.Errorf("there is a manifest: %v, %v", done, err)
	}
	f.Mixed = true
	if err := f.resume(t); err != nil {
		t.Fatal(err)
	}
	f.check(t)
}

// TestPooler has PgBouncer between the participants and the database.
func TestPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			src, err := f.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			f.Database = testkit.PgBouncer(t, f.db, mode)
			snapshot, err := src.(source.Sharer).Share(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			joined, err := f.join(t.Context(), snapshot)
			if err == nil {
				err = joined.Close()
			}
			if mode == "session" {
				if err != nil {
					t.Fatal(err)
				}
				f.finish(t, f.queue(t))
				f.check(t)
				return
			}
			result := <-f.begin(t.Context(), t, f.queue(t), workers.Coordinator{})
			for who, err := range map[string]error{"worker": err, "coordinator": result.err} {
				if err == nil || !strings.Contains(err.Error(), "pooler in transaction mode") {
					t.Errorf("%s: %v", who, err)
				}
			}
			if files := f.files(t); len(files) > 0 {
				t.Errorf("there are %q", files)
			}
		})
	}
}
