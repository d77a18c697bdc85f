package cli

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"filippo.io/age"
	"filippo.io/age/plugin"

	"culvert/export"
	"culvert/format"
	"culvert/internal/keyfile"
	"culvert/internal/ui"
	"culvert/source"
)

// errNoIdentity says that something needs an identity and there is none.
var errNoIdentity = errors.New("no identity")

// usageError says that the command line makes no sense.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// hintedError is an error with what to try next.
type hintedError struct {
	error
	hints []string
}

func (e *hintedError) Unwrap() error { return e.error }

func withHint(err error, hints ...string) error {
	if err == nil {
		return nil
	}
	return &hintedError{err, hints}
}

// notForShell is in what a shell does not take as one word that stands for itself.
var notForShell = regexp.MustCompile(`[^\pL\pN@%+=:,./_-]`)

// forShell writes an argument, such as a path, as it has to be typed in the command of a hint.
func forShell(argument string) string {
	if argument != "" && !notForShell.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}

// hintToMake is for a directory that does not exist.
func hintToMake(dir string) string { return "make it: mkdir -p " + forShell(dir) }

// hintsOf returns what to try next: the hints that were given where the error arose, or else those that follow from its
// kind.
func hintsOf(err error) []string {
	var hinted *hintedError
	switch {
	case errors.Is(err, errInterrupted):
		return nil
	case errors.As(err, &hinted):
		return hinted.hints
	}
	var unknown *source.UnknownError
	var missingPlugin *plugin.NotFoundError
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
	case is[*age.NoIdentityMatchError](err):
		return []string{"give the identity that the file is encrypted to: -i FILE"}
	case is[*format.InvalidUTF8Error](err):
		return []string{"write it in another way: --invalid-utf8 replace, or base64"}
	case errors.Is(err, io.ErrUnexpectedEOF) && exitCode(err) == exitIntegrity:
		return []string{"it is shorter than it was made: get it again from where it came from"}
	}
	return hintOfRemote(err)
}

// hintsOfUnknown names the thing that was probably meant, or else some that exist.
func hintsOfUnknown(err *source.UnknownError) []string {
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

// fail tells of an error, unless that is done already, and gives the exit code.
func (a *app) fail(err error, json bool) int {
	code := exitCode(err)
	switch {
	case err == nil, is[*reportedError](err), is[*outputClosedError](err):
	case is[*export.PartialError](err) && !json: // each failure was told, and the last line counts them
	case json:
		// A command that has ended has reported by itself. What is left is one that was stuck.
		outcome := &outcome{}
		outcome.set(err, &a.secrets)
		_ = ui.WriteJSON(a.stderr, outcome) // there is nobody left to tell
	default:
		a.console.Error(plain(err))
		for _, hint := range hintsOf(err) {
			a.console.Hint(hint)
		}
	}
	return code
}

// reportedError is an error that was reported as JSON.
type reportedError struct{ error }

func (e *reportedError) Unwrap() error { return e.error }

// packageNames are what the errors of our packages begin with. It tells those who read the code.
var packageNames = regexp.MustCompile(
	`(?m)(^|: )((agefile|compress|export|fileservice|format|fusefs|keyfile|mysql|plainfs|postgres|secureconn|` +
		`source|sqldb|sqlite|wal): )+`)

// plain is the text of an error as people see it: without the names of packages.
func plain(err error) string { return packageNames.ReplaceAllString(err.Error(), "$1") }

// about says what an error is about, such as the name of a file.
func about(what string, err error) error { return &rephrasedError{err, what + ": " + plain(err)} }

// rephrasedError says in other words what an error means here.
type rephrasedError struct {
	error
	text string
}

func (e *rephrasedError) Error() string { return e.text }

func (e *rephrasedError) Unwrap() error { return e.error }
