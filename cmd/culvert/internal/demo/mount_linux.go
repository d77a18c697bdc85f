package demo

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/remote"
	"culvert/internal/keyfile"
	"culvert/secureconn"
)

// mount serves the directory of the file, mounts it in another process, since a process must not use its own mount, and
// reads the text from there.
func (d *demo) mount(ctx context.Context, s *stageFigures, key *keyfile.Key) (err error) {
	if err := canMount(); err != nil {
		return &skippedError{err.Error()}
	}
	serving, err := keyfile.Generate()
	if err != nil {
		return err
	}
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", &secureconn.Config{
		Key: serving.ConnectionKey(), Peers: []string{key.Fingerprint()},
	})
	if err != nil {
		return err
	}
	temporary := filepath.Dir(d.decrypted)
	stop, err := serve(listener, filepath.Join(temporary, "served"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	identity, dir := filepath.Join(temporary, "identity.txt"), filepath.Join(temporary, "mounted")
	if err := errors.Join(key.Create(identity, time.Now()), os.Mkdir(dir, 0o700)); err != nil {
		return err
	}
	url := &argument.URL{Fingerprint: serving.Fingerprint(), Address: listener.Addr().String(), Path: "."}
	end, err := startMount(ctx, identity, url.String(), dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return d.readMounted(s, dir)
}

// readMounted reads the one file that the directory lists.
func (d *demo) readMounted(s *stageFigures, dir string) (err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) != 1 {
		return fmt.Errorf("%d files are listed, and there is one", len(entries))
	}
	file, err := os.Open(filepath.Join(dir, entries[0].Name()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	if s.BytesOut, err = io.CopyBuffer(struct{ io.Writer }{sum}, file, make([]byte, 1<<20)); err != nil {
		return err
	}
	d.mountedSum, s.moved = fmt.Sprintf("%x", sum.Sum(nil)), s.BytesOut
	return nil
}

// canMount says why nothing can be mounted here, as far as that can be seen.
func canMount() error {
	if device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		return err
	} else if err := device.Close(); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		return nil
	}
	_, err := exec.LookPath("fusermount3")
	return err
}

// startMount runs culvert mount until it is ended.
func startMount(ctx context.Context, identity, url, dir string) (end func() error, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "mount", "--json", "--decrypt", "-i", identity, url, dir)
	cmd.Args[0] = os.Args[0]
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = remote.Leaving
	// The signal comes when the thread ends that has started it.
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	end = func() error {
		defer runtime.UnlockOSThread()
		if err := cmd.Cancel(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		if _, err := io.Copy(io.Discard, out); err != nil {
			return errors.Join(err, cmd.Wait())
		}
		return cmd.Wait()
	}
	var first remote.MountReport
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	switch {
	case err != nil:
		return nil, errors.Join(err, end())
	case first.Error != "":
		_ = end() // it has said why
		return nil, &skippedError{first.Error}
	}
	return end, nil
}
