package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// servers are the servers that a script has started, by the variables that hold their URLs.
type servers map[string]*servingProcess

type servingProcess struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	stderr lockedBuffer
	read   chan error // of standard output, until its end
}

type serversKey struct{}

// lockedBuffer is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

// serving starts a server and puts the first line that it prints, which is its URL, into a variable:
//
//	serving VARIABLE COMMAND [ARGUMENT]...
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: serving VARIABLE COMMAND [ARGUMENT]...")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	s := &servingProcess{cmd: exec.Command(path, args[2:]...), read: make(chan error, 1)}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = ts.MkAbs("."), environment(ts), &s.stderr
	stdout, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill() // a script that fails leaves it running
			_ = s.cmd.Wait()
		}
	})
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	s.out.WriteString(first)
	if err != nil {
		_ = s.cmd.Wait()
		ts.Fatalf("it has ended: %s", s.stderr.String())
	}
	go func() {
		_, err := s.out.ReadFrom(lines)
		s.read <- err
	}()
	ts.Value(serversKey{}).(servers)[args[0]] = s
	ts.Setenv(args[0], strings.TrimSpace(first))
}

// halt sends signals, such as INT,INT, to a server, waits for its end, compares its exit code, and leaves what it has
// printed in the files VARIABLE.out and VARIABLE.err:
//
//	halt VARIABLE CODE SIGNALS
func halt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: halt VARIABLE CODE SIGNALS")
	}
	s := serverOf(ts, args[0])
	for name := range strings.SplitSeq(args[2], ",") {
		ts.Check(s.cmd.Process.Signal(map[string]os.Signal{
			"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill, "HUP": syscall.SIGHUP,
		}[name]))
	}
	ts.Check(<-s.read)
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), s.out.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(s.stderr.String()), 0o600))
	ts.Logf("%s", s.stderr.String())
	if got := strconv.Itoa(s.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, want %s", got, args[1])
	}
}

func serverOf(ts *testscript.TestScript, name string) *servingProcess {
	s := ts.Value(serversKey{}).(servers)[name]
	if s == nil {
		ts.Fatalf("there is no server %s", name)
	}
	return s
}

// hangup sends SIGHUP to a server, and waits until it says a text that it has not said before:
//
//	hangup VARIABLE TEXT
func hangup(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hangup VARIABLE TEXT")
	}
	s := serverOf(ts, args[0])
	before := len(s.stderr.String())
	ts.Check(s.cmd.Process.Signal(syscall.SIGHUP))
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	deadline := time.After(time.Minute) // for a test that hangs
	for !strings.Contains(s.stderr.String()[before:], args[1]) {
		select {
		case <-ticks.C:
		case <-deadline:
			ts.Fatalf("the server says: %s", s.stderr.String())
		}
	}
}

// fingerprint puts the fingerprint of an identity file into a variable:
//
//	fingerprint VARIABLE FILE
func fingerprint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fingerprint VARIABLE FILE")
	}
	ts.Setenv(args[0], comment(ts, args[1], "# fingerprint: "))
}

// recipient puts the recipient of an identity file into a variable:
//
//	recipient VARIABLE FILE
func recipient(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: recipient VARIABLE FILE")
	}
	ts.Setenv(args[0], comment(ts, args[1], "# public key: "))
}

// comment returns what follows a text in a file, up to the end of the line.
func comment(ts *testscript.TestScript, file, text string) string {
	_, rest, _ := strings.Cut(ts.ReadFile(file), text)
	line, _, found := strings.Cut(rest, "\n")
	if !found {
		ts.Fatalf("%s has no line with %q", file, text)
	}
	return line
}

// fetch gets what is at a URL of HTTP into a file:
//
//	fetch URL FILE
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fetch URL FILE")
	}
	response, err := http.Get(args[0])
	ts.Check(err)
	body, err := io.ReadAll(response.Body)
	ts.Check(errors.Join(err, response.Body.Close()))
	if response.StatusCode != http.StatusOK {
		ts.Fatalf("%s", response.Status)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
}

// find puts what follows a text in the first line of a server, up to a quote, into a variable:
//
//	find VARIABLE TEXT SERVER
func find(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: find VARIABLE TEXT SERVER")
	}
	_, rest, found := strings.Cut(ts.Getenv(args[2]), args[1])
	if !found {
		ts.Fatalf("%s has no %q", args[2], args[1])
	}
	value, _, _ := strings.Cut(rest, `"`)
	ts.Setenv(args[0], value)
}

// line is a way to a server that breaks.
type line struct {
	to     string       // the server
	left   atomic.Int64 // how many more bytes may pass, both ways and in all connections together
	hold   bool         // in place of being cut, let nothing pass any more, until the way is free
	mend   bool         // when it was cut, let everything pass on new connections
	broken chan struct{}
	free   chan struct{} // if not nil
	once   sync.Once
	end    chan struct{} // of the script
}

// cable makes a way to a server that is cut after so many bytes, in all connections together: the way for those that
// come later, too, unless it is mended. With -hold it is not cut, but nothing passes any more. Its URL goes into a
// variable:
//
//	cable [-hold | -mend] VARIABLE URL BYTES
func cable(ts *testscript.TestScript, neg bool, args []string) {
	l := &line{broken: make(chan struct{}), end: make(chan struct{})}
	if len(args) == 4 {
		l.hold, l.mend = args[0] == "-hold", args[0] == "-mend"
		args = args[1:]
	}
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cable [-hold | -mend] VARIABLE URL BYTES")
	}
	u, err := url.Parse(args[1])
	ts.Check(err)
	length, err := strconv.ParseInt(args[2], 10, 64)
	ts.Check(err)
	l.left.Store(length)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	query := u.Query()
	endpoint, err := url.Parse(query.Get("endpoint")) // of a bucket
	ts.Check(err)
	if l.to = u.Host; endpoint.Host != "" {
		l.to = endpoint.Host
	}
	ts.Defer(l.begin(listener))
	ts.Value(linesKey{}).(lines)[args[0]] = l
	if endpoint.Host == "" {
		u.Host = listener.Addr().String()
	} else {
		endpoint.Host = listener.Addr().String()
		query.Set("endpoint", endpoint.String())
		u.RawQuery = query.Encode()
	}
	ts.Setenv(args[0], u.String())
}

// begin passes the bytes of all who connect, until the returned function is called.
func (l *line) begin(listener net.Listener) (end func()) {
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.relay(client) })
		}
	})
	return func() {
		close(l.end)
		_ = listener.Close() // which ends Accept
		running.Wait()
	}
}

// lines are the cables of a script, by the variables that hold their URLs.
type lines map[string]*line

type linesKey struct{}

// broken waits until a cable is cut, or lets nothing pass any more:
//
//	broken VARIABLE
func broken(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || ts.Value(linesKey{}).(lines)[args[0]] == nil {
		ts.Fatalf("usage: broken VARIABLE")
	}
	<-ts.Value(linesKey{}).(lines)[args[0]].broken
}

// relay passes the bytes of one connection, both ways.
func (l *line) relay(client net.Conn) {
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = client.Close()
		return
	}
	cut := sync.OnceFunc(func() {
		_ = client.Close() // as a cable does that is cut
		_ = server.Close()
	})
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-l.end:
			cut()
		case <-ended:
		}
	}()
	var up sync.WaitGroup
	up.Go(func() {
		l.pass(server, client)
		cut()
	})
	l.pass(client, server)
	cut()
	up.Wait()
}

// pass passes bytes one way until one end is gone or the cable is cut.
func (l *line) pass(to io.Writer, from io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if l.left.Add(-int64(n)) < 0 {
			l.once.Do(func() {
				if l.mend {
					l.left.Store(math.MaxInt64)
				}
				close(l.broken)
			})
			if !l.hold {
				return
			}
			select {
			case <-l.free:
			case <-l.end:
				return
			}
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// random makes a file of so many bytes that nothing can shrink, and that are the same each time:
//
//	random FILE BYTES
func random(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: random FILE BYTES")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(args[0]))).Read(data)
	ts.Check(os.WriteFile(path, data, 0o644))
}
