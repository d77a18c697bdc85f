package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

const havePTY = true

// onTerminal runs a command with standard output and standard error on a terminal, and keeps what it shows in the end
// in a file:
//
//	onterminal CODE FILE COMMAND [ARGUMENT]...
func onTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: onterminal CODE FILE COMMAND [ARGUMENT]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	controller, terminal, err := openPTY()
	ts.Check(err)
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	ts.Check(cmd.Start())
	ts.Check(terminal.Close())
	var screen bytes.Buffer
	// The last reader of a terminal gets EIO when nobody has it open for writing any more.
	if _, err := io.Copy(&screen, controller); !errors.Is(err, syscall.EIO) {
		ts.Check(err)
	}
	waitErr := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(waitErr, &exit) {
		ts.Check(waitErr)
	}
	ts.Check(controller.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), screenOf(screen.Bytes()), 0o600))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d; on the terminal:\n%s", got, want, screen.Bytes())
	}
}

// closeTerminal runs a command on a terminal, closes the terminal when the command has printed something, and compares
// the exit code:
//
//	closeterminal CODE COMMAND [ARGUMENT]...
func closeTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: closeterminal CODE COMMAND [ARGUMENT]...")
	}
	controller, terminal, err := openPTY()
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	ts.Check(terminal.Close())
	_, err = controller.Read(make([]byte, 1))
	ts.Check(errors.Join(err, controller.Close()))
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// openPTY opens a pair of pseudo terminals.
func openPTY() (controller, terminal *os.File, err error) {
	controller, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(controller.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, controller.Close())
	}
	return controller, terminal, nil
}

// canMount reports whether file systems can be made, on a directory for a try. It takes root, and in a container
// CAP_SYS_ADMIN.
func canMount(dir string) bool {
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m")
	if err == nil {
		err = unix.Unmount(dir, unix.MNT_DETACH)
	}
	return err == nil
}

// smallDisk makes a directory that is a file system of one megabyte, until the script ends:
//
//	smalldisk DIRECTORY
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: smalldisk DIRECTORY")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o700))
	ts.Check(unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	ts.Defer(func() { ts.Check(unix.Unmount(dir, unix.MNT_DETACH)) })
}

// TestInterruptedQuestion pins that a terminal shows what is typed again when the question for a passphrase was ended
// by a key.
func TestInterruptedQuestion(t *testing.T) {
	controller, terminal, err := openPTY()
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("culvert")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "encrypt", "-p", "-o", filepath.Join(t.TempDir(), "out"), os.DevNull)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // of standard input
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	echoes := func() bool {
		state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return state.Lflag&unix.ECHO != 0
	}
	// The question is printed just before the echo is turned off.
	for poll := time.NewTicker(5 * time.Millisecond); echoes(); <-poll.C {
	}
	if _, err := controller.Write([]byte("\x03")); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("the command ended with %v, want code 130", err)
	}
	if !echoes() {
		t.Error("the terminal does not show what is typed any more")
	}
	if err := errors.Join(terminal.Close(), controller.Close()); err != nil {
		t.Error(err)
	}
}
