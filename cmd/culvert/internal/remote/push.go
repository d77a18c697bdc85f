package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	pathpkg "path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/fileservice/transfer"
)

// NewPush returns culvert push.
func NewPush(a *command.App) *cobra.Command {
	f := &transferFlags{}
	cmd := help.Command("push")
	cmd.Args = command.Exactly(2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := &fileTransfer{app: a, flags: f, writes: true, report: &TransferReport{Local: args[0]}}
		err := push(cmd.Context(), t, args[0], args[1])
		return a.Deliver(cmd, t.report, a.Stdout, f.json, command.Interruption(cmd.Context(), err))
	}
	f.add(cmd)
	return cmd
}

func push(ctx context.Context, t *fileTransfer, local, url string) (err error) {
	if t.at, err = argument.Remote(url); err != nil {
		return err
	}
	dir, name, err := pushSource(local)
	if err != nil {
		return err
	}
	t.config.Local = name
	if t.config.Root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.config.Root.Close()) }()
	t.config.Withhold = argument.Withhold(t.flags.KeyFiles())
	path := t.at.Name
	into := path == "." || argument.EndsInSlash(url)
	return t.do(ctx, func(ctx context.Context, config transfer.Config) (transfer.Result, error) {
		config.Remote = path
		if !into {
			info, err := fs.Stat(t.at.Place, path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return transfer.Result{}, err
			}
			into = err == nil && info.IsDir()
		}
		if !into && name != "." && argument.IsDirectory(local) {
			t.resume = fmt.Sprintf("run the command again with %s instead of %s to resume",
				command.ForShell(filepath.Clean(local)+string(filepath.Separator)+"."), command.ForShell(local))
		}
		if into {
			config.Remote = pathpkg.Join(path, name)
		}
		t.report.URL = t.at.URL(config.Remote)
		if err := refuseInside(t.report.URL, local); err != nil {
			return transfer.Result{}, err
		}
		return transfer.Push(ctx, t.at.Place, config)
	})
}

// pushSource returns the directory of what is to be copied, and its name in it. "." is the name of all that is in a
// directory whose own name does not show, or is not to be used: DIR/. is what is in DIR, as for cp.
func pushSource(local string) (dir, name string, err error) {
	if _, err := os.Lstat(local); err != nil {
		if failed, is := errors.AsType[*fs.PathError](err); is {
			err = command.About(local, failed.Err)
		}
		return "", "", err
	}
	all := strings.HasSuffix(filepath.ToSlash(local), "/.")
	local = filepath.Clean(local) // a shell puts a / at the end of a directory
	name = filepath.Base(local)
	if all || name == "." || name == ".." || name == string(filepath.Separator) {
		return local, ".", nil
	}
	return filepath.Dir(local), name, nil
}
