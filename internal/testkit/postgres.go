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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresServer is a PostgreSQL server with its own cluster in a temporary directory. It listens on a Unix socket in
// that directory, where the superuser postgres needs no password. It does not sync its files.
//
// It ends with the test binary, however that ends: see [Guard].
type PostgresServer struct {
	directory string
	port      int
	network   bool
	password  string
	settings  []string
	tls       bool
	programs  string
	databases atomic.Int64
	version   atomic.Int64 // 0 until somebody asks
	sessions  sessions
	killed    bool

	shared bool   // by all tests
	guard  *Guard // nil if another process has started the server
	pid    int

	releasePort func() error // nil if it does not listen on the network
}

// PostgresConfig configures a server of [NewPostgres]. The zero value is the configuration of [Postgres].
type PostgresConfig struct {
	// Password is the superuser's password. If it is not empty, the server also listens on a free loopback port, and
	// requires the password there by SCRAM-SHA-256.
	Password string

	// TLS has the server accept TLS with a certificate of its own: see [PostgresServer.CAFile].
	TLS bool

	// Settings are additional lines of postgresql.conf, such as "max_connections = 10".
	Settings []string

	// StandbyOf is a server without a password to copy, and to follow as a hot standby. Both need the settings
	// "wal_level = replica" and "max_wal_senders = 4".
	StandbyOf *PostgresServer
}

// Postgres returns the server that all tests share, which [StartShared] has started for all test binaries; without that
// each test binary starts one. Each test uses its own database: see [PostgresServer.NewDatabase]. Tests that look at
// the whole server, or change it, need one of their own. The shared server also listens on the network, with
// [Password].
func Postgres(tb testing.TB) *PostgresServer {
	tb.Helper()
	requirePostgres(tb)
	server, err := sharedPostgres()
	if err != nil {
		tb.Fatal("starting PostgreSQL:", err)
	}
	tb.Cleanup(func() { keepLog(tb, "postgres", server.logFile()) })
	return server
}

// postgresVariable has the port and the directory of the shared server.
const postgresVariable = "CULVERT_TEST_POSTGRES"

var sharedPostgres = sync.OnceValues(func() (*PostgresServer, error) {
	place := os.Getenv(postgresVariable)
	if place == "" {
		// Several packages are tested at once.
		s, err := startPostgres(PostgresConfig{Password: Password, Settings: []string{"max_connections = 400"}})
		if err == nil {
			s.shared = true
		}
		return s, err
	}
	s := &PostgresServer{shared: true, network: true, password: Password, programs: postgresPrograms()}
	err := parseShared(place, &s.port, &s.directory)
	return s, err
})

// NewPostgres starts a server for one test, which may stop and kill it. The server ends with the test.
func NewPostgres(tb testing.TB, config PostgresConfig) *PostgresServer {
	tb.Helper()
	requirePostgres(tb)
	server, err := startPostgres(config)
	if err != nil {
		tb.Fatal("starting PostgreSQL:", err)
	}
	tb.Cleanup(func() {
		keepLog(tb, "postgres", server.logFile())
		if server.killed {
			// A killed server leaves a shared memory segment, which only a new start removes.
			server.Start(tb)
		}
		if err := server.remove(); err != nil {
			tb.Error("removing the PostgreSQL server:", err)
		}
	})
	return server
}

// ConnString returns a connection string for a database, as the superuser on the Unix socket.
func (s *PostgresServer) ConnString(database string) string {
	return fmt.Sprintf("host=%s port=%d user=postgres dbname=%s sslmode=disable", s.directory, s.port, database)
}

// Address returns the loopback host and port. The test fails if the server has no password.
func (s *PostgresServer) Address(tb testing.TB) string {
	tb.Helper()
	if !s.network {
		tb.Fatal("a PostgreSQL server without a password does not listen on the network")
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// SocketPath returns the path of the Unix socket.
func (s *PostgresServer) SocketPath() string {
	return filepath.Join(s.directory, ".s.PGSQL."+strconv.Itoa(s.port))
}

// CAFile returns the path of the certificate of a server with TLS. It is valid for 127.0.0.1.
func (s *PostgresServer) CAFile() string { return filepath.Join(s.directory, "certificate.pem") }

// Start starts the server again after Stop or Kill.
func (s *PostgresServer) Start(tb testing.TB) {
	tb.Helper()
	s.requireOwn(tb)
	if err := s.start(); err != nil {
		tb.Fatal("starting PostgreSQL:", err)
	}
}

// Stop shuts the server down and ends its sessions with a message. If a client does not read, its session cannot send
// the message, and is terminated.
func (s *PostgresServer) Stop(tb testing.TB) {
	tb.Helper()
	s.requireOwn(tb)
	err := signal(s.pid, syscall.SIGINT, 10*time.Second) // a fast shutdown
	if err == nil {
		return
	}
	if immediate := signal(s.pid, syscall.SIGQUIT, 10*time.Second); immediate != nil {
		tb.Fatal("stopping PostgreSQL:", errors.Join(err, immediate))
	}
}

// requireOwn fails a test that stops the server of all tests.
func (s *PostgresServer) requireOwn(tb testing.TB) {
	tb.Helper()
	if s.shared {
		tb.Fatal("all tests share this server: use NewPostgres")
	}
}

// Kill kills all processes of the server with SIGKILL, as if the machine crashed.
func (s *PostgresServer) Kill(tb testing.TB) {
	tb.Helper()
	s.requireOwn(tb)
	var sessions []int
	for _, row := range s.query(tb, "postgres", "SELECT pid FROM pg_catalog.pg_stat_activity") {
		pid, err := strconv.Atoi(row[0])
		if err != nil {
			tb.Fatal(err)
		}
		sessions = append(sessions, pid)
	}
	processes, err := killWithChildren(s.pid, sessions)
	if err != nil {
		tb.Fatal(err)
	}
	WaitFor(tb, "the killed processes to end", func() bool { return !slices.ContainsFunc(processes, alive) })
	// The process number may be reused, or belong to a zombie.
	err = errors.Join(os.Remove(filepath.Join(s.data(), "postmaster.pid")), os.Remove(s.SocketPath()+".lock"))
	if err != nil {
		tb.Fatal(err)
	}
	s.killed = true
}

var postgresPlaces = []string{
	"/usr/lib/postgresql/*/bin", "/usr/libexec/postgresql*", "/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin",
}

// postgresPrograms returns the directory of initdb, postgres and pg_ctl, or "". Many distributions keep it out of PATH.
var postgresPrograms = sync.OnceValue(func() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	version := regexp.MustCompile(`[0-9]+`)
	best, newest := "", 0
	for _, place := range postgresPlaces {
		directories, err := filepath.Glob(place)
		if err != nil {
			panic(err)
		}
		for _, directory := range directories {
			number, err := strconv.Atoi(version.FindString(directory))
			if err != nil {
				continue
			}
			if _, err := exec.LookPath(filepath.Join(directory, "initdb")); err == nil && number > newest {
				best, newest = directory, number
			}
		}
	}
	return best
})

func requirePostgres(tb testing.TB) {
	tb.Helper()
	if postgresPrograms() == "" {
		Missing(tb, "a PostgreSQL server", "apt-get install postgresql, or the like")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		Missing(tb, "a POSIX shell", "run the tests on a Unix system")
	}
}

func startPostgres(config PostgresConfig) (_ *PostgresServer, err error) {
	s := &PostgresServer{
		port: 5432, network: config.Password != "", password: config.Password, settings: config.Settings,
		tls: config.TLS, programs: postgresPrograms(),
	}
	s.directory, err = os.MkdirTemp("", "culvert-postgres-")
	if err != nil {
		return nil, err
	}
	if err := giveAway(s.directory); err != nil {
		return nil, errors.Join(err, os.Remove(s.directory))
	}
	if s.guard, err = NewGuard(s.directory, "QUIT", s.command); err != nil {
		return nil, errors.Join(err, os.Remove(s.directory))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove())
		}
	}()
	initialize := s.initialize
	if config.StandbyOf != nil {
		initialize = func() error { return s.copy(config.StandbyOf) }
	}
	if err := initialize(); err != nil {
		return nil, err
	}
	if err := s.configure(); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil || config.StandbyOf != nil {
		return s, err
	}
	return s, s.setPassword()
}

// remove stops the server and waits until its directory is removed.
func (s *PostgresServer) remove() error {
	err := s.guard.Close()
	if s.releasePort != nil {
		err = errors.Join(err, s.releasePort())
	}
	return err
}

func (s *PostgresServer) logFile() string { return filepath.Join(s.directory, "log") }

func (s *PostgresServer) data() string { return filepath.Join(s.directory, "data") }

// setPassword sets the password of the superuser, which the network requires.
func (s *PostgresServer) setPassword() error {
	if s.password == "" {
		return nil
	}
	conn, err := pgconn.Connect(context.Background(), s.ConnString("postgres"))
	if err != nil {
		return err
	}
	password := "'" + strings.ReplaceAll(s.password, "'", "''") + "'"
	err = conn.Exec(context.Background(), "ALTER USER postgres PASSWORD "+password).Close()
	return errors.Join(err, conn.Close(context.Background()))
}

// configure appends settings, which override earlier ones in the same file.
func (s *PostgresServer) configure() error {
	listen := ""
	if s.network {
		var err error
		if s.port, s.releasePort, err = reservePort(); err != nil {
			return err
		}
		listen = "127.0.0.1"
	}
	settings := s.settings
	if s.tls {
		key := filepath.Join(s.directory, "key.pem")
		if err := makeCertificate(s.CAFile(), key); err != nil {
			return err
		}
		settings = append([]string{
			"ssl = on", "ssl_cert_file = '" + s.CAFile() + "'", "ssl_key_file = '" + key + "'",
		}, settings...)
	}
	file, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// Shared memory in files is removed with them, and containers have little POSIX shared memory.
	_, err = fmt.Fprintf(file, `
listen_addresses = '%s'
port = %d
unix_socket_directories = '%s'
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
autovacuum = off
dynamic_shared_memory_type = mmap
jit = off
wal_init_zero = off
%s
`, listen, s.port, s.directory, strings.Join(settings, "\n"))
	return errors.Join(err, file.Close())
}

func (s *PostgresServer) start() (err error) {
	if s.pid, err = s.guard.Start(filepath.Join(s.programs, "postgres"), "-D", s.data()); err != nil {
		return err
	}
	s.killed = false
	return s.guard.Await(s.pid, time.Minute, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn, err := pgconn.Connect(ctx, s.ConnString("postgres"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// run runs a program of PostgreSQL to its end.
func (s *PostgresServer) run(program string, args ...string) error {
	output, err := s.command(filepath.Join(s.programs, program), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, bytes.TrimSpace(output))
	}
	return nil
}

// command returns a command that runs unprivileged in the directory of the server.
func (s *PostgresServer) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = s.directory
	cmd.Env = append(environment(), "LC_ALL=C", "TZ=UTC")
	dropPrivileges(cmd)
	return cmd
}

// environment returns the environment without variables that affect PostgreSQL and its clients.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc([]string{"PG", "LC_", "TZ="}, func(prefix string) bool {
			return strings.HasPrefix(variable, prefix)
		})
	})
}

// WaitFor calls ask until it returns true. After a minute the test fails.
func WaitFor(tb testing.TB, what string, ask func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatal("waited a minute for", what)
		}
	}
}
