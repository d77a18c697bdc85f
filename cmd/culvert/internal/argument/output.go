package argument

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode"
	"unicode/utf8"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/place"
)

// CheckOutput refuses an output that openSink would refuse, before work is done for it.
func CheckOutput(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(path); err == nil && !force {
			return existsError(path) // as a link that leads nowhere
		}
		dir := filepath.Dir(path)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return command.WithHint(fmt.Errorf("output directory %q does not exist", dir), command.HintToMake(dir))
		}
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return command.Usagef("output %q is a directory", path)
	case info.Mode().IsRegular() && !force:
		return existsError(path)
	}
	return nil
}

// create begins the file at a location. The function that it returns is called at the end, with the error of
// everything.
func (l *Location) create(ctx context.Context, force bool) (place.File, func(error) error, error) {
	to := &output{l.Place, l}
	create := to.Create
	if force {
		create = to.Replace
	}
	f, err := create(ctx, l.Name)
	if err != nil {
		return nil, nil, l.Close(err)
	}
	return f, func(err error) error { return l.Close(errors.Join(err, f.Discard())) }, nil
}

// existsError wraps [fs.ErrExist]: who writes under several names tries the next one.
func existsError(path string) error {
	return command.WithHint(command.Rephrase(fs.ErrExist, fmt.Sprintf("output %q exists", path)),
		"choose another name with -o FILE, or overwrite it with --force")
}

// device is a stream that has to be closed.
type device struct {
	command.Stream
	file *os.File
}

func (d *device) Commit() error { return d.file.Close() }

func (d *device) Discard() error {
	if err := d.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// printable is standard output when that is a terminal and the data might be binary. It lets text pass, as it comes,
// and stops at the first byte that is none.
type printable struct {
	command.Stream
	rest  []byte // the beginning of a character that continues in the next write
	hints []string
}

func (p *printable) Write(data []byte) (int, error) {
	text := slices.Concat(p.rest, data)
	end := len(text) - incompleteRune(text)
	if !isText(text[:end]) {
		return 0, command.WithHint(ErrBinary, p.hints...)
	}
	p.rest = bytes.Clone(text[end:])
	if _, err := p.Stream.Write(text[:end]); err != nil {
		return 0, err
	}
	return len(data), nil
}

func (p *printable) Commit() error {
	if len(p.rest) > 0 {
		return command.WithHint(ErrBinary, p.hints...)
	}
	return nil
}

// IsStream reports whether what is written to a path cannot be taken back.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return path == "" || path == "-" || err == nil && !info.Mode().IsRegular()
}

// ErrBinary says that binary data was not written to a terminal.
var ErrBinary = errors.New("refusing to write binary data to the terminal")

func isText(data []byte) bool {
	return utf8.Valid(data) && !bytes.ContainsFunc(data, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}

// incompleteRune is the number of bytes at the end that may be the beginning of a character.
func incompleteRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// OpenSink opens the output of -o: a file, or standard output if the path is "" or "-". Data that could be binary goes
// to a terminal only if it turns out to be text, or if the path is "-". The function that it returns is called at the
// end, with the error of everything.
func OpenSink(ctx context.Context, a *command.App, path string, force bool, flags *PlaceFlags, binaryHints ...string) (
	place.File, func(error) error, error,
) {
	nothing := func(err error) error { return err }
	switch info, err := os.Stat(path); {
	case path == "" && ui.IsTerminal(a.Stdout):
		return &printable{Stream: command.Stream{Writer: a.Stdout}, hints: binaryHints}, nothing, nil
	case path == "" || path == "-":
		return command.Stream{Writer: a.Stdout}, nothing, nil
	case err == nil && !info.Mode().IsRegular():
		// A pipe or /dev/null is written to as it is.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		out := &device{command.Stream{Writer: f}, f}
		return out, func(err error) error { return errors.Join(err, out.Discard()) }, command.WithOutputHint(err)
	case err != nil && force:
		if _, err := os.Readlink(path); err == nil { // a link that leads nowhere
			if err := os.Remove(path); err != nil {
				return nil, nil, command.WithOutputHint(err)
			}
		}
	}
	ctx, l, err := Locate(ctx, a, path, flags)
	if err != nil {
		return nil, nil, err
	}
	if IsURL(path) && (l.Name == "." || EndsInSlash(path)) {
		err := command.WithHint(command.Usagef("output %q is a directory", path), "name a file in it")
		return nil, nil, l.Close(err)
	}
	return l.create(ctx, force)
}
