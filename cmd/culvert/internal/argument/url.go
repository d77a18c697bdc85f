package argument

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
)

// IsURL reports whether an argument names a file of a server or of a bucket.
func IsURL(argument string) bool { return isServer(argument) || isBucket(argument) }

// isServer reports whether an argument names a file of a server.
func isServer(argument string) bool { return strings.HasPrefix(argument, "culvert://") }

// bucketSchemes are those of the URLs of buckets.
var bucketSchemes = []string{"s3", "gs", "azblob"}

// isBucket reports whether an argument names a file of a bucket, or by a URL one of this machine.
func isBucket(argument string) bool {
	scheme, _, is := strings.Cut(argument, "://")
	return is && slices.Contains(bucketSchemes, scheme) || IsFile(argument)
}

const fileScheme = "file"

// IsFile reports whether an argument is the URL of a file or a directory of this machine.
func IsFile(argument string) bool {
	scheme, _, is := strings.Cut(argument, "://")
	return is && strings.EqualFold(scheme, fileScheme)
}

// EndsInSlash reports whether the path of a URL does.
func EndsInSlash(url string) bool {
	path, _, _ := strings.Cut(url, "?")
	return strings.HasSuffix(path, "/")
}

// DefaultPort is where culvert serve listens, and where a URL without a port leads. On the keys of a telephone it
// reads CULVE. It is registered for nothing, and below the ports that systems give to outgoing connections.
const DefaultPort = "28583"

// URL is a file of a server.
type URL struct {
	Fingerprint string
	Address     string // host and port
	Path        string // as those of io/fs
}

func (u *URL) String() string {
	text := url.URL{Scheme: "culvert", User: url.User(u.Fingerprint), Host: u.Address, Path: "/"}
	if u.Path != "." {
		text.Path += u.Path
	}
	return text.String()
}

// Tree is the URL of the tree.
func (u *URL) Tree() string { return u.At(".").String() }

// At is the URL of another file of the server.
func (u *URL) At(path string) *URL { return &URL{u.Fingerprint, u.Address, path} }

// ParseURL reads a URL of the command line.
func ParseURL(text string) (*URL, error) {
	const form = "a URL is culvert://FINGERPRINT@HOST[:PORT]/PATH; culvert serve prints its beginning"
	parsed, err := url.Parse(text)
	if err != nil {
		if inner, is := errors.AsType[*url.Error](err); is {
			err = inner.Err
		}
		hints := []string{form}
		if command.Is[url.EscapeError](err) {
			hints = []string{"write %25 for a % in the path, %3F for ?, and %23 for #"}
		}
		return nil, command.WithHint(command.Usagef("%q is not a URL: %v", text, err), hints...)
	}
	u := &URL{}
	if parsed.User != nil {
		u.Fingerprint = strings.ToLower(parsed.User.Username())
	}
	_, hasPassword := parsed.User.Password()
	host, port := parsed.Hostname(), parsed.Port()
	if port == "" {
		port = DefaultPort
	}
	u.Address = net.JoinHostPort(host, port)
	u.Path = strings.Trim(parsed.Path, "/")
	if u.Path == "" {
		u.Path = "."
	}
	switch {
	case parsed.Scheme != "culvert":
		return nil, command.WithHint(command.Usagef("%q is not the URL of a server", text), form)
	case parsed.RawQuery != "" || parsed.ForceQuery || strings.Contains(text, "#"):
		return nil, command.WithHint(command.Usagef("%q has a ? or a # in its path", text),
			"write %3F for ?, and %23 for #")
	case hasPassword:
		return nil, command.WithHint(command.Usagef("the URL has a password, but your identity proves who you are"),
			form)
	case u.Fingerprint == "":
		return nil, command.WithHint(command.Usagef("%q lacks the fingerprint of the server", text), form)
	case !IsFingerprint(u.Fingerprint):
		return nil, command.WithHint(command.Usagef("%q is not a fingerprint", u.Fingerprint),
			"it has 52 characters from a to z and 2 to 7; culvert serve prints it as a part of its URL")
	case host == "":
		return nil, command.WithHint(command.Usagef("%q lacks the host of the server", text), form)
	case !fs.ValidPath(u.Path):
		return nil, command.WithHint(command.Usagef("%q is not a path on the server", u.Path), form)
	}
	return u, nil
}
