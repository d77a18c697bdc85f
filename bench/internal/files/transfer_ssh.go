package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"culvert/bench/internal/harness"
	"culvert/internal/testkit"
)

// sshCipher is the fastest that OpenSSH has on machines with AES in hardware.
const sshCipher = "aes128-gcm@openssh.com"

// sshServer is an OpenSSH server with a configuration and with keys of its own, all in the directory of the session.
type sshServer struct {
	*harness.Session
	program string
	dir     string
	user    string
	ports   int // that were given out
}

// newSSH makes the keys. It gives nil if the programs are not there.
func newSSH(s *harness.Session) (*sshServer, error) {
	program, err := exec.LookPath("sshd")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/sshd")
	}
	for _, tool := range []string{"ssh", "scp", "rsync", "ssh-keygen"} {
		if _, missing := exec.LookPath(tool); missing != nil {
			err = errors.Join(err, missing)
		}
	}
	if err != nil {
		s.Say("no scp and no rsync: %v", err)
		return nil, nil
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	h := &sshServer{Session: s, program: program, dir: filepath.Join(s.Dir, "ssh"), user: me.Username}
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{"host", "user"} {
		keygen := exec.CommandContext(s.Ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			filepath.Join(h.dir, name))
		if err := s.Run(keygen); err != nil {
			return nil, err
		}
	}
	if os.Getuid() != 0 {
		return h, nil
	}
	// Where no sshd was started since the machine was, the directory that it changes its root to is missing.
	const empty = "/run/sshd"
	switch err := os.Mkdir(empty, 0o755); {
	case err == nil:
		s.Cleanup(func() error { return os.Remove(empty) })
	case !errors.Is(err, os.ErrExist):
		return nil, err
	}
	return h, nil
}

// sshd is a server that runs all the time.
type sshd struct {
	port string
	tree *harness.Tree
}

// serve starts a server. It returns nil if there is no sshd.
func (h *sshServer) serve(where func(*exec.Cmd) *exec.Cmd, host string) (*sshd, error) {
	if h == nil {
		return nil, nil
	}
	ports, err := testkit.ReservePorts(1)
	if err != nil {
		return nil, err
	}
	h.ports++
	config := filepath.Join(h.dir, fmt.Sprint("config", h.ports))
	text := fmt.Sprintf("Port %s\nListenAddress %s\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\n"+
		"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n",
		ports[0], host, h.dir, h.dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := where(exec.CommandContext(h.Ctx, h.program, "-D", "-e", "-f", config))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	tree := harness.NewTree("server", cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stderr)
	said, err := lines.ReadString('\n')
	var rest sync.WaitGroup
	rest.Go(func() { _, _ = io.Copy(io.Discard, lines) }) // until it ends
	h.Cleanup(func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		rest.Wait()
		_ = cmd.Wait() // it ends by the signal
		return err
	})
	if err != nil || !strings.HasPrefix(said, "Server listening") {
		return nil, errors.Join(fmt.Errorf("sshd does not listen: %q", said), err)
	}
	return &sshd{ports[0], tree}, nil
}

// options are those of ssh and of scp.
func (h *sshServer) options(to *sshd) []string {
	return []string{
		"-F", "none", "-o", "IdentityFile=" + filepath.Join(h.dir, "user"), "-o", "Port=" + to.port,
		"-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-o", "Ciphers=" + sshCipher,
	}
}
