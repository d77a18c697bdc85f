package argument

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
)

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
func parseFileURL(text string) (*bucketURL, error) {
	local, err := LocalPath(text)
	if err != nil {
		return nil, err
	}
	if target, err := filepath.EvalSymlinks(local); err == nil {
		local = target
	}
	u := &bucketURL{path: filepath.Base(local), local: filepath.Dir(local)}
	if filepath.Clean(local) == u.local {
		u.path = "." // the root
	}
	u.whole = fileURL(u.local)
	return u, nil
}

// urlArguments are the arguments of verbs that are a URL, also if it is of a file of this machine, counted from 0.
var urlArguments = map[string]int{"ls": 0, "pull": 0, "push": 1, "mount": 0}

// ResolveFileURLs replaces the URLs of files of this machine by their paths, in the arguments of a command and in the
// flags --output and --place.
func ResolveFileURLs(cmd *cobra.Command, args []string) error {
	for i, text := range args {
		if at, has := urlArguments[cmd.Name()]; has && at == i || !IsFile(text) {
			continue
		}
		path, err := LocalPath(text)
		if err != nil {
			return err
		}
		args[i] = path
	}
	for _, name := range []string{"output", "place"} {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !IsFile(flag.Value.String()) {
			continue
		}
		path, err := LocalPath(flag.Value.String())
		if err == nil {
			err = flag.Value.Set(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
