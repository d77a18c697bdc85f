package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"culvert/fileservice/client"
	"culvert/fileservice/transfer"
)

func (a *app) newPush() *cobra.Command {
	f := &transferFlags{}
	cmd := command("push")
	cmd.Args = exactly(2)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t := &fileTransfer{app: a, flags: f, writes: true, report: &transferReport{Local: args[0]}}
		err := a.push(cmd.Context(), t, args[0], args[1])
		return a.deliver(cmd, t.report, a.stdout, f.json, interruption(cmd.Context(), err))
	}
	f.add(cmd)
	return cmd
}

func (a *app) push(ctx context.Context, t *fileTransfer, local, url string) (err error) {
	if t.url, err = parseRemoteURL(url); err != nil {
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
	t.config.Withhold = withhold(t.flags.keyFiles())
	into := url[len(url)-1] == '/' || t.url.path == "."
	t.run = func(
		ctx context.Context, client *client.Client, config transfer.Config,
	) (transfer.Result, error) {
		config.Remote = t.url.path
		if !into {
			info, err := client.WithContext(ctx).Stat(t.url.path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return transfer.Result{}, err
			}
			into = err == nil && info.IsDir()
		}
		if into {
			config.Remote = path.Join(t.url.path, name)
		}
		t.report.URL = (&remoteURL{t.url.fingerprint, t.url.address, config.Remote}).String()
		return transfer.Push(ctx, client, config)
	}
	return t.do(ctx)
}

// pushSource returns the directory of what is to be copied, and its name in it. "." is the name of all that is in a
// directory whose own name does not show.
func pushSource(local string) (dir, name string, err error) {
	if _, err := os.Lstat(local); err != nil {
		if failed, is := errors.AsType[*fs.PathError](err); is {
			err = about(local, failed.Err)
		}
		return "", "", err
	}
	local = filepath.Clean(local) // a shell puts a / at the end of a directory
	name = filepath.Base(local)
	if name == "." || name == ".." || name == string(filepath.Separator) {
		return local, ".", nil
	}
	return filepath.Dir(local), name, nil
}
