package argument

import (
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/connect"
)

// urlArguments are the arguments of verbs that are a URL, also if it is of a file of this machine, counted from 0.
var urlArguments = map[string]int{"ls": 0, "pull": 0, "push": 1, "mount": 0}

// ResolveFileURLs replaces the URLs of files of this machine by their paths, in the arguments of a command and in the
// flags --output and --place.
func ResolveFileURLs(cmd *cobra.Command, args []string) error {
	for i, text := range args {
		if at, has := urlArguments[cmd.Name()]; has && at == i || !connect.IsFile(text) {
			continue
		}
		path, err := connect.LocalPath(text)
		if err != nil {
			return err
		}
		args[i] = path
	}
	for _, name := range []string{"output", "place"} {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !connect.IsFile(flag.Value.String()) {
			continue
		}
		path, err := connect.LocalPath(flag.Value.String())
		if err == nil {
			err = flag.Value.Set(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
