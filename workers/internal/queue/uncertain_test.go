package queue_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"culvert/internal/testkit/natsserver"
	"culvert/workers/internal/queue"
)

// mute is a proxy that can lose all answers of the server.
type mute struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	silent bool
	open   []net.Conn
	group  sync.WaitGroup
}

func newMute(t *testing.T, server string) *mute {
	t.Helper()
	m := &mute{server: server}
	var err error
	if m.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	m.group.Go(func() {
		for {
			client, err := m.listener.Accept()
			if err != nil {
				return
			}
			m.group.Go(func() { m.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = m.listener.Close()
		m.cut()
		m.group.Wait()
	})
	return m
}

func (m *mute) serve(client net.Conn) {
	server, err := net.Dial("tcp", m.server)
	if err != nil {
		_ = client.Close()
		return
	}
	m.mu.Lock()
	m.open = append(m.open, client, server)
	m.mu.Unlock()
	m.group.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	_, _ = io.Copy(answers{m, client}, server)
	_ = client.Close()
}

// answers is what the client hears.
type answers struct {
	m      *mute
	client net.Conn
}

func (a answers) Write(p []byte) (int, error) {
	a.m.mu.Lock()
	silent := a.m.silent
	a.m.mu.Unlock()
	if silent {
		return len(p), nil
	}
	return a.client.Write(p)
}

func (m *mute) silence() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = true
}

// cut ends all connections. Answers on new ones are heard.
func (m *mute) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent = false
	for _, conn := range m.open {
		_ = conn.Close()
	}
	m.open = nil
}

// TestAnswerIsLost stores a value without an answer. The caller finds out that it has won, unless the job is removed.
func TestAnswerIsLost(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		t.Run(fmt.Sprintf("removed=%v", removed), func(t *testing.T) {
			t.Parallel()
			server := natsserver.New(t)
			proxy := newMute(t, server.Address)
			other := open(t, queue.Config{URL: server.URL()})
			seen := create(t, other, "job")
			job := create(t, open(t, queue.Config{URL: "nats://" + proxy.listener.Addr().String()}), "job")
			proxy.silence()
			created := make(chan error, 1)
			go func() { created <- job.Create(t.Context(), "record.1", []byte("one")) }()
			until(t, func() bool {
				_, err := seen.Get(t.Context(), "record.1")
				return err == nil
			})
			if removed {
				if err := other.Remove(t.Context(), "job"); err != nil {
					t.Fatal(err)
				}
			}
			proxy.cut()
			err := <-created
			switch {
			case !removed && err != nil:
				t.Error(err)
			case removed && (!errors.Is(err, queue.ErrNoJob) || !errors.Is(err, queue.ErrUncertain)):
				t.Error(err)
			}
		})
	}
}
