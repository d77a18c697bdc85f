package connect

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"culvert/cmd/culvert/internal/command"
	"culvert/place"
	"culvert/place/bucket"
	"culvert/place/dir"
)

// BucketPatience is how much longer than others a command may take to end after a signal if it uses a bucket: the store
// has to answer until nothing of an upload is left there.
const BucketPatience = 5 * time.Second

// bucketSchemes are those of the URLs of buckets.
var bucketSchemes = []string{"s3", "gs", "azblob"}

// IsBucket reports whether an argument names a file of a bucket, or by a URL one of this machine.
func IsBucket(argument string) bool {
	scheme, _, is := strings.Cut(argument, "://")
	return is && slices.Contains(bucketSchemes, scheme) || IsFile(argument)
}

// BucketURL is a file of a bucket, or of a directory of this machine.
type BucketURL struct {
	Path  string  // as those of io/fs
	whole url.URL // the bucket
	local string  // the directory
}

// ParseBucketURL reads a URL of the command line.
func ParseBucketURL(text string) (*BucketURL, error) {
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
	u := &BucketURL{Path: strings.Trim(parsed.Path, "/"), whole: *parsed}
	u.whole.Path, u.whole.RawPath = "/", ""
	if u.Path == "" {
		u.Path = "."
	}
	return u, nil
}

// At is the URL of another file of the bucket.
func (u *BucketURL) At(name string) string {
	at := u.whole
	if name != "." {
		at.Path = path.Join("/", at.Path, name)
	}
	return at.String()
}

func (u *BucketURL) String() string { return u.At(u.Path) }

// Open opens the bucket. It sends no request. At most parallel parts of files are on their way at once; 0 is the
// default.
func (u *BucketURL) Open(ctx context.Context, timeout time.Duration, parallel int) (*Bucket, error) {
	if timeout <= 0 {
		return nil, command.Usagef("--timeout is %v, and must be more than 0", timeout)
	}
	if u.local != "" {
		opened, err := dir.Open(u.local)
		return &Bucket{opened, u}, err
	}
	opened, err := bucket.Open(ctx, u.whole.String(), bucket.Config{Timeout: timeout, Parallel: parallel})
	if err != nil {
		return nil, err
	}
	return &Bucket{opened, u}, nil
}

// Bucket is a bucket that a command reads or writes.
type Bucket struct {
	bucket.Place // all of it
	URL          *BucketURL
}

// At is the URL of a file of the bucket.
func (b *Bucket) At(name string) string { return b.URL.At(name) }

// Close closes the connections. The error of what was done with them is err.
func (b *Bucket) Close(err error) error { return errors.Join(err, b.Place.Close()) }

// Blame says which file of the bucket an error is about, by its URL.
func (b *Bucket) Blame(err error) error {
	at, is := errors.AsType[*fs.PathError](err)
	if !is {
		return err
	}
	text := command.Plain(at.Err)
	missing := at.Err == fs.ErrNotExist
	switch {
	case b.URL.local != "":
		missing = errors.Is(err, fs.ErrNotExist)
	case missing:
		text = "no such object"
	}
	named := command.Rephrase(err, b.At(at.Path)+": "+text)
	switch {
	case errors.Is(err, place.ErrChanged):
		return command.WithHint(named, "it was replaced while it was read: run the command again")
	case errors.Is(err, place.ErrRefused) && errors.Is(err, fs.ErrPermission):
		return command.WithHint(named, HintOfCredentials)
	case missing:
		return command.WithHint(named, "list what exists: culvert ls "+command.ForShell(b.At(".")))
	case errors.Is(err, fs.ErrNotExist):
		return command.WithHint(named, "check the name of the bucket, and the region and the endpoint of the URL")
	}
	return named
}

// HintOfCredentials is the hint of an error with which a store refuses credentials.
const HintOfCredentials = "credentials, and what they must allow: culvert help places"
