package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/fileservice"
)

// LsReport is the report of culvert ls.
type LsReport struct {
	command.Outcome
	URL       string    `json:"url,omitempty"`
	Entries   []lsEntry `json:"entries"`
	Unnamable uint64    `json:"unnamable,omitempty"`

	long bool
}

// lsEntry is one file.
type lsEntry struct {
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Mode     string    `json:"mode"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified,omitzero"`
}

func newLsEntry(info fs.FileInfo) lsEntry {
	kind := "other"
	switch {
	case info.Mode().IsRegular():
		kind = "file"
	case info.IsDir():
		kind = "directory"
	case info.Mode()&fs.ModeSymlink != 0:
		kind = "link"
	}
	return lsEntry{
		Name: info.Name(), Type: kind, Mode: lsMode(info.Mode()), Size: info.Size(), Modified: info.ModTime().UTC(),
	}
}

// lsMode returns type and permissions as ls does, where io/fs has other letters, and several for a device.
func lsMode(mode fs.FileMode) string {
	letter := "-"
	switch {
	case mode.IsDir():
		letter = "d"
	case mode&fs.ModeSymlink != 0:
		letter = "l"
	case mode&fs.ModeNamedPipe != 0:
		letter = "p"
	case mode&fs.ModeSocket != 0:
		letter = "s"
	case mode&fs.ModeCharDevice != 0:
		letter = "c"
	case mode&fs.ModeDevice != 0:
		letter = "b"
	case !mode.IsRegular():
		letter = "?"
	}
	return letter + mode.Perm().String()[1:]
}

// Text implements [command.Report].
func (r *LsReport) Text() string {
	var b strings.Builder
	width := 1
	for i := range r.Entries {
		width = max(width, len(fmt.Sprint(r.Entries[i].Size)))
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		if r.long {
			const format = "2006-01-02 15:04"
			modified := strings.Repeat(" ", len(format)) // a directory of a bucket has none
			if !e.Modified.IsZero() {
				modified = e.Modified.Local().Format(format)
			}
			fmt.Fprintf(&b, "%s %*d %s ", e.Mode, width, e.Size, modified)
		}
		b.WriteString(ui.Name(e.Name))
		if e.Type == "directory" {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// NewLs returns culvert ls.
func NewLs(a *command.App) *cobra.Command {
	o, r := &argument.Flags{Connections: 1}, &LsReport{Entries: []lsEntry{}}
	cmd := a.Reporting("ls", r, func(ctx context.Context, args []string) error { return ls(ctx, a, r, o, args[0]) })
	cmd.Args = command.Exactly(1)
	cmd.Flags().BoolVarP(&r.long, "long", "l", false, "show type, permissions, size and time")
	o.Add(cmd)
	return cmd
}

func ls(ctx context.Context, a *command.App, r *LsReport, o *argument.Flags, text string) (err error) {
	l, err := argument.Remote(text)
	if err != nil {
		return err
	}
	r.URL = l.Text
	if _, err := l.Open(ctx, a, o); err != nil {
		return err
	}
	defer func() { err = l.Close(err) }()
	info, err := fs.Stat(l.Place, l.Name)
	if err != nil {
		return l.Blame(err)
	}
	if !info.IsDir() {
		r.Entries = append(r.Entries, newLsEntry(info))
		return nil
	}
	entries, failed := fs.ReadDir(l.Place, l.Name)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return l.Blame(err)
		}
		r.Entries = append(r.Entries, newLsEntry(info))
	}
	if unnamable, is := errors.AsType[*fileservice.UnnamableError](failed); is {
		r.Unnamable = unnamable.Count
		a.Console.Warn(command.Plain(failed))
		return command.Incomplete(failed)
	}
	return l.Blame(failed)
}
