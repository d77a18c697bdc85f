package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"culvert/export"
)

// inputFlags say how to open a file that is perhaps encrypted, and perhaps on a server.
type inputFlags struct {
	decryptFlags
	placeFlags
}

func (f *inputFlags) add(cmd *cobra.Command) {
	f.decryptFlags.add(cmd)
	f.placeFlags.add(cmd)
}

// readOptions are the flags of commands that read all of a file.
type readOptions struct {
	workFlags
	inputFlags
}

// claimStdin returns standard input to one reader, for one purpose.
func (a *app) claimStdin(purpose string) (io.Reader, error) {
	if a.stdinUse != "" {
		return nil, usagef("standard input cannot be %s: it is %s already", purpose, a.stdinUse)
	}
	a.stdinUse = purpose
	return a.stdin, nil
}

// input is a file that is read and counted. Reading ends with the context.
type input struct {
	io.Reader // also an io.ReaderAt and an io.Seeker if the size is known
	ctx       context.Context
	name      string
	size      int64 // of a regular file, otherwise 0
	read      atomic.Int64

	src    io.Reader
	at     *location // nil if it is of this machine
	closed func(error) error
}

// openInput opens the file of an argument. No argument, and "-", are standard input. Its
// closed is called at the end, with the error of everything.
func (a *app) openInput(ctx context.Context, args []string, flags *placeFlags) (*input, error) {
	in := &input{ctx: ctx, name: "standard input", closed: func(err error) error { return err }}
	in.Reader = &inputReader{in}
	if len(args) == 0 || args[0] == "-" {
		var err error
		in.src, err = a.claimStdin("the input")
		return in, err
	}
	in.name = args[0]
	if !isURL(in.name) {
		f, err := os.Open(in.name)
		if err != nil {
			return nil, err
		}
		return in, in.from(f)
	}
	ctx, l, err := a.locate(ctx, in.name, flags)
	if err != nil {
		return nil, err
	}
	return l.openInput(ctx)
}

// openInput opens the file at a location.
func (l *location) openInput(ctx context.Context) (*input, error) {
	in := &input{ctx: ctx, name: l.text, at: l, closed: l.close}
	in.Reader = &inputReader{in}
	f, err := l.place.Open(l.name)
	if err != nil {
		return nil, in.closed(in.blame(err))
	}
	return in, in.from(f)
}

// from makes an open file the source of the input.
func (in *input) from(f fs.File) error {
	closed := in.closed
	in.closed = func(err error) error { return closed(errors.Join(err, f.Close())) }
	in.src = f
	switch info, err := f.Stat(); {
	case err != nil:
	case info.IsDir():
		return in.closed(directoryError(in.name))
	case info.Mode().IsRegular():
		in.size = info.Size()
	}
	if at, is := f.(io.ReaderAt); is && in.size > 0 {
		in.Reader = io.NewSectionReader(&inputReaderAt{in, at}, 0, in.size)
	}
	return nil
}

// blame names the file of a server in an error about it.
func (in *input) blame(err error) error {
	if in.at == nil {
		return err
	}
	return in.at.blame(err)
}

// inputReader reads the input as a stream.
type inputReader struct{ in *input }

func (r *inputReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.in.ctx); err != nil {
		return 0, err
	}
	n, err := r.in.src.Read(p)
	r.in.read.Add(int64(n))
	return n, r.in.blame(err)
}

// inputReaderAt reads the input at random.
type inputReaderAt struct {
	in  *input
	src io.ReaderAt
}

func (r *inputReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := context.Cause(r.in.ctx); err != nil {
		return 0, err
	}
	n, err := r.src.ReadAt(p, off)
	for end := off + int64(n); ; { // several goroutines read one part after the other, and the beginning twice
		if read := r.in.read.Load(); read >= end || r.in.read.CompareAndSwap(read, end) {
			return n, r.in.blame(err)
		}
	}
}

// isDirectory reports whether an argument is a directory.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// directoryError refuses a directory where a file is needed. One of tables has other ways.
func directoryError(path string) error {
	err := fmt.Errorf("%s is a directory", path)
	for _, name := range []string{export.EncryptedManifestName, export.ManifestName} {
		manifest := filepath.Join(path, name)
		if _, statErr := os.Lstat(manifest); statErr == nil {
			return withHint(err, "to check all tables in it: culvert verify "+forShell(path),
				"to see which they are: culvert cat "+forShell(manifest))
		}
	}
	return withHint(err, "name a file in it")
}

// refuseSameFile refuses an output that is one of the files that are read: the input, or an identity, say.
func refuseSameFile(output string, inputs []string) error {
	target, err := os.Stat(output)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range inputs {
		if info, err := os.Stat(name); err == nil && target.Mode().IsRegular() && os.SameFile(info, target) {
			return usagef("the output %q is also an input", output)
		}
	}
	return nil
}
