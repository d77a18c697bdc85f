package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/ui"
)

// AddEnd adds the flags about the end of a job to a command.
func (f *WorkFlags) AddEnd(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var((*NotEmpty)(&f.notify), "notify",
		"at the end, POST the object of --json to a URL, or run a command with it: `URL|COMMAND`")
	flags.Var((*NotEmpty)(&f.metricsFile), "metrics-file", "at the end, write figures for node_exporter to `FILE`")
}

// notifyPatience is how long a notification may take.
const notifyPatience = 10 * time.Second

// tell tells others how a job has ended: its code and its report. What fails is a warning, since the job is done.
func (a *App) tell(ctx context.Context, cmd *cobra.Command, f *WorkFlags, r workReporter, err error) {
	if f.notify == "" && f.metricsFile == "" {
		return
	}
	base := r.Base()
	base.Command = cmd.Name()
	base.set(err, &a.Secrets)
	if f.metricsFile != "" {
		if err := writeMetrics(f.metricsFile, r.Work(), err); err != nil {
			a.Console.Warn("the file of figures was not written: " + Plain(err))
		}
	}
	if f.notify != "" {
		var object bytes.Buffer
		err := ui.WriteJSON(&object, r)
		if err == nil {
			err = a.notify(context.WithoutCancel(ctx), f.notify, object.Bytes(), notifyPatience)
		}
		if err != nil {
			a.Console.Warn("nobody was notified: " + a.Secrets.Redact(Plain(err)))
		}
	}
}

// notify sends an object to a URL, or to the standard input of a command.
func (a *App) notify(ctx context.Context, to string, object []byte, limit time.Duration) error {
	late := fmt.Errorf("it has taken longer than %v", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	var err error
	if isHTTP(to) {
		err = post(ctx, to, object)
	} else {
		cmd := shell(ctx, to)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(object), a.Stderr, a.Stderr
		cmd.WaitDelay = time.Second
		if err = cmd.Run(); errors.Is(err, exec.ErrWaitDelay) {
			err = nil // it has left something running
		}
		if err != nil {
			err = fmt.Errorf("the command: %w", err)
		}
	}
	if err != nil && context.Cause(ctx) == late {
		return late
	}
	return err
}

func isHTTP(to string) bool {
	return strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://")
}

// post posts an object. No error shows the path of the URL, which may hold a token.
func post(ctx context.Context, to string, object []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(object))
	if err != nil {
		return errors.New("the text is not a URL")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if at, is := errors.AsType[*url.Error](err); is {
			err = at.Err
		}
		return fmt.Errorf("%s: %w", request.URL.Host, err)
	}
	err = response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("%s has answered %s", request.URL.Host, response.Status)
	}
	return err
}

// shell returns a command in the shell of the system.
func shell(ctx context.Context, command string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.CommandContext(ctx, "cmd", "/c", command)
	}
	return exec.CommandContext(ctx, "sh", "-c", command)
}

// writeMetrics writes the figures of a job for the textfile collector of node_exporter, which reads all such files of a
// directory: so the name of the file is a label. The file is replaced at once.
func writeMetrics(file string, r *WorkReport, err error) error {
	if err := refuseOther(file); err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	registry := prometheus.NewRegistry()
	gauge := func(what, help string, value float64) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "culvert_" + r.Command + "_" + what, Help: help, ConstLabels: prometheus.Labels{"name": name},
		})
		g.Set(value)
		registry.MustRegister(g)
	}
	success, failed := 0.0, 0
	if err == nil {
		success = 1
	}
	if n, _, is := partial(err); is {
		failed = n
	}
	gauge("success", "Whether the last run has done all it was to do.", success)
	gauge("exit_code", "The exit code of the last run.", float64(ExitCode(err)))
	gauge("failed_tables", "Tables that have failed in the last run.", float64(failed))
	gauge("end_timestamp_seconds", "When the last run has ended.", float64(time.Now().UnixMilli())/1e3)
	gauge("duration_seconds", "How long the last run has taken.", r.Seconds)
	gauge("in_bytes", "Bytes that the last run has read.", float64(r.BytesIn))
	gauge("out_bytes", "Bytes that the last run has written.", float64(r.BytesOut))
	gauge("peak_memory_bytes", "Most memory that the last run has used.", float64(r.PeakMemory))
	if r.Rows != nil {
		gauge("rows", "Rows of the last run.", float64(*r.Rows))
	}
	return prometheus.WriteToTextfile(file, registry)
}

// ownFigures is how a file of figures begins.
const ownFigures = "# HELP culvert_"

// refuseOther refuses a file that has something else than figures, such as a database.
func refuseOther(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return nil //nolint:nilerr // to write it says what is wrong
	}
	begin := make([]byte, len(ownFigures))
	n, _ := io.ReadFull(f, begin)
	_ = f.Close() // it was only read
	if n > 0 && string(begin[:n]) != ownFigures {
		return Usagef("the file %q has no figures of culvert, and is not overwritten", file)
	}
	return nil
}
