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

// MariaDBServer is a MariaDB server with data of its own in a temporary directory. It listens on a Unix socket in that
// directory, where root needs no password unless one was asked for, and takes no care to survive a loss of power.
//
// The server is the child of a shell that starts it, stops it and kills it. When the test binary ends, in whatever way,
// the standard input of the shell ends too: it then kills the server and removes the directory.
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

// MariaDBConfig says how a server of [NewMariaDB] differs from the one of [MariaDB].
type MariaDBConfig struct {
	// Password of root. If not empty, the server also listens on a free port of the loopback address.
	Password string

	// TLS has the server speak TLS, with a certificate that is valid for 127.0.0.1; see [MariaDBServer.CAFile].
	TLS bool

	// Options are further options of the command line, such as "--sql-mode=ANSI".
	Options []string
}

// MariaDB gives the server that all tests of a test binary share. It starts at the first call. Use a database of your
// own from [MariaDBServer.NewDatabase].
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

// NewMariaDB starts a server for one test, which may stop it and kill it. It ends with the test.
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

// SocketPath is the Unix socket that the server listens on.
func (s *MariaDBServer) SocketPath() string { return filepath.Join(s.directory, "socket") }

// Directory is where everything of the server is.
func (s *MariaDBServer) Directory() string { return s.directory }

// Address is the host and port on the loopback address, if the server has a password; else the test fails.
func (s *MariaDBServer) Address(tb testing.TB) string {
	tb.Helper()
	if s.port == 0 {
		tb.Fatal("a MariaDB server without a password does not listen on the network")
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// CAFile is the certificate that has signed that of the server.
func (s *MariaDBServer) CAFile() string { return filepath.Join(s.directory, "certificate.pem") }

// Start starts the server again after Stop or Kill.
func (s *MariaDBServer) Start(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatal("starting MariaDB:", err)
	}
}

// Stop shuts the server down; sessions are told so and cut off.
func (s *MariaDBServer) Stop(tb testing.TB) {
	tb.Helper()
	if _, err := s.ask("stop"); err != nil {
		tb.Fatal("stopping MariaDB:", err)
	}
}

// Kill ends the server by SIGKILL, as when the machine dies.
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

// mariaDBProgram is the path of a program, or "". Servers are often not in the PATH of users.
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
	// The path of a socket may be about a hundred bytes long, which TMPDIR may not leave room for.
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

// initialize makes the data, and starts the server for the first time.
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

// shellScript obeys a line at a time. A keyboard interrupt, which goes to the shell too, must not keep it from removing
// the server.
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

// ask has the shell do something, and gives the process number of the server, 0 if it does not run.
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

// remove kills the server and waits until nothing of it is left.
func (s *MariaDBServer) remove() error {
	err := errors.Join(s.commands.Close(), s.shell.Wait())
	if s.releasePort != nil {
		err = errors.Join(err, s.releasePort())
	}
	return err
}

func (s *MariaDBServer) data() string { return filepath.Join(s.directory, "data") }

// temporary is where the server keeps temporary tables. A server that starts removes all that look like those of one
// before it, so that no two may share a directory.
func (s *MariaDBServer) temporary() string { return filepath.Join(s.directory, "tmp") }

// start starts the server and waits until it answers.
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
		_, killErr := s.ask("kill") // it may come to listen yet
		return errors.Join(err, killErr)
	}
	return nil
}

// startLimit is how long a server may take to answer. Only tests change it.
var startLimit = time.Minute

func (s *MariaDBServer) awaitAnswer(pid int) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := s.connect(ctx, "")
		if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && refused.Number == errorAccessDenied {
			return nil // it answers
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

// command prepares a program to run without privileges in the directory of the server.
func (s *MariaDBServer) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir = s.directory
	cmd.Env = append(environment(), "LC_ALL=C", "TZ=UTC", "HOME="+s.directory)
	dropPrivileges(cmd)
	return cmd
}
