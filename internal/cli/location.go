package cli

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

	"culvert/fileservice/client"
	"culvert/place"
	"culvert/place/dir"
)

// placeFlags say how to connect to the server that an argument names.
type placeFlags struct {
	as      notEmpty
	timeout time.Duration
}

func (f *placeFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(&f.as, "as", "connect as the identity in `FILE` (default: your own)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", client.DefaultTimeout,
		"give up if no byte moves for `TIME`")
}

// location is where an argument leads: a file or a directory in a place.
type location struct {
	text   string // the argument
	place  place.Place
	name   string // in the place
	remote *remote
	close  func(err error) error // takes the error of what was done there, and returns the one to report
}

// isURL reports whether an argument names a server.
func isURL(argument string) bool { return strings.HasPrefix(argument, "culvert://") }

// locate returns where an argument leads. It connects to the server of a URL; the context that it returns ends when
// that turns out to be another one. The path of a link leads to the file behind it.
func (a *app) locate(ctx context.Context, argument string, f *placeFlags) (context.Context, *location, error) {
	if isURL(argument) {
		u, err := parseRemoteURL(argument)
		if err != nil {
			return nil, nil, err
		}
		flags := &remoteFlags{connectionFlags: connectionFlags{identity: f.as}, timeout: f.timeout}
		ctx, r, err := flags.connect(ctx, a, u, client.DefaultConnections, nil)
		if err != nil {
			return nil, nil, err
		}
		return ctx, &location{u.String(), r.Client.Place(), u.path, r, r.close}, nil
	}
	file := filepath.Clean(argument)
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	parent, name := filepath.Dir(file), filepath.Base(file)
	if isDirectory(file) {
		parent, name = file, "."
	}
	opened, err := dir.Open(parent)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, withHint(fmt.Errorf("output directory %q does not exist", parent), hintToMake(parent))
	} else if err != nil {
		return nil, nil, withOutputHint(err)
	}
	done := func(err error) error { return errors.Join(err, opened.Close()) }
	return ctx, &location{argument, opened, name, nil, done}, nil
}

// directory returns the place whose files are those in the directory of the location.
func (l *location) directory() (place.Place, error) {
	sub, err := place.Sub(l.place, l.name)
	return &output{sub, l}, err
}

// blame names the file of a server in an error about it.
func (l *location) blame(err error) error {
	if l.remote == nil || err == nil {
		return err
	}
	return l.remote.blame(err)
}

// info describes what exists at the location.
func (l *location) info() (fs.FileInfo, error) { return fs.Stat(l.place, l.name) }

// join names a file in the directory of the location.
func (l *location) join(name string) string {
	if l.remote == nil {
		return filepath.Join(l.text, filepath.FromSlash(name))
	}
	return (&remoteURL{l.remote.url.fingerprint, l.remote.url.address, path.Join(l.name, name)}).String()
}

// explain says which output an error is about.
func (l *location) explain(err error) error {
	at, is := errors.AsType[*fs.PathError](err)
	if !is {
		return err
	}
	name := l.text
	if below, found := strings.CutPrefix(at.Path, l.name+"/"); found {
		name = l.join(below)
	} else if l.name == "." {
		name = l.join(at.Path)
	}
	if errors.Is(err, fs.ErrExist) {
		if info, err := fs.Lstat(l.place, at.Path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("output %q exists and is not a regular file", name)
		}
		return existsError(name)
	}
	if l.remote != nil {
		return l.remote.blame(err)
	}
	return withOutputHint(&rephrasedError{err, fmt.Sprintf("output %q: %v", name, at.Err)})
}

// output is a place whose errors say which output they are about.
type output struct {
	place.Place
	at *location
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
	return &outputFile{f, o.at}, o.at.explain(err)
}

type outputFile struct {
	place.File
	at *location
}

func (f *outputFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.at.explain(err)
}

func (f *outputFile) Commit() error { return f.at.explain(f.File.Commit()) }
