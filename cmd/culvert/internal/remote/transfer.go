// Package remote has the verbs that use the files of a server: ls, pull, push and mount.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/transfer"
	"culvert/internal/grace"
	"culvert/place"
	"culvert/secureconn"
)

// transferFlags are those of culvert pull and culvert push.
type transferFlags struct {
	argument.Flags
	include, exclude []string
	force, retry     bool
	dryRun, hash     bool

	json, verbose, quiet bool
}

func (f *transferFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVarP(&f.Connections, "jobs", "j", client.DefaultConnections, "use `N` connections at once")
	flags.StringArrayVar(&f.include, "include", nil, "copy only what matches `PATTERN`; repeatable")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "leave out what matches `PATTERN`; repeatable")
	flags.BoolVar(&f.retry, "retry", false, "try again while the server is unreachable")
	flags.BoolVar(&f.force, "force", false, "replace files that differ")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be copied; copy nothing")
	flags.BoolVar(&f.hash, "hash", false, "print the BLAKE3 hash of each file, as b3sum does")
	f.Flags.Add(cmd)
	flags.BoolVar(&f.json, "json", false, "end with a line of JSON")
	flags.BoolVarP(&f.verbose, "verbose", "v", false,
		"show each file; without a terminal, progress too")
	flags.BoolVar(&f.quiet, "quiet", false, "show neither progress nor figures")
	cmd.MarkFlagsMutuallyExclusive("verbose", "quiet")
}

// TransferReport is the report of culvert pull and culvert push.
type TransferReport struct {
	command.Outcome
	URL        string          `json:"url,omitempty"`
	Local      string          `json:"local,omitempty"`
	Files      int64           `json:"files"`
	Present    int64           `json:"present"`
	Skipped    int64           `json:"skipped"`
	Failed     int64           `json:"failed"`
	Bytes      int64           `json:"bytes"`
	Resumed    int64           `json:"resumed"`
	OtherTimes int64           `json:"other_times,omitempty"`
	Verified   bool            `json:"verified"`
	BLAKE3     string          `json:"blake3,omitempty"`
	Faults     []transferFault `json:"faults,omitempty"`
	Seconds    float64         `json:"seconds"`
	PeakMemory int64           `json:"peak_memory_bytes"`
}

type transferFault struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// Text implements [command.Report].
func (r *TransferReport) Text() string { return "" }

// fileTransfer is one run of culvert pull or culvert push.
type fileTransfer struct {
	app    *command.App
	flags  *transferFlags
	report *TransferReport
	at     *argument.Location
	writes bool // to the other end
	config transfer.Config

	resume string      // how to continue, if not by the same command
	waits  atomic.Bool // the other end was not reachable when it was last heard of
	failed error       // of printing a hash
}

// do connects, transfers, and reports what came of it.
func (t *fileTransfer) do(
	ctx context.Context, run func(context.Context, transfer.Config) (transfer.Result, error),
) (err error) {
	const most = 256
	if t.flags.Connections < 1 || t.flags.Connections > most {
		return command.Usagef("--jobs is %d, and must be from 1 to %d", t.flags.Connections, most)
	}
	for _, pattern := range slices.Concat(t.flags.include, t.flags.exclude) {
		if _, err := path.Match(pattern, ""); err != nil {
			return command.WithHint(command.Usagef("the pattern %q: %v", pattern, err),
				`write \[ for a [ in a name, and \\ for a \`)
		}
	}
	t.report.URL = t.at.Text
	t.config.Include, t.config.Exclude = t.flags.include, t.flags.exclude
	t.config.Overwrite, t.config.DryRun = t.flags.force, t.flags.dryRun
	t.config.Hash, t.config.Parallel = t.flags.hash, t.flags.Connections
	t.config.Progress, t.config.Notify = &transfer.Progress{}, t.notify
	if t.flags.retry {
		t.config.Retry = func(err error) bool { return !argument.IsFinal(err) }
		t.flags.Again = t.waitForServer()
	}
	command.CollectEvery(command.TransferRoom)
	if ctx, err = t.at.Open(ctx, t.app, &t.flags.Flags); err != nil {
		return err
	}
	defer func() { err = t.at.Close(err) }()

	stop := t.showProgress()
	result, err := run(ctx, t.config)
	stop()
	if cause := context.Cause(ctx); cause != nil && argument.IsFinal(cause) {
		err = cause
	}
	t.conclude(&result, err)
	return cmp.Or(t.hint(err), t.failed)
}

// waitForServer returns a function that waits before the next connection: longer each time, up to half a minute.
func (t *fileTransfer) waitForServer() func(context.Context, error) error {
	const first, longest = 100 * time.Millisecond, 30 * time.Second
	wait := first
	return func(ctx context.Context, err error) error {
		t.notify(transfer.Event{Kind: transfer.Waiting, Err: err, Wait: wait})
		defer func() { wait = min(2*wait, longest) }()
		return grace.Wait(ctx, wait)
	}
}

// notify reports what happens on the way.
func (t *fileTransfer) notify(e transfer.Event) {
	name := ui.Name(e.Name)
	show := t.flags.verbose || t.flags.dryRun
	switch e.Kind {
	case transfer.FileDone:
		t.waits.Store(false)
		text := fmt.Sprintf("%s: %s", name, ui.Bytes(e.Size))
		if e.Resumed > 0 {
			text += fmt.Sprintf(", %s of it resumed", ui.Bytes(e.Resumed))
		}
		if e.Verified {
			text += ", verified"
		}
		t.print(show, text)
		if t.flags.hash && !t.flags.json {
			t.printHash(&e)
		}
	case transfer.FilePresent:
		t.print(show, name+": is there")
	case transfer.FilePlanned:
		text := fmt.Sprintf("%s: %s", name, ui.Bytes(e.Size))
		if e.Resumed > 0 {
			text += fmt.Sprintf(", %s of it there", ui.Bytes(e.Resumed))
		}
		t.print(show, text)
	case transfer.FileSkipped:
		t.warn(fmt.Sprintf("%s is skipped: %s", name, command.Plain(e.Err)))
	case transfer.FileChanged:
		t.warn(name + " has changed at the source, and is copied from the beginning")
	case transfer.Waiting:
		if !t.waits.Swap(true) || t.flags.verbose {
			t.warn(fmt.Sprintf("waiting for the server: %s", command.Plain(e.Err)))
		}
	}
}

// printHash prints a line of standard output that b3sum --check can read. On a terminal, it is one that shows.
func (t *fileTransfer) printHash(e *transfer.Event) {
	name := t.report.Local
	if info, err := t.config.Root.Stat(t.config.Local); err == nil && info.IsDir() {
		name = filepath.Join(name, filepath.FromSlash(e.Name))
	}
	name = filepath.ToSlash(name)
	escape := ""
	if strings.ContainsAny(name, "\\\n\r") {
		escape, name = `\`, strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
	}
	line := escape + e.Hash.String() + "  " + name
	if ui.IsTerminal(t.app.Stdout) {
		line = ui.Line(line)
		if t.app.Console.Terminal() {
			t.app.Console.Print(line) // above the bars
			return
		}
	}
	if _, err := fmt.Fprintln(t.app.Stdout, line); err != nil && t.failed == nil {
		err = fmt.Errorf("printing the hashes: %w", err)
		t.failed = command.WithHint(err,
			"the files are copied; the same command would not hash them again, but b3sum can")
	}
}

// print shows a line on standard error, if it is to be shown.
func (t *fileTransfer) print(show bool, text string) {
	if show && !t.flags.json && !t.flags.quiet {
		t.app.Console.Print(text)
	}
}

func (t *fileTransfer) warn(text string) {
	if !t.flags.json {
		t.app.Console.Warn(text)
	}
}

// showProgress shows the files under way and all together.
func (t *fileTransfer) showProgress() (stop func()) {
	read := func() ui.Status {
		s := t.config.Progress.Status()
		all := ui.Task{Name: ui.Count(s.FilesDone) + "/" + ui.Several(s.Files, "file"), Bytes: s.BytesMoved}
		if s.Listed && s.Bytes > 0 {
			all.Done, all.Left = float64(s.BytesDone)/float64(s.Bytes), s.Bytes-s.BytesDone
		}
		status := ui.Status{Task: all}
		for _, file := range s.Active {
			status.Active = append(status.Active, ui.Moving(file.Name, file.Done, file.Size))
		}
		return status
	}
	style := t.app.Console.Style(t.flags.quiet || t.flags.dryRun, t.flags.verbose)
	return ui.Progress{Console: t.app.Console, Style: style, Read: read}.Start()
}

// conclude notes the result, and shows the last line.
func (t *fileTransfer) conclude(result *transfer.Result, err error) {
	r := t.report
	r.Files, r.Present, r.Skipped, r.Failed = result.Files, result.Present, result.Skipped, result.Failed
	r.Bytes, r.Resumed, r.OtherTimes = result.Bytes, result.Resumed, result.OtherTimes
	r.Verified = result.Files > 0 && result.Verified == result.Files
	if result.Hash != (transfer.Hash{}) {
		r.BLAKE3 = result.Hash.String()
	}
	for _, fault := range result.Faults {
		r.Faults = append(r.Faults, transferFault{fault.Name, t.reasonOf(fault.Err)})
	}
	partial := errors.Is(err, transfer.ErrPartial)
	isTold := len(r.Faults) == 1 && (partial || errors.Is(err, result.Faults[0].Err)) // by the last line
	if !isTold && !t.flags.json {
		for _, fault := range r.Faults {
			t.app.Console.Error(ui.Name(fault.Name) + ": " + fault.Error)
		}
	}
	r.Seconds, r.PeakMemory = result.Duration.Seconds(), ui.PeakMemory()
	if err == nil && len(t.flags.include) > 0 && result.Files+result.Present+result.Skipped == 0 {
		t.warn("nothing matches --include")
	}
	if result.OtherTimes > 0 {
		t.warn(fmt.Sprintf("not kept: %s before 1677-09-21 or after 2262-04-11; the copies have the nearest of these",
			ui.Several(result.OtherTimes, "modification time")))
	}
	if err == nil || partial || hasMoved(result) {
		t.print(true, t.summary(result, err != nil && !partial))
	}
}

// hasMoved reports whether a transfer that has failed has come to more than that failure.
func hasMoved(r *transfer.Result) bool {
	return r.Files+r.Present+r.Skipped+r.Bytes > 0 || r.Failed > 1
}

// summary is the last line. A transfer that was abandoned has more files than it counts.
func (t *fileTransfer) summary(result *transfer.Result, abandoned bool) string {
	text := ui.Name(t.report.Local) + ": "
	if abandoned {
		text += "ended early, with "
	}
	text += ui.Several(result.Files, "file")
	if t.flags.dryRun {
		text += fmt.Sprintf(" with %s", ui.Bytes(result.Bytes))
	}
	for _, part := range []struct {
		n    int64
		what string
	}{{result.Present, "there already"}, {result.Skipped, "skipped"}, {result.Failed, "failed"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %s %s", ui.Count(part.n), part.what)
		}
	}
	if t.flags.dryRun {
		return text + "; nothing was done"
	}
	text += fmt.Sprintf(", %s, %s", ui.Bytes(result.Bytes), ui.Rate(result.Bytes, result.Duration))
	if result.Resumed > 0 {
		text += fmt.Sprintf(", %s resumed", ui.Bytes(result.Resumed))
	}
	switch result.Verified {
	case 0:
	case result.Files:
		text += ", verified"
	default:
		text += fmt.Sprintf(", %s of them verified", ui.Count(result.Verified))
	}
	return text + fmt.Sprintf(", %s, peak memory %s", ui.Duration(result.Duration), ui.Memory(t.report.PeakMemory))
}

// pathErrorOf returns what an error says of a file. It is the file of the end where the error arose.
func pathErrorOf(err error) (path *fs.PathError, is bool) {
	path, is = errors.AsType[*fs.PathError](err)
	if end, at := errors.AsType[*transfer.EndError](err); at {
		for inner, has := errors.AsType[*fs.PathError](end.Err); has; {
			path, is = inner, true
			inner, has = errors.AsType[*fs.PathError](inner.Err)
		}
	}
	return path, is
}

// reasonOf is the text of an error without the name of the file that it is about, which stands beside it.
func (t *fileTransfer) reasonOf(err error) string {
	text := command.Plain(err)
	if path, is := pathErrorOf(err); is {
		text = command.Plain(path.Err)
	}
	return t.verdictOf(err) + text
}

// verdictOf says what cannot be done, and at which end, if it is a system that has failed.
func (t *fileTransfer) verdictOf(err error) string {
	end, is := errors.AsType[*transfer.EndError](err)
	if !is || !command.Is[syscall.Errno](end.Err) {
		return ""
	}
	for _, known := range []error{
		fs.ErrExist, fs.ErrNotExist, place.ErrRefused, place.ErrUnreachable, place.ErrIntegrity, place.ErrChanged,
	} {
		if errors.Is(end.Err, known) {
			return "" // it says enough
		}
	}
	verb, where := "read", "here"
	if end.Writing {
		verb = "written"
	}
	if end.Writing == t.writes {
		where = "there"
	}
	return "it cannot be " + verb + " " + where + ": "
}

// hint says what to try after a failure.
func (t *fileTransfer) hint(err error) error {
	reason, missing := "", false // of the file that it is about, in whose name there may be anything
	if path, is := pathErrorOf(err); is {
		reason, missing = path.Err.Error(), path.Path == t.config.Remote && errors.Is(err, fs.ErrNotExist)
		if !errors.Is(err, transfer.ErrPartial) {
			err = command.Rephrase(path.Err, t.nameOf(path)+": "+t.reasonOf(err))
		}
	}
	switch {
	case err == nil, command.Is[*command.HintedError](err), command.Is[*secureconn.PeerError](err):
		return err
	case errors.Is(err, place.ErrIntegrity):
		return err
	case errors.Is(err, place.ErrRefused) && errors.Is(err, fs.ErrPermission) && t.at.IsBucket():
		return command.WithHint(err, argument.HintOfCredentials)
	case errors.Is(err, place.ErrUnreachable) && !t.flags.retry:
		return command.WithHint(err, t.toResume()+", or add --retry")
	case errors.Is(err, fileservice.ErrRefused) && errors.Is(err, syscall.EROFS):
		return command.WithHint(err, "a server takes files only if it was started with: culvert serve --writable")
	case errors.Is(err, fileservice.ErrBusy):
		return command.WithHint(err,
			"wait until the other transfer has ended; then "+t.toResume())
	case command.IsFull(err):
		where := "here"
		if t.writes {
			where = "there"
		}
		return command.WithHint(err, "make room "+where+"; then "+t.toResume())
	case errors.Is(err, fs.ErrExist):
		return t.hintOfExisting(err, reason)
	case missing:
		return command.WithHint(err, "list what exists: culvert ls "+command.ForShell(t.at.URL(".")))
	}
	return err
}

func (t *fileTransfer) toResume() string {
	return cmp.Or(t.resume, "run the same command again to resume")
}

// nameOf is what an error is about. An object has the name of its URL if the store is to blame.
func (t *fileTransfer) nameOf(err *fs.PathError) string {
	if t.at.IsBucket() && (errors.Is(err, place.ErrRefused) || errors.Is(err, place.ErrUnreachable) ||
		errors.Is(err, place.ErrIntegrity)) {
		return t.at.URL(err.Path)
	}
	return ui.Name(filepath.Clean(err.Path))
}

// hintOfExisting is for a name that is taken. A directory is never replaced by a file, nor the other way round.
func (t *fileTransfer) hintOfExisting(err error, reason string) error {
	switch {
	case !t.flags.force && !strings.Contains(reason, "directory"):
		return command.WithHint(err, "to replace files that differ: --force")
	case t.writes:
		return command.WithHint(err, "give it another name: the end of the URL")
	}
	return command.WithHint(err, "give it another name: -o PATH")
}
