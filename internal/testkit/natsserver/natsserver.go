// Package natsserver starts NATS servers with JetStream for tests, as processes of their own that a test may kill. The
// program is the test binary itself, which therefore calls Main first:
//
//	func TestMain(m *testing.M) {
//		if natsserver.Main() {
//			return
//		}
//		os.Exit(m.Run())
//	}
//
// A server ends with the test binary, however that ends.
package natsserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"culvert/internal/testkit"
)

const configVariable = "CULVERT_TEST_NATS_CONFIG"

// Main is a NATS server until it is killed, in a process that [Server.Start] has started. In others it returns false.
func Main() bool {
	config := os.Getenv(configVariable)
	if config == "" {
		return false
	}
	options, err := server.ProcessConfigFile(config)
	if err != nil {
		panic(err)
	}
	s, err := server.NewServer(options)
	if err != nil {
		panic(err)
	}
	s.ConfigureLogger()
	s.Start()
	const patience = time.Minute // a machine may be busy
	if !s.ReadyForConnections(patience) {
		panic("the server does not start")
	}
	_ = os.Stdout.Close()                // which tells the test binary
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test binary ends
	return true
}

// Server is a NATS server, which may be running or not.
type Server struct {
	Address string // a host and port of the loopback interface

	config string // the path of its configuration
	data   string
	cmd    *exec.Cmd
}

// New returns a server that runs. It ends with the test. The lines, such as "authorization { … }", are added to its
// configuration.
func New(tb testing.TB, lines ...string) *Server {
	tb.Helper()
	s := prepare(tb, testkit.Address(tb), "", lines)
	s.Start(tb)
	return s
}

// NewWith returns a server that runs with a whole configuration, which listens at the address.
func NewWith(tb testing.TB, address, config string) *Server {
	tb.Helper()
	s := &Server{Address: address, config: filepath.Join(tb.TempDir(), "nats.conf")}
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Kill(tb) })
	s.Start(tb)
	return s
}

// NewCluster returns servers of one cluster, which run. They sync each write, since a server of a cluster answers
// before it has written otherwise.
func NewCluster(tb testing.TB, size int) []*Server {
	tb.Helper()
	routes := make([]string, size)
	for i := range routes {
		routes[i] = "nats://" + testkit.Address(tb)
	}
	servers := make([]*Server, size)
	for i := range servers {
		servers[i] = prepare(tb, testkit.Address(tb), ", sync_interval: always", []string{
			fmt.Sprintf("server_name: n%d", i+1),
			fmt.Sprintf("cluster { name: test, listen: %q, routes: [%s] }",
				strings.TrimPrefix(routes[i], "nats://"), strings.Join(routes, ", ")),
		})
		servers[i].Start(tb)
	}
	return servers
}

// URLs returns those of several servers, as clients take them.
func URLs(servers []*Server) string {
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	return strings.Join(urls, ",")
}

// prepare writes a configuration. A server that is alone writes before it answers, and what it has written survives its
// death: tests do not make the machine crash, so it need not sync that.
func prepare(tb testing.TB, address, more string, lines []string) *Server {
	tb.Helper()
	dir := tb.TempDir()
	s := &Server{Address: address, config: filepath.Join(dir, "nats.conf"), data: filepath.Join(dir, "data")}
	lines = append(lines,
		fmt.Sprintf("listen: %q", address),
		fmt.Sprintf("jetstream { store_dir: %q%s }", s.data, more),
		fmt.Sprintf("log_file: %q", filepath.Join(dir, "log")))
	if err := os.WriteFile(s.config, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Kill(tb) })
	return s
}

// Data returns the directory of its data, which may be missing after Forget.
func (s *Server) Data() string { return s.data }

// Forget removes the data of a server that does not run.
func (s *Server) Forget(tb testing.TB) {
	tb.Helper()
	if err := os.RemoveAll(s.data); err != nil {
		tb.Fatal(err)
	}
}

// URL returns the URL of the server.
func (s *Server) URL() string { return "nats://" + s.Address }

// Start starts the server again after Kill, with its data, and waits until it accepts connections.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), configVariable+"="+s.config)
	cmd.Stderr = os.Stderr
	_, stdout := testkit.StartPiped(tb, cmd)
	s.cmd = cmd
	_, _ = io.Copy(io.Discard, stdout) // closed when the server is ready, or has ended
	conn, err := net.Dial("tcp", s.Address)
	if err != nil {
		s.cmd = nil
		_ = cmd.Process.Kill()
		tb.Fatal("the NATS server does not run: ", errors.Join(err, cmd.Wait()))
	}
	_ = conn.Close()
}

// Kill kills the server with SIGKILL. It does nothing if it does not run.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()         // which also closes its standard input
	s.cmd = nil
}
