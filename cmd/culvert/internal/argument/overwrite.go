package argument

import (
	"errors"
	"os"
	"slices"

	"culvert/cmd/culvert/internal/command"
	"culvert/internal/keyfile"
)

// OutputTo notes where the output of the work goes, and refuses early what would fail in the end, or what would
// overwrite a file that is read.
func OutputTo(w *command.Work, r *command.WorkReport, output string, force bool, inputs ...[]string) error {
	w.ToStdout = output == "" || output == "-"
	r.Output, w.Name = output, output
	switch {
	case w.ToStdout:
		r.Output, w.Name = "-", "standard output"
		return refuseOwnOutput(w.App, slices.Concat(inputs...))
	case IsURL(output):
		return nil // a server is asked when the output begins
	}
	if err := RefuseSameFile(output, WithOwnIdentity(slices.Concat(inputs...))); err != nil {
		return err
	}
	return CheckOutput(output, force)
}

// WithOwnIdentity adds the user's own identity file to the files that must not be overwritten.
func WithOwnIdentity(files []string) []string {
	if own, err := keyfile.DefaultPath(); err == nil {
		files = append(files, own)
	}
	return files
}

// refuseOwnOutput refuses standard output that is one of the files that are read: what is appended to the input would
// be read again, without an end. Standard input counts as one if it is the same file.
func refuseOwnOutput(a *command.App, inputs []string) error {
	to, err := statOf(a.Stdout)
	if err != nil || !to.Mode().IsRegular() {
		return nil
	}
	from, err := statOf(a.Stdin)
	if err == nil && os.SameFile(from, to) || isOneOf(to, inputs) {
		return command.Usagef("standard output is also an input")
	}
	return nil
}

func statOf(stream any) (os.FileInfo, error) {
	f, is := stream.(*os.File)
	if !is {
		return nil, os.ErrInvalid
	}
	return f.Stat()
}

// RefuseSameFile refuses an output that is one of the files that are read: the input, or an identity, say.
func RefuseSameFile(output string, inputs []string) error {
	target, err := os.Stat(output)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if target.Mode().IsRegular() && isOneOf(target, inputs) {
		return command.Usagef("the output %q is also an input", output)
	}
	return nil
}

// isOneOf reports whether a file is one of those with these names.
func isOneOf(file os.FileInfo, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && os.SameFile(info, file)
	})
}
