package connect

import (
	"net/url"
	"path/filepath"
	"strings"

	"culvert/cmd/culvert/internal/command"
)

const fileScheme = "file"

// IsFile reports whether an argument is the URL of a file or a directory of this machine.
func IsFile(argument string) bool {
	scheme, _, is := strings.Cut(argument, "://")
	return is && strings.EqualFold(scheme, fileScheme)
}

// LocalPath returns the path that the URL of a file of this machine names.
func LocalPath(text string) (string, error) {
	const form = "the URL of a file of this machine is file:///PATH; write %25 for a % in it, %3F for ?, and %23 for #"
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", command.WithHint(command.Usagef("%q is not a URL", text), form)
	case u.User != nil || u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
		return "", command.WithHint(command.Usagef("%q names another machine", text), form)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return "", command.WithHint(command.Usagef("%q has a ? or a # in its path", text), form)
	case u.Path == "" || strings.Contains(u.Path, "\x00"):
		return "", command.WithHint(command.Usagef("%q names no file", text), form)
	}
	path := filepath.FromSlash(u.Path)
	if volume := filepath.VolumeName(path[1:]); volume != "" {
		path = path[1:] // as in file:///C:/PATH
	}
	return path, nil
}

// fileURL returns the URL of a path of this machine.
func fileURL(path string) url.URL {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return url.URL{Scheme: fileScheme, Path: path}
}

// parseFileURL makes of a directory, or of the one that a file is in, a bucket.
func parseFileURL(text string) (*BucketURL, error) {
	local, err := LocalPath(text)
	if err != nil {
		return nil, err
	}
	if target, err := filepath.EvalSymlinks(local); err == nil {
		local = target
	}
	u := &BucketURL{Path: filepath.Base(local), local: filepath.Dir(local)}
	if filepath.Clean(local) == u.local {
		u.Path = "." // the root
	}
	u.whole = fileURL(u.local)
	return u, nil
}
