package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/fileservice/server"
	"culvert/secureconn"
)

// observer counts what a server does, and reports it.
type observer struct {
	console *ui.Console
	verbose bool // report each call and connection
	warns   bool // report strangers
	metrics *metrics

	bytesRead, bytesWritten, calls, errors, connections, rejected atomic.Int64

	mu        sync.Mutex
	strangers map[string]bool
}

// maxStrangers is how many fingerprints that are not allowed are reported. Anybody can make any number of them.
const maxStrangers = 100

func newObserver(console *ui.Console, verbose, warns bool) *observer {
	return &observer{
		console: console, verbose: verbose, warns: warns, metrics: newMetrics(), strangers: map[string]bool{},
	}
}

func (s *observer) hooks() server.Observer {
	return server.Observer{
		Connected: s.connected, Disconnected: s.disconnected, Rejected: s.reject, Called: s.called,
	}
}

func (s *observer) figures() *servedFigures {
	return &servedFigures{
		BytesRead: s.bytesRead.Load(), BytesWritten: s.bytesWritten.Load(),
		Calls: s.calls.Load(), Errors: s.errors.Load(),
		Connections: s.connections.Load(), Rejected: s.rejected.Load(),
	}
}

func (s *observer) connected(peer net.Addr) {
	s.connections.Add(1)
	s.metrics.connections.Inc()
	s.metrics.open.Inc()
	s.report("%v: connected", peer)
}

func (s *observer) disconnected(peer net.Addr) {
	s.metrics.open.Dec()
	s.report("%v: gone", peer)
}

func (s *observer) reject(peer net.Addr, err error) {
	s.rejected.Add(1)
	s.metrics.rejected.Inc()
	stranger, is := errors.AsType[*secureconn.PeerError](err)
	switch {
	case is && s.isNew(stranger.Fingerprint):
		s.console.Warn(fmt.Sprintf("%v was refused: its fingerprint is %s", peer, stranger.Fingerprint))
	default:
		s.report("%v: not let in: %s", peer, command.Plain(err))
	}
}

// isNew reports whether a stranger is to be reported.
func (s *observer) isNew(fingerprint string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.warns || s.strangers[fingerprint] || len(s.strangers) >= maxStrangers {
		return false
	}
	s.strangers[fingerprint] = true
	return true
}

func (s *observer) called(call server.Call) {
	s.calls.Add(1)
	s.bytesRead.Add(call.BytesRead)
	s.bytesWritten.Add(call.BytesWritten)
	failed := call.Err != nil && !errors.Is(call.Err, context.Canceled)
	if failed {
		s.errors.Add(1)
	}
	s.metrics.called(call)
	if !s.verbose {
		return
	}
	text := fmt.Sprintf("%v: %s %s", call.Peer, call.Method, ui.Name(call.Path))
	for _, n := range []int64{call.BytesRead, call.BytesWritten} {
		if n > 0 {
			text += ", " + ui.Bytes(n)
		}
	}
	text += ", " + ui.Duration(call.Duration)
	if failed {
		text += ": " + command.Plain(call.Err)
	}
	s.report("%s", text)
}

func (s *observer) report(format string, args ...any) {
	if s.verbose {
		s.console.Print(fmt.Sprintf(format, args...))
	}
}
