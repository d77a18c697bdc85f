package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
)

// versionReport is the report of culvert version.
type versionReport struct {
	command.Outcome
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (r *versionReport) Text() string {
	return fmt.Sprintf("culvert %s (%s%s, %s)\n", r.Version, r.origin(), r.Go, r.Platform)
}

// origin says which commit the program was built of, if the build has recorded it, as that of a release does.
func (r *versionReport) origin() string {
	if r.Commit == "" {
		return ""
	}
	day, _, _ := strings.Cut(r.Date, "T")
	return fmt.Sprintf("commit %.12s of %s, ", r.Commit, day)
}

func newVersion(a *command.App) *cobra.Command {
	r := programVersion()
	cmd := a.Reporting("version", r, func(context.Context, []string) error { return nil })
	cmd.Args = cobra.NoArgs
	return cmd
}

// programVersion is that of the module, as the build recorded it.
func programVersion() *versionReport {
	r := &versionReport{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return r
	}
	r.Version = cmp.Or(info.Main.Version, r.Version)
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			r.Commit = setting.Value
		case "vcs.time":
			r.Date = setting.Value
		}
	}
	return r
}
