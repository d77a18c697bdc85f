package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// MariaDB starts a MariaDB server with an empty database called bench, on a socket in the directory of the session,
// that ends with it. It syncs what it commits, and has as much memory as the one of PostgreSQL.
func (s *Session) MariaDB() (*Database, error) {
	home := filepath.Join(s.Dir, "mariadb")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	attr, err := unprivileged(s.Dir, home)
	if err != nil {
		return nil, err
	}
	data, socket := filepath.Join(home, "data"), filepath.Join(home, "socket")
	install := exec.CommandContext(s.Ctx, "mariadb-install-db", "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	install.SysProcAttr, install.Dir = attr, home
	if err := s.Run(install); err != nil {
		return nil, err
	}
	program, err := exec.LookPath("mariadbd")
	if err != nil {
		program = "/usr/sbin/mariadbd" // which is not in the PATH of every user
	}
	cmd := exec.Command(program, "--no-defaults", "--datadir="+data, "--socket="+socket, "--skip-networking",
		"--pid-file="+filepath.Join(home, "pid"), "--character-set-server=utf8mb4", "--innodb-buffer-pool-size=1G",
		"--innodb-log-file-size=1G", "--local-infile=ON")
	cmd.SysProcAttr, cmd.Dir = attr, home
	tree := NewTree("database", cmd)
	server, err := StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	s.Cleanup(server.Stop)
	options := fmt.Sprintf("[client]\nsocket=%s\nuser=root\n", socket)
	if err := os.WriteFile(filepath.Join(s.Dir, ".my.cnf"), []byte(options), 0o600); err != nil {
		return nil, err
	}
	d := &Database{append(os.Environ(), "HOME="+s.Dir), tree}
	return d, s.awaitStore(func() error {
		create := exec.CommandContext(s.Ctx, "mariadb", "-e", "CREATE DATABASE IF NOT EXISTS bench")
		create.Env = d.Env
		return s.Run(create)
	})
}
