package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"culvert/cmd/culvert/internal/ui"
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
		"orderss": "orders", "urders": "orders", "custoemrs": "customers", "orderitem": "order_items",
		"dorers": "orders", "redors": "",
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
	const want = `a\nb: intact\x1b \u202e` + "\tit's"
	if got := ui.Line("a\nb: intact\x1b \u202e\tit's"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestName shows names as a shell takes them, and as they are if that does no harm.
func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"plain":               "plain",
		"täblé ☂ it's":        "täblé ☂ it's",
		`back\slash`:          `back\slash`,
		"a\nb":                `$'a\nb'`,
		`a\nb` + "\tit's":     `$'a\\nb\tit\'s'`,
		"\x1b[2J":             `$'\x1b[2J'`,
		"\xff\xfe1":           `$'\xff\xfe1'`,
		"a\u202eb\u2028":      `$'a\u202eb\u2028'`,
		"\u009b31m\U000e0001": `$'\u009b31m\U000e0001'`,
	} {
		got := ui.Name(name)
		if got != want {
			t.Errorf("%q is shown as %s, want %s", name, got, want)
		}
		if ui.Printable(got) != got {
			t.Errorf("%q is shown as %q", name, got)
		}
	}
}
