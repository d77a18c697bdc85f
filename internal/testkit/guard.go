package testkit

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Guard starts the server of a directory in the background, and outlives it. However the test binary ends, the guard
// then ends the server and removes the directory. It is a shell whose standard input only the test binary holds open.
type Guard struct {
	directory string
	shell     *exec.Cmd
	commands  *os.File
	answers   *bufio.Reader
}

// guardScript starts a server for each line of its input. It ignores a keyboard interrupt, which also reaches it.
const guardScript = `
trap '' HUP INT QUIT TERM
signal=$1 directory=$2 leftovers=$3 server=
while read -r line; do
	[ -z "$server" ] || wait "$server"
	(trap - HUP INT QUIT TERM; eval "exec $line") >>"$directory/log" 2>&1 </dev/null &
	server=$!
	echo "$server"
done
[ -z "$server" ] || { kill "-$signal" "$server" && wait "$server"; }
rm -rf "$directory" $leftovers
`

// NewGuard starts the guard of a directory, from the command that returns a command to run as the user of the server.
// The last signal, such as KILL, ends the server with the test binary. What the server leaves outside the directory is
// removed too: leftovers are patterns of the shell.
func NewGuard(
	directory, last string, command func(path string, args ...string) *exec.Cmd, leftovers ...string,
) (*Guard, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g := &Guard{directory: directory, commands: write}
	g.shell = command("sh", "-c", guardScript, "sh", last, directory, strings.Join(leftovers, " "))
	g.shell.Stdin = read
	output, err := g.shell.StdoutPipe()
	if err == nil {
		g.answers = bufio.NewReader(output)
		err = g.shell.Start()
	}
	if err = errors.Join(err, read.Close()); err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return g, nil
}

// Start starts a program, whose output goes to the file log of the directory, and returns its process number. One that
// was started before must have ended.
func (g *Guard) Start(program string, args ...string) (pid int, err error) {
	line := quote(program)
	for _, arg := range args {
		line += " " + quote(arg)
	}
	if _, err := fmt.Fprintln(g.commands, line); err != nil {
		return 0, err
	}
	answer, err := g.answers.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(answer))
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Close ends the server, removes the directory, and waits for both.
func (g *Guard) Close() error { return errors.Join(g.commands.Close(), g.shell.Wait()) }

// Await calls ask until it returns nil, for as long as the server runs. Its error has the log of the server.
func (g *Guard) Await(pid int, limit time.Duration, ask func() error) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if alive(pid) {
			select {
			case <-tick.C:
				continue
			case <-timeout.C:
			}
		} else {
			err = fmt.Errorf("the server has ended: %w", err)
		}
		log, _ := os.ReadFile(filepath.Join(g.directory, "log")) // only adds to the error
		return fmt.Errorf("%w\n%s", err, log)
	}
}

// signal sends a signal to a process and waits until it has ended.
func signal(pid int, s os.Signal, limit time.Duration) error {
	process, err := os.FindProcess(pid)
	if err == nil {
		err = process.Signal(s)
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err != nil {
		return err
	}
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for alive(pid) {
		select {
		case <-tick.C:
		case <-timeout.C:
			return fmt.Errorf("process %d goes on after %s", pid, s)
		}
	}
	return nil
}
