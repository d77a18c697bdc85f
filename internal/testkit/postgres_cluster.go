package testkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// initialize makes a new cluster.
func (s *PostgresServer) initialize() error {
	args := []string{
		"-U", "postgres", "--encoding=UTF8", "--locale=C", "--no-sync",
		"--auth-local=trust", "--auth-host=scram-sha-256",
	}
	initdb := filepath.Join(s.programs, "initdb")
	return fromTemplate(s.data(), initdb, append(args, "without maps"), func(data string) error {
		if err := s.run("initdb", append(args, "-D", data)...); err != nil {
			return err
		}
		return removeMaps(data)
	})
}

// removeMaps removes the maps of free space and of visibility from a new cluster. The server makes them anew where it
// needs them. They are a quarter of the files that it copies for each new database.
func removeMaps(data string) error {
	for _, pattern := range []string{"base/*/*_fsm", "base/*/*_vm"} {
		maps, err := filepath.Glob(filepath.Join(data, pattern))
		if err != nil {
			return err
		}
		for _, name := range maps {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// copy makes the cluster a standby of a server.
func (s *PostgresServer) copy(primary *PostgresServer) error {
	if _, err := exec.LookPath(filepath.Join(s.programs, "pg_basebackup")); err != nil {
		return s.copyStopped(primary)
	}
	return s.run("pg_basebackup", "-D", s.data(), "-h", primary.directory, "-p", strconv.Itoa(primary.port),
		"-U", "postgres", "--checkpoint=fast", "--no-sync", "--write-recovery-conf")
}

// copyStopped is copy without a program for that, which servers that are packed for tests lack. The primary is started
// again.
func (s *PostgresServer) copyStopped(primary *PostgresServer) error {
	if err := signal(primary.pid, syscall.SIGINT, 10*time.Second); err != nil {
		return err
	}
	const standby = `cp -a "$1" "$2" && : >"$2/standby.signal" &&
		echo "primary_conninfo = '$3'" >>"$2/postgresql.auto.conf"`
	address := fmt.Sprintf("host=%s port=%d user=postgres", primary.directory, primary.port)
	output, err := s.command("sh", "-c", standby, "sh", primary.data(), s.data(), address).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, output)
	}
	return errors.Join(err, primary.start())
}
