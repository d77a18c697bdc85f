package argument

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	"culvert/cmd/culvert/internal/command"
	"culvert/place"
	"culvert/place/bucket"
	"culvert/place/dir"
)

// bucketPatience is how much longer than others a command may take to end after a signal if it uses a bucket: the store
// has to answer until nothing of an upload is left there.
const bucketPatience = 5 * time.Second

// bucketURL is a file of a bucket, or of a directory of this machine.
type bucketURL struct {
	path  string  // as those of io/fs
	whole url.URL // the bucket
	local string  // the directory
}

// parseBucketURL reads a URL of the command line.
func parseBucketURL(text string) (*bucketURL, error) {
	const hint = "URLs and credentials of buckets: culvert help places"
	if IsFile(text) {
		return parseFileURL(text)
	}
	if err := bucket.CheckURL(text); err != nil {
		return nil, command.WithHint(command.Usagef("%s", command.Plain(err)), hint)
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, command.WithHint(command.Usagef("the text is not a URL"), hint) // it may contain a secret
	}
	u := &bucketURL{path: strings.Trim(parsed.Path, "/"), whole: *parsed}
	u.whole.Path, u.whole.RawPath = "/", ""
	if u.path == "" {
		u.path = "."
	}
	return u, nil
}

// at is the URL of another file of the bucket.
func (u *bucketURL) at(name string) string {
	at := u.whole
	if name != "." {
		at.Path = path.Join("/", at.Path, name)
	}
	return at.String()
}

func (u *bucketURL) String() string { return u.at(u.path) }

// locateBucket makes of the URL of a bucket a location.
func locateBucket(text string) (*Location, error) {
	u, err := parseBucketURL(text)
	if err != nil {
		return nil, err
	}
	l := &Location{Text: u.String(), Name: u.path, Origin: u.String(), URL: u.at, Blame: u.blame}
	l.open = func(ctx context.Context, a *command.App, f *Flags) (context.Context, error) {
		if f.Identity != "" { // even if nothing is decrypted with it
			if err := command.Readable(string(f.Identity)); err != nil {
				return nil, err
			}
		}
		opened, err := u.open(ctx, f)
		if err != nil {
			return nil, err
		}
		a.WaitFor(bucketPatience)
		l.Place = place.WithContext(ctx, opened)
		l.Close = func(err error) error { return errors.Join(err, opened.Close()) }
		return ctx, nil
	}
	return l, nil
}

// open opens the bucket. It sends no request.
func (u *bucketURL) open(ctx context.Context, f *Flags) (bucket.Place, error) {
	if u.local != "" {
		return dir.Open(u.local)
	}
	return bucket.Open(ctx, u.whole.String(), bucket.Config{Timeout: f.Timeout, Parallel: f.Connections})
}

// blame says which file of the bucket an error is about, by its URL.
func (u *bucketURL) blame(err error) error {
	at, is := errors.AsType[*fs.PathError](err)
	if !is {
		return err
	}
	text := command.Plain(at.Err)
	missing := at.Err == fs.ErrNotExist
	switch {
	case u.local != "":
		missing = errors.Is(err, fs.ErrNotExist)
	case missing:
		text = "no such object"
	}
	named := command.Rephrase(err, u.at(at.Path)+": "+text)
	switch {
	case errors.Is(err, place.ErrChanged):
		return command.WithHint(named, "it was replaced while it was read: run the command again")
	case errors.Is(err, place.ErrRefused) && errors.Is(err, fs.ErrPermission):
		return command.WithHint(named, HintOfCredentials)
	case missing:
		return command.WithHint(named, "list what exists: culvert ls "+command.ForShell(u.at(".")))
	case errors.Is(err, fs.ErrNotExist):
		return command.WithHint(named, "check the name of the bucket, and the region and the endpoint of the URL")
	}
	return named
}

// HintOfCredentials is the hint of an error with which a store refuses credentials.
const HintOfCredentials = "credentials, and what they must allow: culvert help places"
