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

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
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

// Location is where an argument leads: a file or a directory in a place of this machine, of a server or of a bucket.
type Location struct {
	Text   string                   // the argument; if it is a URL, in its usual form
	Name   string                   // in the place
	Origin string                   // what a URL names, at whatever address that is reached
	URL    func(name string) string // of a file of the place; nil for a place of this machine
	Blame  func(err error) error    // names files by their URLs

	// From [Location.Open] on.
	Place      place.Place           // it ends with the context that Open returns
	Client     *client.Client        // of a server; otherwise nil
	Identities []age.Identity        // of a server: all that is in the file of the own identity
	Close      func(err error) error // takes the error of what was done there, and returns the one to report

	open func(ctx context.Context, a *command.App, f *Flags) (context.Context, error)
}

// Remote returns where a URL leads. It connects to nothing.
func Remote(url string) (*Location, error) {
	if isBucket(url) {
		return locateBucket(url)
	}
	return locateServer(url)
}

// Open connects to the server or the bucket. The context that it returns ends when the server turns out to be another
// one.
func (l *Location) Open(ctx context.Context, a *command.App, f *Flags) (context.Context, error) {
	if f.Timeout <= 0 {
		return nil, command.Usagef("--timeout is %v, and must be more than 0", f.Timeout)
	}
	return l.open(ctx, a, f)
}

// Locate returns where an argument leads, and opens it: see [Location.Open]. The path of a link leads to the file
// behind it.
func Locate(ctx context.Context, a *command.App, argument string, f *PlaceFlags) (context.Context, *Location, error) {
	if !IsURL(argument) {
		l, err := locatePath(argument)
		return ctx, l, err
	}
	l, err := Remote(argument)
	if err != nil {
		return nil, nil, err
	}
	ctx, err = l.Open(ctx, a, &Flags{KeyFlags: KeyFlags{Identity: f.as}, Timeout: f.timeout})
	if err != nil {
		return nil, nil, err
	}
	return ctx, l, nil
}

// locatePath makes of a path of this machine a location, and opens it.
func locatePath(argument string) (*Location, error) {
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
		return nil, command.WithHint(fmt.Errorf("output directory %q does not exist", parent),
			command.HintToMake(parent))
	} else if err != nil {
		return nil, command.WithOutputHint(err)
	}
	return &Location{
		Text: argument, Name: name, Place: opened,
		Blame: func(err error) error { return err },
		Close: func(err error) error { return errors.Join(err, opened.Close()) },
	}, nil
}

// IsBucket reports whether the location is in a bucket, or by a URL in a directory of this machine.
func (l *Location) IsBucket() bool { return isBucket(l.Text) }

// Directory returns the place whose files are those in the directory of the location.
func (l *Location) Directory() (place.Place, error) {
	sub, err := place.Sub(l.Place, l.Name)
	return &output{sub, l}, err
}

// Info describes what exists at the location.
func (l *Location) Info() (fs.FileInfo, error) { return fs.Stat(l.Place, l.Name) }

// Join names a file in the directory of the location.
func (l *Location) Join(name string) string {
	if l.URL == nil {
		return filepath.Join(l.Text, filepath.FromSlash(name))
	}
	return l.URL(path.Join(l.Name, name))
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
	if l.URL != nil {
		return l.Blame(err)
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

func (o *output) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.Place, name) }

func (o *output) ReadLink(name string) (string, error) { return fs.ReadLink(o.Place, name) }

func (o *output) file(f place.File, err error) (place.File, error) {
	if err != nil {
		return nil, o.at.Explain(err)
	}
	if grouped, is := f.(place.Grouped); is {
		return &groupedFile{outputFile{f, o.at}, grouped}, nil
	}
	return &outputFile{f, o.at}, nil
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

// groupedFile is an outputFile that is committed together with others.
type groupedFile struct {
	outputFile
	grouped place.Grouped
}

func (f *groupedFile) CommitAll(files []place.File) []error {
	inner := make([]place.File, len(files))
	for i, file := range files {
		inner[i] = file
		if one, is := file.(*groupedFile); is {
			inner[i] = one.File
		}
	}
	errs := f.grouped.CommitAll(inner)
	for i, err := range errs {
		errs[i] = f.at.Explain(err)
	}
	return errs
}
