package ui_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/cmd/culvert/internal/ui"
)

var update = flag.Bool("update", false, "write the golden frames")

// scene is a command whose progress is recorded.
type scene struct {
	width, height int
	status        func(elapsed time.Duration) ui.Status
	steps         []step
}

// step happens some time after the one before. The recording has the screen after each, when a frame has been drawn.
type step struct {
	after time.Duration
	what  string
	do    func(c *ui.Console, t *terminal)
}

func resize(width, height int) func(*ui.Console, *terminal) {
	return func(_ *ui.Console, t *terminal) { t.resize(width, height) }
}

// exportOfTables has tables of 20, 40 and 60 s, the second without an estimate. A second is 100,000 rows.
func exportOfTables(elapsed time.Duration) ui.Status {
	rows := func(d time.Duration) string { return ui.Several(int64(d/time.Second*100_000), "row") }
	all := ui.Task{Amount: rows(elapsed), Bytes: int64(elapsed) / 10, Done: float64(elapsed) / float64(2*time.Minute)}
	for i, table := range []struct {
		name         string
		begins, ends time.Duration
	}{
		{"customers", 0, 20 * time.Second},
		{"größe und gewicht", 20 * time.Second, time.Minute},
		{"shop.a_table_with_a_very_long_name", time.Minute, 2 * time.Minute},
	} {
		if past := elapsed - table.begins; elapsed < table.ends {
			all.Name = fmt.Sprintf("%d/3 tables", i+1)
			one := ui.Task{Name: table.name, Amount: rows(past), Bytes: int64(past) / 10}
			if i != 1 {
				one.Done = float64(past) / float64(table.ends-table.begins)
			}
			return ui.Status{Task: all, Active: []ui.Task{one}}
		}
	}
	return ui.Status{Task: all}
}

// pullOfFiles has 20 files of 50 MB, of which 14 are under way at 1 MB/s each, and stops when half of them are there.
func pullOfFiles(elapsed time.Duration) ui.Status {
	elapsed = min(elapsed, 25*time.Second)
	moved := 14 * int64(elapsed/time.Millisecond) * 1000
	status := ui.Status{Task: ui.Moving("6/20 files", moved, 14*50_000_000)}
	status.Done = float64(moved+6*50_000_000) / (20 * 50_000_000)
	for i := range 14 {
		status.Active = append(status.Active, ui.Moving(fmt.Sprintf("file-%02d.csv.zst.age", i), moved/14, 50_000_000))
	}
	return status
}

var scenes = map[string]scene{
	"tables": {80, 24, exportOfTables, []step{
		{after: 100 * time.Millisecond, what: "before the first frame"},
		{after: 250 * time.Millisecond},
		{after: 10 * time.Second},
		{after: 0, what: "a warning", do: func(c *ui.Console, _ *terminal) { c.Warn("\x1b[Htable \"x\":\nno rows") }},
		{after: time.Second},
		{after: 20 * time.Second},
		{after: 0, what: "60 columns, not drawn anew yet", do: resize(60, 24)},
		{after: time.Second},
		{after: 50 * time.Second, what: "120 columns", do: resize(120, 24)},
		{after: 10 * time.Second, what: "30 columns", do: resize(30, 24)},
		{after: 20 * time.Second, what: "8 columns", do: resize(8, 24)},
		{after: time.Second, what: "done", do: resize(80, 24)},
	}},
	"files": {80, 24, pullOfFiles, []step{
		{after: 2 * time.Second},
		{after: 8 * time.Second, what: "8 lines", do: resize(80, 8)},
		{after: 10 * time.Second, what: "2 lines", do: resize(80, 2)},
		{after: 30 * time.Second, what: "stalled", do: resize(80, 24)},
	}},
	"encrypt": {80, 24, func(elapsed time.Duration) ui.Status {
		return ui.Status{Task: ui.Moving("back\tup\x1b.tar.age", int64(elapsed)/4, int64(time.Minute)/4)}
	}, []step{{after: 300 * time.Millisecond}, {after: 29 * time.Second}, {after: 31 * time.Second}}},
	"stream": {80, 24, func(elapsed time.Duration) ui.Status {
		return ui.Status{Task: ui.Moving("standard input", int64(elapsed)/4, 0)}
	}, []step{{after: 300 * time.Millisecond}, {after: 29 * time.Second}}},
}

// TestFrames compares what is on the screen with the recordings in testdata. With -update it makes them.
func TestFrames(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join("testdata", name+".txt")
				got := record(t, scene)
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || got != string(want) {
					t.Errorf("the recording is (%v)\n%s\nwant\n%s", err, got, want)
				}
			})
		})
	}
}

// TestASCII has the same frames, with other characters, in locales that are not in UTF-8.
func TestASCII(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "tables.txt"))
	if err != nil {
		t.Fatal(err)
	}
	inASCII := strings.NewReplacer("█", "#", "░", ".", "…", "~", "\uFFFD", "?").Replace(string(golden))
	for _, locale := range []struct {
		all, lang string
		want      string
	}{
		{"C", "de_DE.UTF-8", inASCII},
		{"", "de_DE.ISO-8859-1", inASCII},
		{"", "de_DE.UTF-8", string(golden)},
		{"en_US.utf8", "C", string(golden)},
		{"", "", string(golden)},
	} {
		t.Setenv("LC_ALL", locale.all)
		t.Setenv("LC_CTYPE", "")
		t.Setenv("LANG", locale.lang)
		synctest.Test(t, func(t *testing.T) {
			if got := record(t, scenes["tables"]); got != locale.want {
				t.Errorf("LC_ALL=%s LANG=%s: the recording is\n%s\nwant\n%s", locale.all, locale.lang, got, locale.want)
			}
		})
	}
}

func record(t *testing.T, scene scene) string {
	screen := newTerminal(scene.width, scene.height)
	console := ui.NewConsole(screen)
	console.Print("$ culvert")
	start := time.Now()
	read := func() ui.Status { return scene.status(time.Since(start)) }
	stop := ui.Progress{Console: console, Style: ui.Redrawn, Read: read}.Start()
	defer stop()
	var recording strings.Builder
	for _, step := range scene.steps {
		if step.do != nil {
			step.do(console, screen)
		}
		<-time.After(step.after)
		synctest.Wait()
		fmt.Fprintf(&recording, "-- %v %s\n%v\n", time.Since(start), step.what, screen)
	}
	console.Print("a last message")
	stop()
	stop()
	<-time.After(time.Hour)
	fmt.Fprintf(&recording, "-- stopped\n%v\n", screen)
	return recording.String()
}

func TestColour(t *testing.T) {
	for noColour, want := range map[string]bool{"": true, "1": false} {
		t.Setenv("NO_COLOR", noColour)
		synctest.Test(t, func(t *testing.T) {
			screen := newTerminal(80, 24)
			stop := ui.Progress{Console: ui.NewConsole(screen), Style: ui.Redrawn, Read: func() ui.Status {
				return ui.Status{Task: ui.Moving("a", 1, 2)}
			}}.Start()
			<-time.After(time.Second)
			stop()
			if got := screen.colours > 0; got != want {
				t.Errorf("NO_COLOR=%q: colours are %v", noColour, got)
			}
		})
	}
}

// TestSecretsInProgress shows a table that is named like a password.
func TestSecretsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := newTerminal(80, 24)
		console := ui.NewConsole(screen)
		console.Redact = func(text string) string { return strings.ReplaceAll(text, "hunter2", "****") }
		stop := ui.Progress{Console: console, Style: ui.Redrawn, Read: func() ui.Status {
			return ui.Status{Task: ui.Task{Name: "hunter2"}, Active: []ui.Task{{Name: "of hunter2"}}}
		}}.Start()
		defer stop()
		<-time.After(time.Second)
		synctest.Wait()
		if got := screen.String(); strings.Contains(got, "hunter2") || strings.Count(got, "****") != 2 {
			t.Errorf("the screen is %q", got)
		}
	})
}

// figuresAfter returns what is shown of a task that goes on for some time from nothing at an even speed.
func figuresAfter(t *testing.T, elapsed time.Duration, task ui.Task) string {
	var out buffer
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		stop := ui.Progress{Console: ui.NewConsole(&out), Style: ui.Periodic, Read: func() ui.Status {
			part, now := float64(time.Since(start))/float64(elapsed), task
			now.Bytes, now.Left = int64(part*float64(task.Bytes)), task.Left+int64((1-part)*float64(task.Bytes))
			if task.Left == 0 {
				now.Left = 0
			}
			now.Done *= part
			return ui.Status{Task: now}
		}}.Start()
		<-time.After(elapsed)
		synctest.Wait()
		stop()
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1]
}

// TestProgressIsNoGuess shows what is known, and nothing else.
func TestProgressIsNoGuess(t *testing.T) {
	const elapsed = 10 * time.Second
	for _, test := range []struct {
		task ui.Task
		want string
	}{
		{ui.Task{Bytes: 10e6, Done: 0.5}, "10.0 MB, 1.0 MB/s, 50 %, 10 s left"},
		{ui.Task{Bytes: 10e6, Done: 0.999}, "10.0 MB, 1.0 MB/s, 99 %, 1 s left"},
		{ui.Task{Bytes: 10e6, Done: 1}, "10.0 MB, 1.0 MB/s, 100 %"},
		{ui.Task{Bytes: 10e6, Done: 7}, "10.0 MB, 1.0 MB/s, 100 %"},
		{ui.Task{Bytes: 10e6}, "10.0 MB, 1.0 MB/s"},
		{ui.Task{Bytes: 10e6, Done: -1}, "10.0 MB, 1.0 MB/s"},
		{ui.Task{Bytes: 10e6, Done: math.NaN()}, "10.0 MB, 1.0 MB/s"},
		{ui.Task{Bytes: 10e6, Done: 0.001}, "10.0 MB, 1.0 MB/s, 0 %, 2h46m30s left"},
		{ui.Task{Bytes: 10e6, Done: 1e-12}, "10.0 MB, 1.0 MB/s, 0 %"},
		{ui.Task{Bytes: 10e6, Left: 5e6, Done: 0.9}, "10.0 MB, 1.0 MB/s, 90 %, 5 s left"},
		{ui.Task{Left: 5e6, Done: 0.9}, "0 B, 0.0 MB/s, 90 %"},
		{ui.Task{Name: "a\tb\n", Amount: "3 rows", Bytes: 10e6}, `$'a\tb\n': 3 rows, 1.0 MB/s`},
	} {
		if got := figuresAfter(t, elapsed, test.task); got != test.want {
			t.Errorf("%+v:\n%q, want\n%q", test.task, got, test.want)
		}
	}
}

func TestPeriodicProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out buffer
		start := time.Now()
		stop := ui.Progress{Console: ui.NewConsole(&out), Style: ui.Periodic, Read: func() ui.Status {
			return pullOfFiles(time.Since(start))
		}}.Start()
		<-time.After(45 * time.Second)
		synctest.Wait()
		stop()
		const want = "6/20 files: 140.0 MB, 14.0 MB/s, 44 %, 40 s left; file-00.csv.zst.age 20 % and 13 more\n" +
			"6/20 files: 280.0 MB, 14.0 MB/s, 57 %, 30 s left; file-00.csv.zst.age 40 % and 13 more\n" +
			"6/20 files: 350.0 MB, 10.5 MB/s, 65 %, 34 s left; file-00.csv.zst.age 50 % and 13 more\n" +
			"6/20 files: 350.0 MB, 3.5 MB/s, 65 %, 1m40s left; file-00.csv.zst.age 50 % and 13 more\n"
		if got := out.String(); got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
	})
}

func TestSilentProgress(t *testing.T) {
	stop := ui.Progress{Style: ui.Silent}.Start()
	stop()
}

func TestStyle(t *testing.T) {
	console := ui.NewConsole(new(bytes.Buffer))
	for _, test := range []struct {
		quiet, verbose bool
		want           ui.Style
	}{{false, false, ui.Silent}, {false, true, ui.Periodic}, {true, false, ui.Silent}} {
		if got := console.Style(test.quiet, test.verbose); got != test.want {
			t.Errorf("the style of a file is %v, want %v (%+v)", got, test.want, test)
		}
	}
}

// buffer is written and read by several goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
