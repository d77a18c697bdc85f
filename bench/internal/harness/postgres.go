package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Database is a private server.
type Database struct {
	Env  []string // in which its tools and culvert find it
	Tree *Tree    // its processes, as the part called database
}

// Postgres starts a PostgreSQL server, on a socket in the directory of the session, that ends with it. Settings such as
// "fsync=on" replace those that suit reading.
func (s *Session) Postgres(settings ...string) (*Database, error) {
	bin, err := ServerBinaries()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(s.Dir, "postgres")
	if err != nil {
		return nil, err
	}
	attr, err := unprivileged(s.Dir, home)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(home, "data")
	initdb := exec.CommandContext(s.Ctx, filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attr, home
	if err := s.Run(initdb); err != nil {
		return nil, err
	}

	log, err := os.Create(home + ".log")
	if err != nil {
		return nil, err
	}
	// A scan that begins in the middle of the table, as scans do that follow each other closely, has another output.
	args := []string{
		"-D", data, "-k", home, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=1GB",
		"-c", "max_wal_size=4GB", "-c", "synchronize_seqscans=off",
	}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), args...)
	server.SysProcAttr, server.Dir, server.Stdout, server.Stderr = attr, home, log, log
	tree := NewTree("database", server)
	if err := server.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	s.Cleanup(func() error {
		// SIGINT ends the sessions and stops the server cleanly.
		return errors.Join(server.Process.Signal(syscall.SIGINT), server.Wait(), log.Close())
	})
	env := append(os.Environ(), "PGHOST="+home, "PGUSER=postgres", "PGDATABASE=postgres")
	return &Database{env, tree}, s.await(env)
}

// await waits until the server answers.
func (s *Session) await(env []string) error {
	deadline := time.Now().Add(time.Minute)
	for {
		psql := exec.CommandContext(s.Ctx, "psql", "-qc", "SELECT 1")
		psql.Env = env
		err := s.Run(psql)
		if err == nil || s.Ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.Ctx.Done():
		}
	}
}

// ServerBinaries finds the directory of the PostgreSQL server, which distributions keep out of PATH.
func ServerBinaries() (string, error) {
	if file, err := exec.LookPath("initdb"); err == nil {
		file, err = filepath.EvalSymlinks(file)
		return filepath.Dir(file), err
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin/initdb",
		"/usr/libexec/postgresql*/initdb",
		"/opt/homebrew/opt/postgresql@*/bin/initdb",
		"/usr/local/opt/postgresql@*/bin/initdb",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return filepath.Dir(found[len(found)-1]), nil
		}
	}
	return "", errors.New("no PostgreSQL server found; ./dev bench installs one")
}

// unprivileged gives what a process needs to run as the owner of home, and for root, which PostgreSQL refuses, makes
// that the user nobody.
func unprivileged(parent, home string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Setpgid: true} // an interrupt from the terminal is not for the server
	if os.Getuid() != 0 {
		return attr, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(nobody.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, errors.Join(os.Chmod(parent, 0o711), os.Chown(home, int(uid), int(gid)))
}

// FillTable makes a table of n rows and reads it once, so that the server has it in memory.
func (s *Session) FillTable(env []string, name string, n int) error {
	psql := exec.CommandContext(s.Ctx, "psql", "-qc", fmt.Sprintf("CREATE TABLE %s AS %s", name, postgresQuery(n)),
		"-c", "VACUUM (FREEZE, ANALYZE) "+name, "-c", "CHECKPOINT")
	psql.Env = env
	return s.Run(psql)
}
