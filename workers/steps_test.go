package workers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/workers"
)

// counter is a proxy between a coordinator and the queue. It lets so many messages of the coordinator pass, and then
// kills it.
type counter struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	most   int
	passed int
	kill   func()
	conns  sync.WaitGroup
}

func newCounter(t *testing.T, server string, most int) *counter {
	t.Helper()
	c := &counter{server: server, most: most}
	var err error
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	c.conns.Go(func() {
		for {
			conn, err := c.listener.Accept()
			if err != nil {
				return
			}
			c.conns.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = c.listener.Close()
		c.conns.Wait()
	})
	return c
}

func (c *counter) serve(client net.Conn) {
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		_ = client.Close()
		return
	}
	c.conns.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if n > 0 && c.admit(buffer[:n]) {
			_, err = server.Write(buffer[:n])
		}
		if err != nil {
			break
		}
	}
	_, _ = client.Close(), server.Close()
}

// admit counts the messages in what a client has sent at once.
func (c *counter) admit(data []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed += bytes.Count(data, []byte("PUB "))
	if c.passed <= c.most {
		return true
	}
	c.kill()
	return false
}

// TestCoordinatorIsKilled kills the coordinator before a message that it sends to the queue. Another one takes over. A
// tenth of the messages are chosen, others under the race detector. CULVERT_TEST_SCHEDULES chooses all.
func TestCoordinatorIsKilled(t *testing.T) {
	seed := uint64(0)
	if testkit.RaceDetector() {
		seed = 1
	}
	random, stride := rand.New(rand.NewPCG(seed, 0)), 10
	if os.Getenv("CULVERT_TEST_SCHEDULES") != "" {
		stride = 1
	}
	f := newFixture(t)
	server := natsserver.New(t)
	f.URL = server.URL()
	q := f.queue(t)
	for most := 1 + random.IntN(stride); ; most += 1 + random.IntN(2*stride-1) {
		one := *f
		one.Directory = t.TempDir()
		coordinator := one.participant
		coordinator.Coordinator = true
		proxy := newCounter(t, server.Address, most)
		coordinator.URL = "nats://" + proxy.listener.Addr().String()
		proxy.mu.Lock()
		process := coordinator.start(t)
		proxy.kill = func() { _ = process.cmd.Process.Kill() }
		proxy.mu.Unlock()

		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		worker := one.participant
		worker.Name = "worker"
		work.Go(func() {
			for ctx.Err() == nil {
				err := worker.worker(q, nil).Run(ctx, jobName)
				if err != nil && !errors.Is(err, workers.ErrNoJob) && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
		err := process.cmd.Wait()
		if err != nil {
			if text := err.Error(); !strings.Contains(text, "signal: killed") {
				t.Errorf("after %d messages: %v\n%s", most, err, process.stderr.String())
			}
			one.takeOver(t, q, most)
		}
		cancel()
		work.Wait()
		one.check(t)
		if err == nil {
			t.Logf("a coordinator sends %d messages", proxy.passed)
			return
		}
		if t.Failed() {
			t.Fatalf("after %d messages", most)
		}
	}
}

// takeOver runs another coordinator. If the manifest is written and the job removed, there is nothing to do.
func (f *fixture) takeOver(t *testing.T, q *workers.Queue, killed int) {
	t.Helper()
	result := <-f.begin(t.Context(), t, q, workers.Coordinator{})
	if _, err := os.Stat(f.Directory + "/manifest.json.age"); err != nil || result.err != nil && !isExist(result.err) {
		t.Errorf("killed after %d messages: %v, manifest: %v", killed, result.err, err)
	}
	if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) > 0 {
		t.Errorf("killed after %d messages: the jobs %q are left, %v", killed, jobs, err)
	}
}
