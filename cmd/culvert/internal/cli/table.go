package cli

import (
	"cmp"
	"context"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/manifest"
)

// verifyTable checks all parts of a table.
func verifyTable(ctx context.Context, w *command.Work, r *verifyReport, t *argument.Table, name string) error {
	m := t.Export.Manifest
	complete := true
	r.File, w.Name = name, name
	r.Encrypted, r.Compression, r.Sealed = &m.Encrypted, m.Compression, &complete
	w.Total = t.Entry.FileBytes
	w.Figures = func() ui.Figures {
		in, out := t.Export.Progress()
		return ui.Figures{Rows: ui.NoRows, In: in, Out: out}
	}
	w.Begin()
	err := t.Export.VerifyTable(ctx, t.Entry)
	result := verifiedTable{Name: t.Entry.Name, File: t.Entry.File(), Snapshot: t.Entry.Snapshot}
	if err != nil {
		result.Error = command.Plain(err)
	}
	r.Tables = append(r.Tables, result)
	if err != nil {
		return t.Explain(err)
	}
	return nil
}

// tableInspection describes a table in parts, by the manifest.
type tableInspection struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Parts int    `json:"parts"`
	Sum   string `json:"sum,omitempty"`

	Snapshot   string `json:"snapshot,omitempty"`
	Consistent bool   `json:"consistent"` // all tables of the export are of one snapshot

	Masks []manifest.Mask `json:"masks,omitempty"`
}

// inspectTable describes a table in parts.
func (r *inspectReport) inspectTable(t *argument.Table, name string) {
	entry, m := t.Entry, t.Export.Manifest
	r.File = name
	r.Inspection = export.Inspection{
		Size:    entry.FileBytes,
		Content: &export.Content{Compression: m.Compression, Text: entry.TextBytes},
	}
	r.Table = &tableInspection{
		Name: entry.Name, Rows: entry.Rows, Parts: len(entry.Parts), Sum: entry.Sum,
		Snapshot: cmp.Or(entry.Snapshot, m.Snapshot), Consistent: m.Consistent, Masks: entry.Masks,
	}
}
