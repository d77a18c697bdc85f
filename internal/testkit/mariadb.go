package testkit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MariaDBServer is a MariaDB server with its own data in a temporary directory. It listens on a Unix socket in that
// directory, where root needs no password unless one is configured. It does not sync its files.
//
// A shell starts, stops and kills the server. However the test binary ends, the shell's standard input then ends: it
// kills the server and removes the directory.
type MariaDBServer struct {
	directory string
	config    MariaDBConfig
	databases atomic.Int64

	shell    *exec.Cmd
	commands *os.File
	answers  *bufio.Reader

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
}

// MariaDB returns the server that all tests of a test binary share. The first call starts it. Each test should use its
// own database: see [MariaDBServer.NewDatabase].
func MariaDB(tb testing.TB) *MariaDBServer {
	tb.Helper()
	requireMariaDB(tb)
	server, err := sharedMariaDB()
	if err != nil {
		tb.Fatal("starting MariaDB:", err)
	}
	return server
}

var sharedMariaDB = sync.OnceValues(func() (*MariaDBServer, error) { return startMariaDB(MariaDBConfig{}) })

// NewMariaDB starts a server for one test, which may stop and kill it. The server ends with the test.
func NewMariaDB(tb testing.TB, config MariaDBConfig) *MariaDBServer {
	tb.Helper()
	requireMariaDB(tb)
	server, err := startMariaDB(config)
	if err != nil {
		tb.Fatal("starting MariaDB:", err)
	}
	tb.Cleanup(func() {
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
	if err := s.start(); err != nil {
		tb.Fatal("starting MariaDB:", err)
	}
}

// Stop shuts the server down and ends its sessions with a message.
func (s *MariaDBServer) Stop(tb testing.TB) {
	tb.Helper()
	if _, err := s.ask("stop"); err != nil {
		tb.Fatal("stopping MariaDB:", err)
	}
}

// Kill kills the server with SIGKILL, as if the machine crashed.
func (s *MariaDBServer) Kill(tb testing.TB) {
	tb.Helper()
	if _, err := s.ask("kill"); err != nil {
		tb.Fatal("killing MariaDB:", err)
	}
}

func requireMariaDB(tb testing.TB) {
	tb.Helper()
	for _, program := range []string{"mariadbd", "mariadb-install-db"} {
		if mariaDBProgram(program) == "" {
			Missing(tb, "a MariaDB server", "apt-get install mariadb-server, or the like")
		}
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
	// A socket's path is limited to about a hundred bytes, and TMPDIR may be too long.
	s.directory, err = os.MkdirTemp("/tmp", "culvert-mariadb-")
	if err != nil {
		return nil, err
	}
	if err := giveAway(s.directory); err != nil {
		return nil, errors.Join(err, os.Remove(s.directory))
	}
	if err := s.startShell(); err != nil {
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
	install := s.command(mariaDBProgram("mariadb-install-db"), "--no-defaults", "--datadir="+s.data(),
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
		"--innodb-log-file-size=8M", "--tmpdir="+s.temporary())
	if output, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w\n%s", err, bytes.TrimSpace(output))
	}
	if s.config.Password != "" {
		if s.port, s.releasePort, err = reservePort(); err != nil {
			return err
		}
	}
	if err := s.start(); err != nil {
		return err
	}
	return s.setPassword()
}

// shellScript executes one command per line. It ignores a keyboard interrupt, which also reaches it, so that it can
// remove the server.
const shellScript = `
trap '' HUP INT QUIT TERM
directory=$1 server=
end() {
	[ -n "$server" ] && kill "$1" "$server" && wait "$server"
	server=
}
while read -r line; do
	case $line in
	stop) end -TERM ;;
	kill) end -KILL ;;
	*)
		(trap - HUP INT QUIT TERM; eval "exec $line") >>"$directory/log" 2>&1 </dev/null &
		server=$!
		;;
	esac
	echo "$server"
done
end -KILL
rm -rf "$directory"
`

func (s *MariaDBServer) startShell() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	s.commands = write
	s.shell = s.command("sh", "-c", shellScript, "sh", s.directory)
	s.shell.Stdin = read
	output, err := s.shell.StdoutPipe()
	if err == nil {
		s.answers = bufio.NewReader(output)
		err = s.shell.Start()
	}
	return errors.Join(err, read.Close())
}

// ask sends the shell a command and returns the process number of the server, or 0 if it does not run.
func (s *MariaDBServer) ask(line string) (pid int, err error) {
	if _, err := fmt.Fprintln(s.commands, line); err != nil {
		return 0, err
	}
	answer, err := s.answers.ReadString('\n')
	if answer = strings.TrimSpace(answer); err != nil || answer == "" {
		return 0, err
	}
	return strconv.Atoi(answer)
}

// remove kills the server and waits until its directory is removed.
func (s *MariaDBServer) remove() error {
	err := errors.Join(s.commands.Close(), s.shell.Wait())
	if s.releasePort != nil {
		err = errors.Join(err, s.releasePort())
	}
	return err
}

func (s *MariaDBServer) data() string { return filepath.Join(s.directory, "data") }

// temporary returns the directory of temporary tables. A server removes leftover tables when it starts, so servers must
// not share a directory.
func (s *MariaDBServer) temporary() string { return filepath.Join(s.directory, "tmp") }

// start starts the server and waits until it responds.
func (s *MariaDBServer) start() error {
	arguments := []string{
		mariaDBProgram("mariadbd"), "--no-defaults", "--datadir=" + s.data(), "--socket=" + s.SocketPath(),
		"--pid-file=" + filepath.Join(s.directory, "pid"), "--skip-name-resolve", "--character-set-server=utf8mb4",
		"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
		"--max-allowed-packet=64M", "--performance-schema=OFF", "--tmpdir=" + s.temporary(),
	}
	if s.port == 0 {
		arguments = append(arguments, "--skip-networking")
	} else {
		arguments = append(arguments, "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", s.port))
	}
	if s.config.TLS {
		arguments = append(arguments, "--ssl-cert="+s.CAFile(), "--ssl-key="+s.keyFile())
	}
	arguments = append(arguments, s.config.Options...)
	for i, argument := range arguments {
		arguments[i] = "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	pid, err := s.ask(strings.Join(arguments, " "))
	if err != nil {
		return err
	}
	if err := s.awaitAnswer(pid); err != nil {
		_, killErr := s.ask("kill") // it may still be starting
		return errors.Join(err, killErr)
	}
	return nil
}

// startLimit is the time a server has to start. Only tests change it.
var startLimit = time.Minute

func (s *MariaDBServer) awaitAnswer(pid int) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := s.connect(ctx, "")
		if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && refused.Number == errorAccessDenied {
			return nil // it responds
		}
		if err == nil {
			return conn.Close()
		}
		if !alive(pid) {
			err = errors.New("the server has ended")
		} else if ctx.Err() == nil {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			continue
		}
		log, _ := os.ReadFile(filepath.Join(s.directory, "log")) // only adds to the error
		return fmt.Errorf("%w\n%s", err, log)
	}
}

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
