package argument

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/manifest"
)

// InputFlags say how to open a file that is perhaps encrypted, and perhaps on a server.
type InputFlags struct {
	command.DecryptFlags
	PlaceFlags
}

// Add adds the flags to a command.
func (f *InputFlags) Add(cmd *cobra.Command) {
	f.DecryptFlags.Add(cmd)
	f.PlaceFlags.Add(cmd)
}

// Input is a file that is read and counted. Reading ends with the context.
type Input struct {
	io.Reader           // of this machine, also an io.ReaderAt and an io.Seeker if the size is known
	Random    io.Reader // the same, also of servers and buckets, where Reader reads ahead and this does not
	ctx       context.Context
	Name      string
	Size      int64 // of a regular file, otherwise 0
	BytesRead atomic.Int64

	src   io.Reader
	at    *Location // nil if it is of this machine
	Close func(error) error
}

func newInput(ctx context.Context, name string, at *Location, done func(error) error) *Input {
	in := &Input{ctx: ctx, Name: name, at: at, Close: done}
	in.Reader = &inputReader{in}
	in.Random = in.Reader
	return in
}

// OpenInput opens the file of an argument. No argument, and "-", are standard input. The caller calls Close at the end,
// with the error of everything.
func OpenInput(ctx context.Context, a *command.App, args []string, flags *PlaceFlags) (*Input, error) {
	in := newInput(ctx, "standard input", nil, func(err error) error { return err })
	if len(args) == 0 || args[0] == "-" {
		var err error
		in.src, err = a.ClaimStdin("the input")
		return in, err
	}
	in.Name = args[0]
	if !IsURL(in.Name) {
		f, err := os.Open(in.Name)
		if err != nil {
			return nil, err
		}
		return in, in.from(f)
	}
	ctx, l, err := Locate(ctx, a, in.Name, flags)
	if err != nil {
		return nil, err
	}
	return l.OpenInput(ctx)
}

// OpenInput opens the file at a location.
func (l *Location) OpenInput(ctx context.Context) (*Input, error) {
	in := newInput(ctx, l.Text, l, l.Close)
	f, err := l.Place.Open(l.Name)
	if err != nil {
		return nil, in.Close(in.blame(err))
	}
	return in, in.from(f)
}

// from makes an open file the source of the input.
func (in *Input) from(f fs.File) error {
	closed := in.Close
	in.Close = func(err error) error { return closed(errors.Join(err, f.Close())) }
	in.src = f
	switch info, err := f.Stat(); {
	case err != nil:
	case info.IsDir():
		return in.Close(directoryError(in.Name))
	case info.Mode().IsRegular():
		in.Size = info.Size()
	}
	if at, is := f.(io.ReaderAt); is && in.Size > 0 {
		in.Random = io.NewSectionReader(&inputReaderAt{in, at}, 0, in.Size)
		if in.at == nil {
			in.Reader = in.Random
		}
	}
	return nil
}

// blame names the file of a server in an error about it.
func (in *Input) blame(err error) error {
	if in.at == nil {
		return err
	}
	return in.at.Blame(err)
}

// inputReader reads the input as a stream.
type inputReader struct{ in *Input }

func (r *inputReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.in.ctx); err != nil {
		return 0, err
	}
	n, err := r.in.src.Read(p)
	r.in.BytesRead.Add(int64(n))
	return n, r.in.blame(err)
}

// inputReaderAt reads the input at random.
type inputReaderAt struct {
	in  *Input
	src io.ReaderAt
}

func (r *inputReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := context.Cause(r.in.ctx); err != nil {
		return 0, err
	}
	n, err := r.src.ReadAt(p, off)
	for end := off + int64(n); ; { // several goroutines read one part after the other, and the beginning twice
		if read := r.in.BytesRead.Load(); read >= end || r.in.BytesRead.CompareAndSwap(read, end) {
			return n, r.in.blame(err)
		}
	}
}

// IsDirectory reports whether an argument is a directory.
func IsDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// IsInside reports whether a path, which need not exist, is below a directory, whatever links lead there.
func IsInside(path, dir string) (bool, error) {
	of, err := os.Stat(dir)
	if err != nil {
		return false, nil //nolint:nilerr // who opens it says why
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return false, err
	}
	for parent := filepath.Dir(path); parent != path; path, parent = parent, filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && os.SameFile(info, of) {
			return true, nil
		}
	}
	return false, nil
}

// ErrDirectory marks errors of an argument that is a directory where a file is needed.
var ErrDirectory = errors.New("it is a directory")

// directoryError refuses a directory where a file is needed. One of tables has other ways.
func directoryError(path string) error {
	err := command.Rephrase(ErrDirectory, path+" is a directory")
	for _, name := range []string{manifest.EncryptedName, manifest.Name} {
		file := filepath.Join(path, name)
		if _, statErr := os.Lstat(file); statErr == nil {
			return command.WithHint(err, "to check all tables in it: culvert verify "+command.ForShell(path),
				"to see which they are: culvert cat "+command.ForShell(file))
		}
	}
	return command.WithHint(err, "name a file in it")
}
