package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"unicode"
	"unicode/utf8"

	"culvert/internal/publish"
	"culvert/internal/ui"
)

// sink is where the bytes of a command go. Exactly one of commit and discard has an effect: the one that comes first.
type sink interface {
	io.Writer

	// commit makes the output final. On an error nothing is left, unless the error says that the output is complete but
	// may not survive a crash.
	commit() error

	// discard removes what was written.
	discard() error
}

// outputs are the files of a run that are not complete. They are written under another name, in the same directory, and
// renamed at the end:
//
//	orders.csv.zst.age.k3v7q2ma.part ──▶ fsync ──▶ rename ──▶ fsync of the directory ──▶ orders.csv.zst.age
//
// The middle of the name is random, so that two runs at once do not touch each other's files.
type outputs struct {
	mu        sync.Mutex
	open      map[*outputFile]struct{}
	made      string // a directory for them that was made, if there is one
	abandoned bool
}

func newOutputs() *outputs { return &outputs{open: map[*outputFile]struct{}{}} }

// abandon removes all files that are not complete, while commands may still be writing to them. None will be completed.
func (o *outputs) abandon() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.abandoned = true
	var errs []error
	for f := range o.open {
		errs = append(errs, f.file.Discard())
	}
	clear(o.open)
	return errors.Join(append(errs, o.removeMade())...)
}

// mkdir makes a directory for the outputs.
func (o *outputs) mkdir(path string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned {
		return errInterrupted
	}
	err := os.Mkdir(path, 0o777) // less the umask
	if err == nil {
		o.made = path
	}
	return err
}

// removeEmpty removes the directory that mkdir has made, if that was for nothing.
func (o *outputs) removeEmpty() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.removeMade()
}

// removeMade is removeEmpty with the lock held.
func (o *outputs) removeMade() error {
	if o.made == "" {
		return nil
	}
	entries, err := os.ReadDir(o.made)
	if err != nil || len(entries) > 0 {
		return err
	}
	made := o.made
	o.made = ""
	return os.Remove(made)
}

// outputFile is a file that is being written.
type outputFile struct {
	file    *publish.Writer // nil for what is not a regular file and is written to directly
	plain   *os.File
	outputs *outputs
	path    string
	force   bool
}

// checkOutput refuses an output that create would refuse, before work is done for it. The information is that of the
// file if it exists, and nil if it does not.
func checkOutput(path string, force bool) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if _, err := os.Lstat(path); err == nil && !force {
			return nil, existsError(path) // as a link that leads nowhere
		}
		dir := filepath.Dir(path)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return nil, withHint(fmt.Errorf("output directory %q does not exist", dir), hintToMake(dir))
		}
		return nil, nil
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, usagef("output %q is a directory", path)
	case info.Mode().IsRegular() && !force:
		return nil, existsError(path)
	}
	return info, nil
}

// create begins a file. Unless it may be overwritten, there must be none of this name, now and when it is complete.
// What exists and is no regular file, such as /dev/null or a pipe, is written to as it is.
func (o *outputs) create(path string, force bool) (*outputFile, error) {
	info, err := checkOutput(path, force)
	if err != nil {
		return nil, err
	}
	var mode os.FileMode = 0o666 // less the umask
	if info != nil {
		if !info.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			return &outputFile{plain: f, outputs: o, path: path}, withOutputHint(err)
		}
		mode = info.Mode().Perm()
		// The file is replaced where it is, not the link to it.
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned {
		return nil, errInterrupted
	}
	f, err := publish.Create(path, mode)
	if err != nil {
		return nil, withOutputHint(fmt.Errorf("output %q: %w", path, err))
	}
	out := &outputFile{file: f, outputs: o, path: path, force: force}
	o.open[out] = struct{}{}
	return out, nil
}

func existsError(path string) error {
	return withHint(fmt.Errorf("output %q exists", path),
		"choose another name with -o FILE, or overwrite it with --force")
}

func (f *outputFile) Write(p []byte) (n int, err error) {
	if f.plain != nil {
		n, err = f.plain.Write(p)
	} else {
		n, err = f.file.Write(p)
	}
	return n, f.explain(err)
}

// explain names the output in an error.
func (f *outputFile) explain(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("output %q: %w", f.path, path.Err)
	}
	return withOutputHint(err)
}

// withOutputHint says what to try if there is no place for an output.
func withOutputHint(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return withHint(err, "make room, or choose another place with -o FILE")
	case errors.Is(err, os.ErrPermission):
		return withHint(err, "choose another place with -o FILE, or change the permissions")
	}
	return err
}

func (f *outputFile) commit() error {
	if f.plain != nil {
		return f.plain.Close()
	}
	err := f.file.Commit(f.force)
	abandoned := f.end()
	switch {
	case err != nil && abandoned:
		return errInterrupted
	case errors.Is(err, os.ErrExist):
		return existsError(f.path)
	}
	return f.explain(err)
}

// end forgets the file, and reports whether the run was abandoned before that.
func (f *outputFile) end() (abandoned bool) {
	f.outputs.mu.Lock()
	defer f.outputs.mu.Unlock()
	_, open := f.outputs.open[f]
	delete(f.outputs.open, f)
	return f.outputs.abandoned && !open
}

func (f *outputFile) discard() error {
	if f.plain != nil {
		if err := f.plain.Close(); !errors.Is(err, os.ErrClosed) {
			return err
		}
		return nil
	}
	f.end()
	return f.file.Discard()
}

// stream is a sink that others read as it is written: standard output.
type stream struct{ io.Writer }

func (s stream) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		return n, &outputClosedError{err}
	}
	return n, withOutputHint(err)
}

// outputClosedError says that whoever read standard output has had enough, as head has.
type outputClosedError struct{ error }

func (e *outputClosedError) Unwrap() error { return e.error }

func (stream) commit() error  { return nil }
func (stream) discard() error { return nil }

// printable is standard output when that is a terminal and the data might be binary. It lets text pass, as it comes,
// and stops at the first byte that is none.
type printable struct {
	stream
	rest  []byte // the beginning of a character that continues in the next write
	hints []string
}

func (p *printable) Write(data []byte) (int, error) {
	text := slices.Concat(p.rest, data)
	end := len(text) - incompleteRune(text)
	if !isText(text[:end]) {
		return 0, withHint(errBinary, p.hints...)
	}
	p.rest = bytes.Clone(text[end:])
	if _, err := p.stream.Write(text[:end]); err != nil {
		return 0, err
	}
	return len(data), nil
}

func (p *printable) commit() error {
	if len(p.rest) > 0 {
		return withHint(errBinary, p.hints...)
	}
	return nil
}

var errBinary = errors.New("refusing to write binary data to the terminal")

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

// openSink gives the sink of -o: a file, or standard output if the path is "" or "-". Data that could be binary goes to
// a terminal only if it turns out to be text, or if "-" says that it shall.
func (a *app) openSink(path string, force bool, binaryHints ...string) (sink, error) {
	if path != "" && path != "-" {
		return a.outputs.create(path, force)
	}
	if path == "" && ui.IsTerminal(a.stdout) {
		return &printable{stream: stream{a.stdout}, hints: binaryHints}, nil
	}
	return stream{a.stdout}, nil
}

// countingWriter counts what is written to a sink, and remembers why that failed.
type countingWriter struct {
	w   io.Writer
	n   atomic.Int64
	err error
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	if err != nil {
		c.err = err
	}
	return n, err
}

// blame gives the error of a copy: that of the sink, if it has failed, and otherwise what is said of the source.
func (c *countingWriter) blame(err, ofSource error) error {
	if c.err != nil && errors.Is(err, c.err) {
		return c.err
	}
	return ofSource
}
