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
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test binary ends
	return true
}

// Server is a NATS server, which may be running or not.
type Server struct {
	Address string // a host and port of the loopback interface

	config string // the path of its configuration
	data   string
	cmd    *exec.Cmd
	stdin  io.Closer
}

// New returns a server that runs. It ends with the test. The lines, such as "authorization { … }", are added to its
// configuration.
func New(tb testing.TB, lines ...string) *Server {
	tb.Helper()
	s := prepare(tb, testkit.Address(tb), lines)
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

// NewCluster returns servers of one cluster, which run.
func NewCluster(tb testing.TB, size int) []*Server {
	tb.Helper()
	routes := make([]string, size)
	for i := range routes {
		routes[i] = "nats://" + testkit.Address(tb)
	}
	servers := make([]*Server, size)
	for i := range servers {
		servers[i] = prepare(tb, testkit.Address(tb), []string{
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

func prepare(tb testing.TB, address string, lines []string) *Server {
	tb.Helper()
	dir := tb.TempDir()
	s := &Server{Address: address, config: filepath.Join(dir, "nats.conf"), data: filepath.Join(dir, "data")}
	lines = append(lines,
		fmt.Sprintf("listen: %q", address),
		fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }", s.data),
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
	s.cmd = exec.Command(program)
	s.cmd.Env = append(os.Environ(), configVariable+"="+s.config)
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	exited := make(chan error, 1)
	go func(cmd *exec.Cmd) { exited <- cmd.Wait() }(s.cmd)
	for {
		conn, err := net.Dial("tcp", s.Address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-exited:
			tb.Fatal("the NATS server has ended: ", err)
		default:
		}
	}
}

// Kill kills the server with SIGKILL. It does nothing if it does not run.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	_, _ = s.cmd.Process.Wait()
	_ = s.stdin.Close()
	s.cmd = nil
}
