package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/export"
	"culvert/fileservice/transfer"
)

// NewPull returns culvert pull.
func NewPull(a *command.App) *cobra.Command {
	f := &transferFlags{}
	var output command.NotEmpty
	cmd := help.Command("pull")
	cmd.Args = command.Exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := &fileTransfer{app: a, flags: f, report: &TransferReport{}}
		err := pull(cmd.Context(), t, args[0], string(output))
		return a.Deliver(cmd, t.report, a.Stdout, f.json, command.Interruption(cmd.Context(), err))
	}
	cmd.Flags().VarP(&output, "output", "o", "copy to `PATH`, a directory or a new name")
	f.add(cmd)
	return cmd
}

func pull(ctx context.Context, t *fileTransfer, url, output string) (err error) {
	if t.at, err = argument.Remote(url); err != nil {
		return err
	}
	t.config.Origin = t.at.Origin
	dir, name, err := pullTarget(t.at.Name, output, t.config.Origin)
	if err != nil {
		return err
	}
	t.report.Local = filepath.Join(dir, filepath.FromSlash(name))
	if err := refuseInside(t.report.Local, url); err != nil {
		return err
	}
	t.config.Remote, t.config.Local = t.at.Name, name
	if t.config.Root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.config.Root.Close()) }()
	return t.do(ctx, t.pull)
}

// pull copies from a server, or from a bucket, whose checksums may be in manifests.
func (t *fileTransfer) pull(ctx context.Context, config transfer.Config) (transfer.Result, error) {
	from := t.at.Place
	if t.at.Client == nil {
		identities, err := t.flags.WhenNeeded(ctx, t.app)
		if err != nil {
			return transfer.Result{}, err
		}
		from = newListedPlace(from, func(ctx context.Context, dir fs.FS) (*export.Directory, error) {
			return export.ReadConfig{Identities: identities}.OpenDirectory(ctx, dir)
		})
	}
	return transfer.Pull(ctx, from, config)
}

// pullTarget says in which directory, and under which path in it, a file of a server goes. A directory under a new name
// that is not complete is continued if it has the same origin.
func pullTarget(remote, output, origin string) (dir, name string, err error) {
	name = path.Base(remote) // "." is the tree itself: its files go into the directory
	switch output {
	case "":
		return ".", name, nil
	case "-":
		return "", "", command.WithHint(command.Usagef("-o -: files are not pulled to standard output"),
			"give a name, and read the file that it has then; for a file called -: -o ./-")
	}
	if argument.IsDirectory(output) {
		parent, base := filepath.Split(filepath.Clean(output))
		if unfinished, err := isUnfinished(cmp.Or(parent, "."), base, output, origin); unfinished || err != nil {
			return cmp.Or(parent, "."), base, err
		}
		return output, name, nil
	}
	dir = filepath.Dir(filepath.Clean(output))
	if _, err := os.Stat(dir); err == nil && !argument.IsDirectory(dir) {
		return "", "", fmt.Errorf("output directory %q is a file", dir)
	}
	if !argument.IsDirectory(dir) {
		return "", "", command.WithHint(fmt.Errorf("output directory %q does not exist", dir), command.HintToMake(dir))
	}
	if os.IsPathSeparator(output[len(output)-1]) {
		return dir, path.Join(filepath.Base(output), name), nil
	}
	return dir, filepath.Base(output), nil
}

// isUnfinished reports whether output, which is base in parent, is a directory that an earlier pull has named so. A
// slash at its end always means to copy into it.
func isUnfinished(parent, base, output, origin string) (is bool, err error) {
	if os.IsPathSeparator(output[len(output)-1]) || base == "." || base == ".." || base == "" {
		return false, nil
	}
	if info, err := os.Lstat(output); err != nil || !info.IsDir() {
		return false, err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return false, err
	}
	config := transfer.Config{Root: root, Remote: ".", Local: base, Origin: origin}
	is, err = config.IsUnfinished()
	return is, errors.Join(err, root.Close())
}
