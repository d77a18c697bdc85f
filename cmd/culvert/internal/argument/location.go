// Package argument opens what an argument names: a file, a directory, standard input or output, or a file of a server
// or of a bucket. Files are in places: [Locate] finds the place, [OpenInput] and [OpenSink] open the file in it.
package argument

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/connect"
	"culvert/fileservice/client"
	"culvert/place"
	"culvert/place/dir"
)

// PlaceFlags say how to connect to the server or the bucket that an argument names.
type PlaceFlags struct {
	as      command.NotEmpty
	timeout time.Duration
}

// Add adds the flags to a command.
func (f *PlaceFlags) Add(cmd *cobra.Command) {
	cmd.Flags().Var(&f.as, "as", "be the identity in `FILE` for culvert:// URLs (default: your own)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", client.DefaultTimeout,
		"give up on a server or a bucket if no byte moves for `TIME`")
}

// Location is where an argument leads: a file or a directory in a place.
type Location struct {
	Text   string // the argument
	Place  place.Place
	Name   string                // in the place
	Remote Remote                // nil for a place of this machine
	Close  func(err error) error // takes the error of what was done there, and returns the one to report
}

// Remote is a server or a bucket.
type Remote interface {
	At(name string) string // a URL
	Blame(err error) error // names files by their URLs
	Close(err error) error
}

// Locate returns where an argument leads. It connects to the server of a URL; the context that it returns ends when
// that turns out to be another one. The path of a link leads to the file behind it.
func Locate(ctx context.Context, a *command.App, argument string, f *PlaceFlags) (context.Context, *Location, error) {
	if connect.IsBucket(argument) {
		u, err := connect.ParseBucketURL(argument)
		if err != nil {
			return nil, nil, err
		}
		b, err := u.Open(ctx, f.timeout, 0)
		if err != nil {
			return nil, nil, err
		}
		a.WaitFor(connect.BucketPatience)
		return ctx, &Location{u.String(), place.WithContext(ctx, b.Place), u.Path, b, b.Close}, nil
	}
	if connect.IsServer(argument) {
		u, err := connect.ParseURL(argument)
		if err != nil {
			return nil, nil, err
		}
		flags := &connect.Flags{KeyFlags: connect.KeyFlags{Identity: f.as}, Timeout: f.timeout}
		ctx, r, err := flags.Connect(ctx, a, u, client.DefaultConnections, nil)
		if err != nil {
			return nil, nil, err
		}
		return ctx, &Location{u.String(), r.Client.Place(), u.Path, r, r.Close}, nil
	}
	file := filepath.Clean(argument)
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	parent, name := filepath.Dir(file), filepath.Base(file)
	if IsDirectory(file) {
		parent, name = file, "."
	}
	opened, err := dir.Open(parent)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, command.WithHint(fmt.Errorf("output directory %q does not exist", parent),
			command.HintToMake(parent))
	} else if err != nil {
		return nil, nil, command.WithOutputHint(err)
	}
	done := func(err error) error { return errors.Join(err, opened.Close()) }
	return ctx, &Location{argument, opened, name, nil, done}, nil
}

// Directory returns the place whose files are those in the directory of the location.
func (l *Location) Directory() (place.Place, error) {
	sub, err := place.Sub(l.Place, l.Name)
	return &output{sub, l}, err
}

// Blame names the file of a server or a bucket in an error about it.
func (l *Location) Blame(err error) error {
	if l.Remote == nil || err == nil {
		return err
	}
	return l.Remote.Blame(err)
}

// Info describes what exists at the location.
func (l *Location) Info() (fs.FileInfo, error) { return fs.Stat(l.Place, l.Name) }

// Join names a file in the directory of the location.
func (l *Location) Join(name string) string {
	if l.Remote == nil {
		return filepath.Join(l.Text, filepath.FromSlash(name))
	}
	return l.Remote.At(path.Join(l.Name, name))
}

// Explain says which output an error is about.
func (l *Location) Explain(err error) error {
	at, is := errors.AsType[*fs.PathError](err)
	if !is {
		return err
	}
	name := l.Text
	if below, found := strings.CutPrefix(at.Path, l.Name+"/"); found {
		name = l.Join(below)
	} else if l.Name == "." {
		name = l.Join(at.Path)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, err := fs.Lstat(l.Place, at.Path); err == nil && !info.Mode().IsRegular() {
			return command.Rephrase(fs.ErrExist, fmt.Sprintf("output %q exists and is not a regular file", name))
		}
		return existsError(name)
	}
	if l.Remote != nil {
		return l.Remote.Blame(err)
	}
	return command.WithOutputHint(command.Rephrase(err, fmt.Sprintf("output %q: %v", name, at.Err)))
}

// output is a place whose errors say which output they are about.
type output struct {
	place.Place
	at *Location
}

func (o *output) Create(ctx context.Context, name string) (place.File, error) {
	return o.file(o.Place.Create(ctx, name))
}

func (o *output) Replace(ctx context.Context, name string) (place.File, error) {
	return o.file(o.Place.Replace(ctx, name))
}

func (o *output) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(o.Place, name) }

func (o *output) ReadLink(name string) (string, error) { return fs.ReadLink(o.Place, name) }

func (o *output) file(f place.File, err error) (place.File, error) {
	return &outputFile{f, o.at}, o.at.Explain(err)
}

type outputFile struct {
	place.File
	at *Location
}

func (f *outputFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.at.Explain(err)
}

func (f *outputFile) Commit() error { return f.at.Explain(f.File.Commit()) }
