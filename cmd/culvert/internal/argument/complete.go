package argument

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
)

// completionPatience is how long a shell waits for names.
const completionPatience = 3 * time.Second

// CompleteURLs returns what completes the URL of a file of a server or a bucket, up to the next slash. What fails
// completes nothing, and other arguments are files.
func CompleteURLs(a *command.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		slash := strings.LastIndexByte(begun, '/') + 1
		if !IsURL(begun) || strings.Contains(begun, "?") || strings.HasSuffix(begun[:slash], "://") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		_, l, err := Locate(ctx, a, begun[:slash], &PlaceFlags{timeout: completionPatience})
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		entries, err := fs.ReadDir(l.Place, l.Name)
		if l.Close(err) != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var names []string
		for _, entry := range entries {
			name := begun[:slash] + entry.Name()
			if entry.IsDir() {
				name += "/"
			}
			if strings.HasPrefix(name, begun) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
