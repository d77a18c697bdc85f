package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"culvert/internal/ui"
)

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567", -1000: "-1,000", -100: "-100",
	} {
		if got := ui.Count(n); got != want {
			t.Errorf("Count(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestSeveral(t *testing.T) {
	for n, want := range map[int64]string{0: "0 rows", 1: "1 row", 2: "2 rows", 2000: "2,000 rows"} {
		if got := ui.Several(n, "row"); got != want {
			t.Errorf("Several(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 1_500_000: "1.5 MB",
		500_200_000: "500.2 MB", 3_000_000_000: "3.0 GB", 7e12: "7.0 TB", 7e15: "7.0 PB", 9e18: "9.0 EB",
	} {
		if got := ui.Bytes(n); got != want {
			t.Errorf("Bytes(%d) is %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0.00 s",
		1234 * time.Millisecond: "1.23 s",
		12 * time.Second:        "12 s",
		61 * time.Second:        "1m1s",
		2*time.Hour + time.Second + 400*time.Millisecond: "2h0m1s",
	} {
		if got := ui.Duration(d); got != want {
			t.Errorf("Duration(%v) is %q, want %q", d, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	figures := ui.Figures{Rows: 3_000_000, In: 500_000_000, Out: 80_000_000}
	const want = "3,000,000 rows, 500.0 MB in, 80.0 MB out, 125.0 MB/s, 4.00 s, peak memory 43.0 MiB"
	if got := figures.Summary(4*time.Second, 43<<20); got != want {
		t.Errorf("summary is\n%s, want\n%s", got, want)
	}
	figures.Rows = ui.NoRows
	if got := figures.Summary(0, 0); strings.Contains(got, "rows") || !strings.Contains(got, "unknown") {
		t.Errorf("summary without rows and memory is %s", got)
	}
}

func TestPeakMemory(t *testing.T) {
	block := make([]byte, 64<<20)
	for i := range block {
		block[i] = 1
	}
	if got := ui.PeakMemory(); got < int64(len(block)) {
		t.Errorf("peak memory is %d after the use of %d", got, len(block))
	}
}

func TestNearest(t *testing.T) {
	known := []string{"orders", "customers", "order_items", "Ünïcode"}
	for name, want := range map[string]string{
		"order": "orders", "ORDERS": "orders", "custmers": "customers", "ünicode": "Ünïcode", "xyz": "", "": "",
	} {
		if got := ui.Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", name, got, want)
		}
	}
	if got := ui.Nearest("a", nil); got != "" {
		t.Errorf("Nearest of nothing is %q", got)
	}
}

func TestMessages(t *testing.T) {
	var out bytes.Buffer
	console := ui.NewConsole(&out)
	console.Redact = func(text string) string { return strings.ReplaceAll(text, "hunter2", "****") }
	console.Error("no table \x1b[31mred\r")
	console.Hint("a\nculvert: hint: b\tc")
	console.Warn("left \u202eright\u2066 zero\u200bwidth \u0085 \u2028")
	console.Warn("password hunter2")
	console.Print("done")
	const want = "culvert: error: no table \ufffd[31mred\ufffd\n" +
		"culvert: hint: a\n  culvert: hint: b\tc\n" +
		"culvert: warning: left right zerowidth \ufffd \ufffd\n" +
		"culvert: warning: password ****\n" +
		"done\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if console.Terminal() {
		t.Error("a buffer is taken for a terminal")
	}
}

func TestRedrawnProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		var in atomic.Int64
		console := ui.NewConsole(&out)
		stop := ui.Progress{Console: console, Style: ui.Redrawn, Total: 4_000_000, Read: func() ui.Figures {
			return ui.Figures{Rows: 1, In: in.Load(), Out: 5}
		}}.Start()
		<-time.After(100 * time.Millisecond)
		synctest.Wait()
		if out.String() != "" {
			t.Errorf("drawn at once: %q", out.String())
		}
		in.Store(1_000_000)
		<-time.After(150 * time.Millisecond)
		synctest.Wait()
		first := "1 row, 1.0 MB in, 5 B out, 5.0 MB/s, 25 %, 0.60 s left"
		if got := out.String(); got != "\r"+first {
			t.Errorf("drawn: %q", got)
		}
		out.Reset()
		console.Warn("look out")
		blank := "\r" + strings.Repeat(" ", len(first)) + "\r"
		if got := out.String(); got != blank+"culvert: warning: look out\n" {
			t.Errorf("a message over the line: %q", got)
		}
		<-time.After(200 * time.Millisecond)
		synctest.Wait()
		stop()
		stop()
		if got := out.String(); !strings.HasSuffix(got, " \r") {
			t.Errorf("the line is still there: %q", got)
		}
		last := out.String()
		<-time.After(time.Hour)
		if out.String() != last {
			t.Error("drawn after the end")
		}
	})
}

func TestPeriodicProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		stop := ui.Progress{Console: ui.NewConsole(&out), Style: ui.Periodic, Read: func() ui.Figures {
			return ui.Figures{Rows: ui.NoRows, In: 10_000_000}
		}}.Start()
		<-time.After(25 * time.Second)
		synctest.Wait()
		stop()
		const want = "10.0 MB in, 0 B out, 1.0 MB/s\n10.0 MB in, 0 B out, 0.5 MB/s\n"
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestLongProgressLineIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out screen
		stop := ui.Progress{Console: ui.NewConsole(&out), Style: ui.Redrawn, Total: 1 << 62, Read: func() ui.Figures {
			return ui.Figures{Rows: 1e18, In: 1e18, Out: 1e18}
		}}.Start()
		<-time.After(250 * time.Millisecond)
		synctest.Wait()
		if got := out.String(); len(got) != len("\r")+79 {
			t.Errorf("%d columns on a terminal of 80: %q", len(got)-1, got)
		}
		stop()
	})
}

// lineAt gives the progress line of figures after some time.
func lineAt(t *testing.T, elapsed time.Duration, figures ui.Figures) (line string) {
	synctest.Test(t, func(*testing.T) {
		var out screen
		read := func() ui.Figures { return figures }
		stop := ui.Progress{Console: ui.NewConsole(&out), Style: ui.Redrawn, Read: read}.Start()
		<-time.After(elapsed + 50*time.Millisecond)
		synctest.Wait()
		drawn := strings.Split(out.String(), "\r")
		line = strings.TrimRight(drawn[len(drawn)-1], " ")
		stop()
	})
	return line
}

// TestProgressIsNoGuess draws lines that tell what is known, and nothing else.
func TestProgressIsNoGuess(t *testing.T) {
	const figures = "1,000 rows, 10.0 MB in, 1.0 MB out, "
	for _, test := range []struct {
		done    float64
		elapsed time.Duration
		want    string
	}{
		{0.5, 10 * time.Second, "1.0 MB/s, 50 %, 10 s left"},
		{0.999, 10 * time.Second, "1.0 MB/s, 99 %, 0.01 s left"},
		{1, 10 * time.Second, "1.0 MB/s, 100 %"},
		{7, 10 * time.Second, "1.0 MB/s, 100 %"},
		{0, 10 * time.Second, "1.0 MB/s"},
		{-1, 10 * time.Second, "1.0 MB/s"},
		{math.NaN(), 10 * time.Second, "1.0 MB/s"},
		{0.001, time.Second, "10.0 MB/s, 0 %"},
		{0.001, 10 * time.Second, "1.0 MB/s, 0 %, 2h46m30s left"},
		{1e-12, 10 * time.Second, "1.0 MB/s, 0 %"},
	} {
		line := lineAt(t, test.elapsed, ui.Figures{Rows: 1000, In: 10e6, Out: 1e6, Done: test.done})
		if line != figures+test.want {
			t.Errorf("%v done: %q, want %q", test.done, line, figures+test.want)
		}
	}
}

func TestProgressOfTables(t *testing.T) {
	for _, test := range []struct {
		figures ui.Figures
		want    string
	}{
		{
			ui.Figures{Rows: 7_000_000, Done: 0.25, Table: ui.Table{
				Name: "orders", Number: 3, Of: 8, In: 50e6, Done: 0.5, Elapsed: 2 * time.Second,
			}},
			"3/8 orders: 25.0 MB/s, 50 %, 2.00 s left; all: 25 %, 30 s left",
		},
		{
			ui.Figures{Rows: 7_000_000, Done: -1, Table: ui.Table{Name: "a\tb\n", Number: 1, Of: 2, Done: -1}},
			"1/2 a b\ufffd: 0.0 MB/s; all: 7,000,000 rows",
		},
		{
			ui.Figures{Done: 0.01, Table: ui.Table{
				Name: "public.a_table_with_a_very_long_name", Number: 317, Of: 500, In: 1e12,
				Done: 0.02, Elapsed: 15 * time.Minute,
			}},
			"317/500 public.a_table…: 1111.1 MB/s, 2 %, 12h15m0s left; all: 1 %, 16m30s left",
		},
	} {
		line := lineAt(t, 10*time.Second, test.figures)
		if line != test.want || len([]rune(line)) > 79 {
			t.Errorf("%d columns: %q, want %q", len([]rune(line)), line, test.want)
		}
	}
}

func TestSilentProgress(t *testing.T) {
	stop := ui.Progress{Style: ui.Silent}.Start()
	stop()
}

func TestAskingWithoutTerminal(t *testing.T) {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		t.Skip("this test needs to run without a terminal", tty.Close())
	}
	console := ui.NewConsole(new(bytes.Buffer))
	if _, err := console.AskNewPassphrase(t.Context()); !errors.Is(err, ui.ErrNoTerminal) {
		t.Errorf("error is %v, want ErrNoTerminal", err)
	}
}

func TestWriteJSON(t *testing.T) {
	var out bytes.Buffer
	value := map[string]string{"a": "<&> größe \x1b \x7f\u0080\u009b\u009f\u00a0 \u202e \U000e0001 😀"}
	if err := ui.WriteJSON(&out, value); err != nil {
		t.Fatal(err)
	}
	const want = `{"a":"<&> größe \u001b \u007f\u0080\u009b\u009f` + "\u00a0" + ` \u202e \udb40\udc01 😀"}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("got %+q, want %+q", got, want)
	}
	var again map[string]string
	if err := json.Unmarshal(out.Bytes(), &again); err != nil || again["a"] != value["a"] {
		t.Errorf("it is read as %+q, %v", again["a"], err)
	}
	if err := ui.WriteJSON(&out, make(chan int)); err == nil {
		t.Error("no error for what JSON cannot hold")
	}
}

func TestLine(t *testing.T) {
	const want = "a\ufffdb: intact\ufffd"
	if got := ui.Line("a\nb: intact\x1b"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// screen is a buffer that is written and read by several goroutines.
type screen struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

func (s *screen) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Reset()
}
