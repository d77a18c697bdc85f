package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/plugin"
	"github.com/ncruces/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"

	verbs "culvert/cmd/culvert/internal/command"
	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
)

func TestMain(m *testing.M) {
	if natsserver.Main() {
		return
	}
	testkit.AtOnce(6)
	testscript.Main(m, map[string]func(){
		"culvert":         testMain,
		"age-plugin-test": testPlugin,
	})
}

// testMain is main, with passphrases that take no time unless a script says otherwise.
func testMain() {
	if os.Getenv("CULVERT_TEST_STRONG") == "" {
		verbs.TestWorkFactor = 10
	}
	main()
}

// TestScripts runs the scripts that pin the command line. They are plain text: see testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", nil, nil)
}

// concurrentScripts are those of testdata/script in which goroutines share the work of a verb, for the race detector.
// The others pin messages and exit codes, and it would find nothing more in them.
var concurrentScripts = []string{
	"broken", "cat", "copy", "damage", "demo", "encrypt", "export", "interrupt", "load", "parts", "place", "serve",
	"tables", "terminal", "transfer", "wal",
}

// command is a command of scripts.
type command = func(ts *testscript.TestScript, neg bool, args []string)

// runScripts runs the scripts of a directory, with further environment variables and commands.
func runScripts(t *testing.T, dir string, variables []string, more map[string]command) {
	if signal.Ignored(syscall.SIGHUP) { // as by nohup, and programs of the scripts would ignore it too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	peers := &peers{dir: t.TempDir()}
	commands := map[string]command{
		"exit":          exit,
		"prints":        prints,
		"sqlite":        sqlite,
		"flip":          flip,
		"cut":           cut,
		"extend":        extend,
		"none":          none,
		"onterminal":    onTerminal,
		"closeterminal": closeTerminal,
		"interrupt":     interrupt,
		"killwhen":      killWhen,
		"smalldisk":     smallDisk,
		"lock":          lock,
		"tailed":        tailed,
		"wallog":        wallog,
		"hangup":        hangup,
		"serving":       serving,
		"halt":          halt,
		"fingerprint":   fingerprint,
		"recipient":     recipient,
		"fetch":         fetch,
		"find":          find,
		"cable":         cable,
		"broken":        broken,
		"damaging":      damaging,
		"letters":       letters,
		"random":        random,
		"page":          page,
	}
	maps.Copy(commands, more)
	var files []string
	if testkit.RaceDetector() && dir == "testdata/script" {
		for _, name := range concurrentScripts {
			files = append(files, filepath.Join(dir, name+".txtar"))
		}
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			env.Setenv("AppData", home)
			env.Setenv("TZ", "UTC")
			env.Setenv("GOGC", "400") // most commands end before they need to collect garbage
			// Where a server of the script was, nobody else listens.
			env.Setenv("ADDRESS", testkit.Address(env.T().(testing.TB)))
			env.Setenv("PATH", peers.dir+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Vars = append(env.Vars, variables...)
			env.Values[serversKey{}], env.Values[linesKey{}] = servers{}, lines{}
			env.Values[testOfScript{}] = env.T()
			return os.Mkdir(home, 0o700)
		},
		Condition: peers.condition,
		Cmds:      commands,
	})
}

type testOfScript struct{}

// testOf returns the test of a script, which its commands end if something fails: the test that runs all scripts cannot
// be ended from there.
func testOf(ts *testscript.TestScript) testing.TB { return ts.Value(testOfScript{}).(testing.TB) }

// peers are the other programs that scripts use.
type peers struct {
	dir string
	age sync.Once
	err error
}

// condition knows pty, smalldisk, long, as [testkit.Long] means it, and have:PROGRAM. With CULVERT_TEST_ALL=1 a program
// that is missing fails the script, in place of being skipped.
func (p *peers) condition(condition string) (bool, error) {
	switch condition {
	case "pty":
		return havePTY, nil
	case "long":
		return testkit.RunsLong(), nil
	case "smalldisk":
		dir, err := os.MkdirTemp(p.dir, "disk")
		return err == nil && canMount(dir), err
	}
	program, ok := strings.CutPrefix(condition, "have:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", condition)
	}
	err := error(nil)
	if program == "age" {
		p.age.Do(p.buildAge)
		err = p.err
	} else {
		_, err = exec.LookPath(program)
	}
	if err != nil && os.Getenv("CULVERT_TEST_ALL") == "1" {
		return false, fmt.Errorf("%w, and CULVERT_TEST_ALL=1 lets no test be skipped; to install it: ./dev test", err)
	}
	return err == nil, nil
}

// buildAge builds the age command from the module that Culvert uses as a library.
func (p *peers) buildAge() {
	dir := p.dir + string(os.PathSeparator)
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "filippo.io/age/cmd/age")
	out, err := build.CombinedOutput()
	if err != nil {
		p.err = fmt.Errorf("building age: %w: %s", err, out)
	}
}

// exit runs a command and compares its exit code. Where it depends on chance, there may be several, such as 11,12:
//
//	exit CODE COMMAND [ARGUMENT]...
func exit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND [ARGUMENT]...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if !slices.Contains(strings.Split(args[0], ","), strconv.Itoa(got)) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// prints runs a command and compares what it prints with a file. Unlike that of exec, the output does not go into the
// log, where megabytes take longer than the command:
//
//	prints FILE COMMAND [ARGUMENT]...
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: prints FILE COMMAND [ARGUMENT]...")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	ts.Logf("%s", stderr.String())
	ts.Check(err)
	if want := ts.ReadFile(args[0]); string(got) != want {
		ts.Fatalf("printed %d bytes that differ from the %d of %s", len(got), len(want), args[0])
	}
}

// sqlite runs SQL statements on a database file, which it makes if need be:
//
//	sqlite FILE SQL
func sqlite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sqlite FILE SQL")
	}
	db, err := sqlite3.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(errors.Join(db.Exec(args[1]), db.Close()))
}

// flip changes one bit of a file. An offset below 0 counts from the end:
//
//	flip FILE OFFSET
func flip(ts *testscript.TestScript, neg bool, args []string) {
	edit(ts, neg, args, func(data []byte, offset int) []byte {
		data[offset] ^= 1
		return data
	})
}

// cut shortens a file to a size. A size below 0 counts from the end:
//
//	cut FILE SIZE
func cut(ts *testscript.TestScript, neg bool, args []string) {
	edit(ts, neg, args, func(data []byte, size int) []byte { return data[:size] })
}

// extend adds zero bytes to a file:
//
//	extend FILE COUNT
func extend(ts *testscript.TestScript, neg bool, args []string) {
	edit(ts, neg, args, func(data []byte, count int) []byte { return append(data, make([]byte, count)...) })
}

func edit(ts *testscript.TestScript, neg bool, args []string, change func(data []byte, n int) []byte) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: FILE NUMBER")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if n < 0 {
		n += len(data)
	}
	ts.Check(os.WriteFile(path, change(data, n), 0o600))
}

// lock encrypts a file with a passphrase, so weakly that it takes no time to open:
//
//	lock PASSPHRASE OUTPUT INPUT
func lock(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: lock PASSPHRASE OUTPUT INPUT")
	}
	recipient, err := age.NewScryptRecipient(args[0])
	ts.Check(err)
	recipient.SetWorkFactor(10)
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	w, err := age.Encrypt(f, recipient)
	ts.Check(err)
	_, err = w.Write([]byte(ts.ReadFile(args[2])))
	ts.Check(errors.Join(err, w.Close(), f.Close()))
}

// none fails if a file name matches a pattern:
//
//	none PATTERN...
func none(ts *testscript.TestScript, neg bool, args []string) {
	for _, pattern := range args {
		matches, err := filepath.Glob(ts.MkAbs(pattern))
		ts.Check(err)
		if neg == (len(matches) == 0) {
			ts.Fatalf("%s matches %q", pattern, matches)
		}
	}
}

// interrupt runs a command with standard input open and empty, waits until there is a file whose name matches a
// pattern, sends signals, such as INT,INT, the last of several until it ends, and compares the exit code:
//
//	interrupt CODE SIGNALS PATTERN COMMAND [ARGUMENT]...
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: interrupt CODE SIGNALS PATTERN COMMAND [ARGUMENT]...")
	}
	output := disturb(ts, args[0], args[2], args[3:], func(process *os.Process) {
		signals := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}
		first, second, again := strings.Cut(args[1], ",")
		ts.Check(process.Signal(signals[first]))
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for again && process.Signal(signals[second]) == nil {
			<-ticks.C
		}
	})
	if !strings.Contains(output, "culvert: error: interrupted\n") {
		ts.Fatalf("the output does not say that it was interrupted")
	}
}

// killWhen runs a command, and kills it when there is a file whose name matches a pattern:
//
//	killwhen PATTERN COMMAND [ARGUMENT]...
func killWhen(ts *testscript.TestScript, _ bool, args []string) {
	disturb(ts, "-1", args[0], args[1:], func(process *os.Process) { ts.Check(process.Kill()) })
}

// disturb runs a command, with standard input open and empty, does something to it once there is a file whose name
// matches the pattern, and compares the exit code. It gives all that the command has printed.
func disturb(ts *testscript.TestScript, code, pattern string, args []string, what func(*os.Process)) string {
	before, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	if len(before) > 0 {
		ts.Fatalf("%q matches %s before the command has begun", before, pattern)
	}
	begun := func() bool {
		matches, err := filepath.Glob(ts.MkAbs(pattern))
		ts.Check(err)
		return matches != nil
	}
	return during(ts, code, begun, args, what)
}

// during is disturb, for a command that has begun when a function says so.
func during(
	ts *testscript.TestScript, code string, begun func() bool, args []string, what func(*os.Process),
) string {
	want, err := strconv.Atoi(code)
	ts.Check(err)
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !begun() {
		select {
		case <-poll.C:
		case err := <-ended:
			ts.Fatalf("ended before it has begun: %v: %s", err, output.String())
		}
	}
	what(cmd.Process)
	var exit *exec.ExitError
	if err := <-ended; err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	_ = stdin.Close() // Wait has done so: what matters is that it was open until then
	ts.Logf("%s", output.String())
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	return output.String()
}

// environment is the environment of a script, as far as culvert looks at it.
func environment(ts *testscript.TestScript) []string {
	var variables []string
	for _, name := range []string{
		"HOME", "XDG_CONFIG_HOME", "AppData", "PATH", "TMPDIR", "GOGC", "CULVERT_IDENTITY",
		"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD",
		"MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
		"AWS_EC2_METADATA_DISABLED", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY",
		"url", // in the commands of the documentation
	} {
		variables = append(variables, name+"="+ts.Getenv(name))
	}
	return variables
}

// testPlugin is an age plugin that keeps no secret.
func testPlugin() {
	p, err := plugin.New("test")
	if err != nil {
		panic(err)
	}
	p.HandleRecipient(func([]byte) (age.Recipient, error) { return openKey{}, nil })
	p.HandleIdentityAsRecipient(func([]byte) (age.Recipient, error) { return openKey{}, nil })
	p.HandleIdentity(func([]byte) (age.Identity, error) { return openKey{}, nil })
	if code := p.Main(); code != 0 {
		panic(code)
	}
}

// openKey puts the file key into the header as it is.
type openKey struct{}

func (openKey) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	return []*age.Stanza{{Type: "test", Body: fileKey}}, nil
}

func (openKey) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, stanza := range stanzas {
		if stanza.Type == "test" {
			return stanza.Body, nil
		}
	}
	return nil, age.ErrIncorrectIdentity
}
