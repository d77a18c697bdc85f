package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"filippo.io/age"
	"filippo.io/age/plugin"

	"culvert/cmd/culvert/internal/ui"
	"culvert/format"
	"culvert/internal/keyfile"
	"culvert/internal/lazyregexp"
	"culvert/place"
	"culvert/secureconn"
	"culvert/source"
)

// ErrNoIdentity says that something needs an identity and there is none.
var ErrNoIdentity = errors.New("no identity")

// UsageError says that the command line makes no sense.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

// Usagef returns a [UsageError].
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// HintedError is an error with what to try next.
type HintedError struct {
	error
	hints []string
}

func (e *HintedError) Unwrap() error { return e.error }

// WithHint returns err with hints, and nil for no error.
func WithHint(err error, hints ...string) error {
	if err == nil {
		return nil
	}
	return &HintedError{err, hints}
}

// unendedError is the error of work that can go on.
type unendedError struct {
	error
	hint string
}

func (e *unendedError) Unwrap() error { return e.error }

// WithNext returns err with a hint that says how the work goes on, which is of use also if a signal has ended it.
func WithNext(err error, hint string) error {
	return &unendedError{WithHint(err, append(HintsOf(err), hint)...), hint}
}

// notForShell is in what a shell does not take as one word that stands for itself.
var notForShell = lazyregexp.New(`[^\pL\pN@%+=:,./_-]`)

// ForShell writes an argument, such as a path, as it has to be typed in the command of a hint.
func ForShell(argument string) string {
	if shown := ui.Name(argument); shown != argument {
		return shown
	}
	if argument != "" && !notForShell.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

// HintToMake is for a directory that does not exist.
func HintToMake(dir string) string { return "make it: mkdir -p " + ForShell(dir) }

// HintsOf returns what to try next: the hints that were given where the error arose, or else those that follow from its
// kind.
func HintsOf(err error) []string {
	var hinted *HintedError
	var unended *unendedError
	switch {
	case errors.Is(err, ErrInterrupted) && errors.As(err, &unended):
		return []string{unended.hint}
	case errors.Is(err, ErrInterrupted):
		return nil
	case errors.As(err, &hinted):
		return hinted.hints
	}
	var unknown *source.UnknownError
	var missingPlugin *plugin.NotFoundError
	var text *source.TextError
	switch {
	case errors.As(err, &unknown):
		return hintsOfUnknown(unknown)
	case errors.As(err, &missingPlugin):
		return []string{
			fmt.Sprintf("you may want to install the plugin %q", missingPlugin.Name),
			"a list of plugins is at https://age-encryption.org/awesome#plugins",
		}
	case errors.Is(err, keyfile.ErrPassphrase):
		return []string{"try again; letter case and spaces count"}
	case Is[*age.NoIdentityMatchError](err):
		return []string{"give the identity that the file is encrypted to: -i FILE"}
	case errors.As(err, &text):
		return hintsOfText(text)
	case Is[*format.InvalidUTF8Error](err):
		return []string{"write it in another way: --invalid-utf8 replace, or base64"}
	case Is[*format.ValueError](err):
		return []string{
			"write it as NULL: --lossy null", "write its column as text: --lossy string", "use another format: -f csv",
		}
	case errors.Is(err, syscall.EMFILE):
		return []string{"allow more open files, for example 1024: ulimit -n 1024"}
	case errors.Is(err, io.ErrUnexpectedEOF) && ExitCode(err) == ExitIntegrity:
		return []string{"it is shorter than it was made: get it again from where it came from"}
	}
	return hintOfRemote(err)
}

// hintsOfText says how to find such texts, and how to export their bytes.
func hintsOfText(err *source.TextError) []string {
	inBytes := "to export the bytes of the column, select it as " + err.Bytes
	if err.Query != "" {
		inBytes = "to export the bytes of the column: -q " + ForShell(err.Query)
	}
	return []string{"such rows are those WHERE " + err.Condition, inBytes}
}

// hintsOfUnknown names the thing that was probably meant, or else some that exist.
func hintsOfUnknown(err *source.UnknownError) []string {
	for _, known := range err.Known {
		if strings.HasSuffix(known, "."+err.Name) {
			return []string{fmt.Sprintf("did you mean %q?", known)}
		}
	}
	if nearest := ui.Nearest(err.Name, err.Known); nearest != "" {
		return []string{fmt.Sprintf("did you mean %q?", nearest)}
	}
	const most = 8
	switch {
	case len(err.Known) == 0:
		return nil
	case len(err.Known) > most:
		return []string{fmt.Sprintf("each %s is one of: %s, …", err.What, strings.Join(err.Known[:most], ", "))}
	}
	return []string{fmt.Sprintf("each %s is one of: %s", err.What, strings.Join(err.Known, ", "))}
}

// Fail reports an error, unless that is done already, and returns the exit code.
func (a *App) Fail(err error, json bool) int {
	code := ExitCode(err)
	switch {
	case err == nil, Is[*ReportedError](err), Is[*outputClosedError](err):
	case isReported(err) && !json: // each failure was reported, and the last line counts them
	case json:
		// A command that has ended has reported by itself. What is left is one that was stuck.
		outcome := &Outcome{}
		outcome.set(err, &a.Secrets)
		if last := a.Last.Load(); last == nil || !(*last)(outcome) {
			_ = ui.WriteJSON(a.Stderr, outcome) // nobody is left to report to
		}
	default:
		a.Console.Error(Plain(err))
		for _, hint := range HintsOf(err) {
			a.Console.Hint(hint)
		}
	}
	return code
}

// incompleteError says what is missing from what a command has reported. It was reported before.
type incompleteError struct{ error }

// Incomplete marks an error as one of which the reports tell.
func Incomplete(err error) error { return &incompleteError{err} }

func (e *incompleteError) Unwrap() error { return e.error }

// ChecksError says which checks have failed. They were reported before.
type ChecksError []string

func (e ChecksError) Error() string { return "failed: " + strings.Join(e, ", ") }

// ReportedError is an error that was reported as JSON.
type ReportedError struct{ error }

func (e *ReportedError) Unwrap() error { return e.error }

// PackageNames are what the errors of our packages begin with. It tells those who read the code.
var PackageNames = lazyregexp.New(
	`(?m)(^|: |; )((agefile|bucket|charset|compress|dialect|export|fileservice|format|fusefs|keyfile|load|manifest|` +
		`mysql|place|plainfs|postgres|queue|secureconn|sink|sniff|source|sqldb|sqlite|tablechoice|wal|workers): )+`)

// Plain is the text of an error as people see it: without the names of packages, and with names of files as [ui.Name]
// shows them.
func Plain(err error) string { return PackageNames.ReplaceAllString(showNames(err.Error(), err), "$1") }

// showNames replaces the names of files in the text of an error that cannot be shown as they are.
func showNames(text string, err error) string {
	var names []string
	var inner []error
	switch err := err.(type) { //nolint:errorlint // each error of the chain has its turn
	case *fs.PathError:
		names, inner = []string{err.Path}, []error{err.Err}
	case *os.LinkError:
		names, inner = []string{err.Old, err.New}, []error{err.Err}
	case interface{ Unwrap() error }:
		inner = []error{err.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = err.Unwrap()
	}
	for _, name := range names {
		if shown := ui.Name(name); shown != name {
			text = strings.ReplaceAll(text, name, shown)
		}
	}
	for _, err := range inner {
		if err != nil {
			text = showNames(text, err)
		}
	}
	return text
}

// About says what an error is about, such as the name of a file.
func About(what string, err error) error { return Rephrase(err, ui.Name(what)+": "+Plain(err)) }

// Rephrase returns an error that wraps err and has another text.
func Rephrase(err error, text string) error { return &rephrasedError{err, text} }

// rephrasedError says in other words what an error means here.
type rephrasedError struct {
	error
	text string
}

func (e *rephrasedError) Error() string { return e.text }

func (e *rephrasedError) Unwrap() error { return e.error }

// hintOfRemote says what to try when a server has failed after it was reached.
func hintOfRemote(err error) []string {
	switch {
	case errors.Is(err, place.ErrIntegrity), errors.Is(err, secureconn.ErrRecord):
		return []string{"what came is not what the server should send; nothing of it was kept"}
	case errors.Is(err, place.ErrUnreachable):
		return []string{"run the command again; culvert pull and culvert push resume"}
	case errors.Is(err, place.ErrChanged):
		return []string{"somebody writes to it: run it again when it is finished"}
	}
	return nil
}
