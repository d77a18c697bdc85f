package testkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MariaDBServer is a MariaDB server with its own data in a temporary directory. It listens on a Unix socket in that
// directory, where root needs no password unless one is configured. It does not sync its files.
//
// It ends with the test binary, however that ends: see [Guard].
type MariaDBServer struct {
	directory string
	config    MariaDBConfig
	databases atomic.Int64

	shared bool   // by all tests
	guard  *Guard // nil if another process has started the server
	pid    int

	port        int // 0 if it does not listen on the network
	releasePort func() error
}

// MariaDBConfig configures a server of [NewMariaDB]. The zero value is the configuration of [MariaDB].
type MariaDBConfig struct {
	// Password is root's password. If it is not empty, the server also listens on a free loopback port.
	Password string

	// TLS enables TLS with a certificate for 127.0.0.1: see [MariaDBServer.CAFile].
	TLS bool

	// Options are additional command line options, such as "--sql-mode=ANSI".
	Options []string

	shared bool // listens on the network, where alone root has a password
}

// MariaDB returns the server that all tests share, which [StartShared] has started for all test binaries; without that
// each test binary starts one. Each test uses its own database: see [MariaDBServer.NewDatabase]. Tests that look at the
// whole server, or change it, need one of their own. The shared server also listens on the network: there, and only
// there, root has [Password].
func MariaDB(tb testing.TB) *MariaDBServer {
	tb.Helper()
	requireMariaDB(tb)
	server, err := sharedMariaDB()
	if err != nil {
		tb.Fatal("starting MariaDB:", err)
	}
	tb.Cleanup(func() { keepLog(tb, "mariadb", server.logFile()) })
	return server
}

// mariaDBVariable has the port and the directory of the shared server.
const mariaDBVariable = "CULVERT_TEST_MARIADB"

var sharedMariaDB = sync.OnceValues(func() (*MariaDBServer, error) {
	place := os.Getenv(mariaDBVariable)
	if place == "" {
		s, err := startMariaDB(MariaDBConfig{shared: true, Options: []string{"--max-connections=400"}})
		if err == nil {
			s.shared = true
		}
		return s, err
	}
	s := &MariaDBServer{shared: true}
	err := parseShared(place, &s.port, &s.directory)
	return s, err
})

// NewMariaDB starts a server for one test, which may stop and kill it. The server ends with the test.
func NewMariaDB(tb testing.TB, config MariaDBConfig) *MariaDBServer {
	tb.Helper()
	requireMariaDB(tb)
	server, err := startMariaDB(config)
	if err != nil {
		tb.Fatal("starting MariaDB:", err)
	}
	tb.Cleanup(func() {
		keepLog(tb, "mariadb", server.logFile())
		if err := server.remove(); err != nil {
			tb.Error("removing the MariaDB server:", err)
		}
	})
	return server
}

// SocketPath returns the path of the Unix socket.
func (s *MariaDBServer) SocketPath() string { return filepath.Join(s.directory, "socket") }

// Directory returns the directory that holds all files of the server.
func (s *MariaDBServer) Directory() string { return s.directory }

// Address returns the loopback host and port. The test fails if the server has no password.
func (s *MariaDBServer) Address(tb testing.TB) string {
	tb.Helper()
	if s.port == 0 {
		tb.Fatal("a MariaDB server without a password does not listen on the network")
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// CAFile returns the file of the certificate authority.
func (s *MariaDBServer) CAFile() string { return filepath.Join(s.directory, "certificate.pem") }

// Start starts the server again after Stop or Kill.
func (s *MariaDBServer) Start(tb testing.TB) {
	tb.Helper()
	s.requireOwn(tb)
	if err := s.start(); err != nil {
		tb.Fatal("starting MariaDB:", err)
	}
}

// Stop shuts the server down and ends its sessions with a message.
func (s *MariaDBServer) Stop(tb testing.TB) {
	tb.Helper()
	s.requireOwn(tb)
	if err := signal(s.pid, syscall.SIGTERM, time.Minute); err != nil {
		tb.Fatal("stopping MariaDB:", err)
	}
}

// Kill kills the server with SIGKILL, as if the machine crashed.
func (s *MariaDBServer) Kill(tb testing.TB) {
	tb.Helper()
	s.requireOwn(tb)
	if err := signal(s.pid, syscall.SIGKILL, time.Minute); err != nil {
		tb.Fatal("killing MariaDB:", err)
	}
}

// requireOwn fails a test that stops the server of all tests.
func (s *MariaDBServer) requireOwn(tb testing.TB) {
	tb.Helper()
	if s.shared {
		tb.Fatal("all tests share this server: use NewMariaDB")
	}
}

func requireMariaDB(tb testing.TB) {
	tb.Helper()
	if !hasMariaDB() {
		Missing(tb, "a MariaDB server", "apt-get install mariadb-server, or the like")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		Missing(tb, "a POSIX shell", "run the tests on a Unix system")
	}
}

// mariaDBProgram returns the path of a program, or "". Servers are often not in the PATH of users.
func mariaDBProgram(name string) string {
	for _, path := range []string{
		name, "/usr/sbin/" + name, "/usr/libexec/" + name, "/opt/homebrew/bin/" + name, "/usr/local/bin/" + name,
	} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	return ""
}

func startMariaDB(config MariaDBConfig) (*MariaDBServer, error) {
	s := &MariaDBServer{config: config}
	var err error
	parent := os.TempDir()
	if len(parent) > 40 {
		parent = "/tmp" // a socket's path is limited to about a hundred bytes
	}
	s.directory, err = os.MkdirTemp(parent, "culvert-mariadb-")
	if err != nil {
		return nil, err
	}
	if err := giveAway(s.directory); err != nil {
		return nil, errors.Join(err, os.Remove(s.directory))
	}
	if s.guard, err = NewGuard(s.directory, "KILL", s.command); err != nil {
		return nil, errors.Join(err, os.Remove(s.directory))
	}
	if err := s.initialize(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// initialize creates the data and starts the server for the first time.
func (s *MariaDBServer) initialize() error {
	if s.config.TLS {
		if err := s.makeCertificate(); err != nil {
			return err
		}
	}
	err := os.Mkdir(s.temporary(), 0o700)
	if err == nil {
		err = giveAway(s.temporary())
	}
	if err != nil {
		return err
	}
	if MySQL() != "" {
		err = s.initializeMySQL()
	} else {
		err = s.install()
	}
	if err != nil {
		return err
	}
	if s.config.Password != "" || s.config.shared {
		if s.port, s.releasePort, err = reservePort(); err != nil {
			return err
		}
	}
	if err := s.start(); err != nil {
		return err
	}
	return s.setPassword()
}

// install makes the data of MariaDB.
func (s *MariaDBServer) install() error {
	program := mariaDBProgram("mariadb-install-db")
	args := []string{
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		"--innodb-log-file-size=8M",
	}
	return fromTemplate(s.data(), mariaDBProgram("mariadbd"), args, func(data string) error {
		// --no-defaults comes first.
		first := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + s.temporary()}
		install := s.command(program, append(first, args...)...)
		if output, err := install.CombinedOutput(); err != nil {
			return fmt.Errorf("mariadb-install-db: %w\n%s", err, bytes.TrimSpace(output))
		}
		return nil
	})
}

// remove kills the server and waits until its directory is removed.
func (s *MariaDBServer) remove() error {
	err := s.guard.Close()
	if s.releasePort != nil {
		err = errors.Join(err, s.releasePort())
	}
	return err
}

func (s *MariaDBServer) logFile() string { return filepath.Join(s.directory, "log") }

func (s *MariaDBServer) data() string { return filepath.Join(s.directory, "data") }

// temporary returns the directory of temporary tables. A server removes leftover tables when it starts, so servers must
// not share a directory.
func (s *MariaDBServer) temporary() string { return filepath.Join(s.directory, "tmp") }

// start starts the server and waits until it responds.
func (s *MariaDBServer) start() (err error) {
	arguments := []string{
		"--no-defaults", "--datadir=" + s.data(), "--socket=" + s.SocketPath(),
		"--pid-file=" + filepath.Join(s.directory, "pid"), "--skip-name-resolve", "--character-set-server=utf8mb4",
		"--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0",
		"--innodb-flush-method=nosync", "--innodb-doublewrite=OFF", "--max-allowed-packet=64M",
		"--tmpdir=" + s.temporary(),
	}
	program := MySQL()
	if program != "" {
		arguments = append(arguments, mySQLOptions...)
	} else {
		program = mariaDBProgram("mariadbd")
		arguments = append(arguments, "--innodb-log-file-size=8M", "--loose-sync-frm=OFF", "--performance-schema=OFF")
	}
	if s.port == 0 {
		arguments = append(arguments, "--skip-networking")
	} else {
		arguments = append(arguments, "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", s.port))
	}
	if s.config.TLS {
		arguments = append(arguments, "--ssl-cert="+s.CAFile(), "--ssl-key="+s.keyFile())
	} else if MySQL() != "" {
		arguments = append(arguments, "--tls-version=") // it would make a certificate
	}
	arguments = append(arguments, s.config.Options...)
	if s.pid, err = s.guard.Start(program, arguments...); err != nil {
		return err
	}
	err = s.guard.Await(s.pid, startLimit, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		conn, err := s.connect(ctx, "")
		if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && refused.Number == errorAccessDenied {
			return nil // it responds
		}
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		err = errors.Join(err, signal(s.pid, syscall.SIGKILL, time.Minute)) // it may still be starting
	}
	return err
}

// startLimit is the time a server has to start. Only tests change it.
var startLimit = time.Minute

// errorAccessDenied is ER_ACCESS_DENIED_ERROR.
const errorAccessDenied = 1045

// command returns a command that runs unprivileged in the directory of the server.
func (s *MariaDBServer) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = s.directory
	cmd.Env = append(environment(), "LC_ALL=C", "TZ=UTC", "HOME="+s.directory)
	dropPrivileges(cmd)
	return cmd
}
