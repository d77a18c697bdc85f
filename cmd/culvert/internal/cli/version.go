package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
)

// versionReport is the report of culvert version.
type versionReport struct {
	command.Outcome
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (r *versionReport) Text() string {
	return fmt.Sprintf("culvert %s (%s, %s)\n", r.Version, r.Go, r.Platform)
}

func newVersion(a *command.App) *cobra.Command {
	r := &versionReport{
		Version: programVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	cmd := a.Reporting("version", r, func(context.Context, []string) error { return nil })
	cmd.Args = cobra.NoArgs
	return cmd
}

// programVersion is that of the module, as the build recorded it.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
