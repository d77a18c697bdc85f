package exchange

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// muffled is a connection whose writes vanish from a moment on.
type muffled struct {
	net.Conn
	dead bool
}

func (m *muffled) Write(p []byte) (int, error) {
	if m.dead {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

// TestDeaf has requests not reach a server that says that it is alive, and others that only have to wait. Time is that
// of the bubble.
func TestDeaf(t *testing.T) {
	const patience = 30 * time.Second
	for name, test := range map[string]struct {
		dead bool          // nothing arrives
		held bool          // the server is busy with another request
		slow bool          // bytes arrive, but not all of the request
		want time.Duration // after two minutes, at least
	}{
		"dead":       {dead: true, want: 100 * time.Second},
		"busy":       {dead: true, held: true},
		"slow":       {dead: true, slow: true},
		"slow disk":  {held: true},
		"without it": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				letGo := make(chan struct{})
				h := &handler{content: pattern(100), get: func(r *Request) {
					if r.Target == "slow" {
						<-letGo
					}
				}}
				near, far := net.Pipe()
				line := &muffled{Conn: near}
				c := connectOn(t, line, far, h, patience)
				defer c.Fail(net.ErrClosed)
				start := func(target string) {
					r := Request{Kind: Get, Target: target, Length: 100}
					call := &Call{Request: r, Into: make([]byte, 100), Done: func(error) {}}
					if err := c.Start(call); err != nil {
						t.Error(err)
					}
				}
				if test.held {
					start("slow") // a small one, which the reader answers
				}
				synctest.Wait()
				line.dead = test.dead
				go start("file") // which waits for a reader that is busy
				for range 12 {
					if test.slow {
						h.received.Add(1)
					}
					<-time.After(patience / 3)
				}
				if deaf := c.Deaf(); deaf < test.want || test.want == 0 && deaf > patience/2 {
					t.Errorf("it is deaf for %v", deaf)
				}
				close(letGo)
				synctest.Wait()
			})
		})
	}
}
