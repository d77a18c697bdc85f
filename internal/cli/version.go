package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionReport is the report of culvert version.
type versionReport struct {
	outcome
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (r *versionReport) text() string {
	return fmt.Sprintf("culvert %s (%s, %s)\n", r.Version, r.Go, r.Platform)
}

func (a *app) newVersion() *cobra.Command {
	var json bool
	cmd := command("version")
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := &versionReport{
			Version:  programVersion(),
			Go:       runtime.Version(),
			Platform: runtime.GOOS + "/" + runtime.GOARCH,
		}
		return a.deliver(cmd, r, a.stdout, json, nil)
	}
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

// programVersion is that of the module, as the build recorded it.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
