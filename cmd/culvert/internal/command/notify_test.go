package command

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
)

// TestNotify posts to a server that takes the object, refuses it, and does not answer.
func TestNotify(t *testing.T) {
	const object = `{"code":0}` + "\n"
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		isSound := r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/json"
		if err != nil || !isSound || string(body) != object {
			t.Errorf("%s: %q, %v", r.Method, body, err)
		}
		switch r.URL.Path {
		case "/refuses/token":
			w.WriteHeader(http.StatusForbidden)
		case "/hangs/token":
			<-release
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	var said bytes.Buffer
	a := &App{Stderr: &said, Console: ui.NewConsole(io.Discard)}
	for to, want := range map[string]string{
		server.URL + "/token":                "",
		server.URL + "/refuses/token":        " has answered 403 Forbidden",
		server.URL + "/hangs/token":          "it has taken longer than",
		"http://127.0.0.1:1/token":           "127.0.0.1:1: ",
		"http://127.0.0.1:x/token":           "the text is not a URL",
		"grep -q '\"code\":0' && echo heard": "",
		"exit 7":                             "the command: exit status 7",
		"exec sleep 600":                     "it has taken longer than",
	} {
		limit := notifyPatience
		if strings.Contains(want, "longer") {
			limit = 50 * time.Millisecond
		}
		err := a.notify(t.Context(), to, []byte(object), limit)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) ||
			err != nil && strings.Contains(err.Error(), "token") {
			t.Errorf("%s: %v, want %q", to, err, want)
		}
	}
	if said.String() != "heard\n" {
		t.Errorf("the commands have said %q", said.String())
	}
}

// TestMetricsFile has the linter of Prometheus read the files, which is its parser too.
func TestMetricsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nightly.prom")
	rows := int64(7)
	for _, one := range []struct {
		err  error
		want string
	}{
		{nil, `culvert_export_success{name="nightly"} 1`},
		{nil, `culvert_export_rows{name="nightly"} 7`},
		{nil, `culvert_export_duration_seconds{name="nightly"} 1.5`},
		{&export.PartialError{Failed: 2, Tables: 3}, `culvert_export_failed_tables{name="nightly"} 2`},
		{&export.PartialError{Failed: 2, Tables: 3}, `culvert_export_exit_code{name="nightly"} 3`},
		{errors.New("the disk is full"), `culvert_export_success{name="nightly"} 0`},
	} {
		r := &WorkReport{Outcome: Outcome{Command: "export"}, Rows: &rows, Seconds: 1.5}
		if err := writeMetrics(file, r, one.err); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if problems, err := promlint.New(bytes.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v: %s", problems, err, text)
		}
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(one.want) + `$`).Match(text) {
			t.Errorf("%s is not in %s", one.want, text)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	other := filepath.Join(t.TempDir(), "shop.db")
	if err := os.WriteFile(other, []byte("SQLite format 3\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := WorkFlags{metricsFile: other}
	if f.Check() == nil || writeMetrics(other, &WorkReport{Outcome: Outcome{Command: "export"}}, nil) == nil {
		t.Error("a database is overwritten with figures")
	}
	if f.metricsFile = file; f.Check() != nil {
		t.Error("figures are not replaced")
	}
	if writeMetrics(filepath.Join(file, "none"), &WorkReport{Outcome: Outcome{Command: "export"}}, nil) == nil {
		t.Error("no error for a file that cannot be written")
	}
}
