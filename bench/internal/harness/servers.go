package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
)

// serve starts a server that is a part of the cost, and waits until it is ready. A signal ends it with the session.
func (s *Session) serve(part string, cmd *exec.Cmd, end syscall.Signal, ready func() error) (*Tree, error) {
	tree := NewTree(part, cmd)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true // an interrupt from the terminal is not for the server
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.Cleanup(func() error {
		err := cmd.Process.Signal(end)
		_ = cmd.Wait() // its exit code says nothing
		return err
	})
	for deadline := time.Now().Add(time.Minute); ; {
		err := ready()
		if err == nil || time.Now().After(deadline) {
			return tree, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.Ctx.Done():
			return nil, context.Cause(s.Ctx)
		}
	}
}

// Database is a private server.
type Database struct {
	Env  []string // in which its tools and culvert find it
	Tree *Tree    // its processes, as the part called database
	home string   // the directory of its socket
}

// ConnString returns what drivers connect with to a database of a PostgreSQL server.
func (d *Database) ConnString(name string) string {
	return "host=" + d.home + " user=postgres dbname=" + name
}

// Home is the directory of the socket of a PostgreSQL server.
func (d *Database) Home() string { return d.home }

// Socket is where clients of a MariaDB server connect to.
func (d *Database) Socket() string { return filepath.Join(d.home, "socket") }

// newDatabase makes the directory of a server, in which it runs install.
func (s *Session) newDatabase(name string, install func(home string) *exec.Cmd) (*Database, error) {
	home, err := os.MkdirTemp(s.Dir, name)
	if err != nil {
		return nil, err
	}
	cmd := install(home)
	if err := errors.Join(os.Chmod(s.Dir, 0o711), testkit.Unprivileged(home, cmd)); err != nil {
		return nil, err
	}
	return &Database{home: home}, s.Run(cmd)
}

// start starts the server of a database, which is ready when a client ends without an error.
func (d *Database) start(s *Session, end syscall.Signal, server *exec.Cmd, client ...string) (_ *Database, err error) {
	if err := testkit.Unprivileged(d.home, server); err != nil {
		return nil, err
	}
	d.Tree, err = s.serve("database", server, end, func() error {
		cmd := exec.CommandContext(s.Ctx, client[0], client[1:]...)
		cmd.Env = d.Env
		return s.Run(cmd)
	})
	return d, err
}

// Postgres starts a PostgreSQL server, on a socket in the directory of the session, that ends with it. Settings such as
// "fsync=on" replace those that suit reading.
func (s *Session) Postgres(settings ...string) (*Database, error) {
	bin := testkit.PostgresPrograms()
	if bin == "" {
		return nil, errors.New("no PostgreSQL server found; ./dev bench installs one")
	}
	d, err := s.newDatabase("postgres", func(home string) *exec.Cmd {
		return exec.CommandContext(s.Ctx, filepath.Join(bin, "initdb"), "--pgdata", filepath.Join(home, "data"),
			"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	})
	if err != nil {
		return nil, err
	}
	// A scan that begins in the middle of the table, as scans do that follow each other closely, has another output.
	args := []string{
		"-D", filepath.Join(d.home, "data"), "-k", d.home, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "shared_buffers=1GB", "-c", "max_wal_size=4GB", "-c", "synchronize_seqscans=off",
	}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	d.Env = append(os.Environ(), "PGHOST="+d.home, "PGUSER=postgres", "PGDATABASE=postgres")
	return d.start(s, syscall.SIGINT, exec.Command(filepath.Join(bin, "postgres"), args...), "psql", "-qc", "SELECT 1")
}

// FillTable makes a table of n rows and reads it once, so that the server has it in memory.
func (s *Session) FillTable(env []string, name string, n int) error {
	psql := exec.CommandContext(s.Ctx, "psql", "-qc", fmt.Sprintf("CREATE TABLE %s AS %s", name, postgresQuery(n)),
		"-c", "VACUUM (FREEZE, ANALYZE) "+name, "-c", "CHECKPOINT")
	psql.Env = env
	return s.Run(psql)
}

// MariaDB starts a MariaDB server with an empty database called bench, on a socket in the directory of the session,
// that ends with it. It syncs what it commits, and has as much memory as the one of PostgreSQL.
func (s *Session) MariaDB() (*Database, error) {
	d, err := s.newDatabase("mariadb", func(home string) *exec.Cmd {
		return exec.CommandContext(s.Ctx, testkit.MariaDBProgram("mariadb-install-db"), "--no-defaults",
			"--datadir="+filepath.Join(home, "data"), "--auth-root-authentication-method=normal", "--skip-test-db",
			"--skip-name-resolve")
	})
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(d.home, "socket")
	options := fmt.Sprintf("[client]\nsocket=%s\nuser=root\n", socket)
	if err := os.WriteFile(filepath.Join(s.Dir, ".my.cnf"), []byte(options), 0o600); err != nil {
		return nil, err
	}
	d.Env = append(os.Environ(), "HOME="+s.Dir)
	return d.start(s, syscall.SIGTERM, exec.Command(testkit.MariaDBProgram("mariadbd"), "--no-defaults",
		"--datadir="+filepath.Join(d.home, "data"), "--socket="+socket, "--skip-networking",
		"--pid-file="+filepath.Join(d.home, "pid"), "--character-set-server=utf8mb4", "--innodb-buffer-pool-size=1G",
		"--innodb-log-file-size=1G", "--local-infile=ON"), "mariadb", "-e", "CREATE DATABASE IF NOT EXISTS bench")
}

// Store is a running server of S3 with a bucket.
type Store struct {
	Tree    *Tree
	Address string // host:port
}

// Env is for clients of the store at an address, its own or a proxy's.
func (*Store) Env(address string) []string {
	endpoint := "http://" + address
	return append(stores.Credentials(), "AWS_REGION=us-east-1", "AWS_ENDPOINT_URL="+endpoint,
		"S3_ENDPOINT_URL="+endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CA_BUNDLE=", // which old clients cannot use
	)
}

// StartObjectStore starts a store that package stores has, with the bucket stores.Bucket. It ends with the session.
func (s *Session) StartObjectStore(name string) (*Store, error) {
	dir := filepath.Join(s.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	launch, err := stores.NewLaunch(name, dir)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() error {
		var errs []error
		for _, pattern := range launch.Leftovers {
			files, err := filepath.Glob(pattern)
			errs = append(errs, err)
			for _, file := range files {
				errs = append(errs, os.Remove(file))
			}
		}
		return errors.Join(errs...)
	})
	cmd := exec.Command(launch.Program, launch.Args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), launch.Env...)
	tree, err := s.serve("server", cmd, syscall.SIGTERM, launch.Ready)
	return &Store{tree, launch.Address}, err
}

// Queue is a running NATS server that keeps its messages on the disk.
type Queue struct {
	URL  string
	Tree *Tree
}

// Queue starts a NATS server of the version that Culvert embeds. It syncs each write, as the one within a process does,
// and ends with the session.
func (s *Session) Queue() (*Queue, error) {
	program, err := s.Build("..", "github.com/nats-io/nats-server/v2")
	if err != nil {
		return nil, err
	}
	ports, err := testkit.ReservePorts(1)
	if err != nil {
		return nil, err
	}
	address, config := "127.0.0.1:"+ports[0], filepath.Join(s.Dir, "nats.conf")
	text := fmt.Sprintf("listen: %s\njetstream { store_dir: %q, sync_interval: always }\n", address,
		filepath.Join(s.Dir, "nats"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-c", config, "-l", filepath.Join(s.Dir, "nats.log"))
	tree, err := s.serve("queue", cmd, syscall.SIGTERM, func() error {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return &Queue{"nats://" + address, tree}, err
}
