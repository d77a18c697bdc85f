package tables

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/manifest"
	"culvert/source"
)

// Report is the report of culvert tables.
type Report struct {
	command.Outcome
	Export    string  `json:"export,omitempty"` // the directory or the URL; "" for a database
	System    string  `json:"system,omitempty"`
	Database  string  `json:"database,omitempty"`
	Estimated bool    `json:"estimated"` // the numbers come from the statistics of a database
	Tables    []table `json:"tables"`
}

// table is one that is listed. What is not known is nil or 0.
type table struct {
	Name      string `json:"name"`
	Rows      *int64 `json:"rows,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"` // as the database stores them
	TextBytes *int64 `json:"text_bytes,omitempty"`
	FileBytes *int64 `json:"file_bytes,omitempty"`
	Parts     int    `json:"parts,omitempty"` // files, if there are several
	Defined   bool   `json:"defined,omitempty"`
	Error     string `json:"error,omitempty"`
}

// add adds a table of a database.
func (r *Report) add(name string, size source.Size, err error) {
	t := table{Name: name, Bytes: size.Bytes}
	if size.Rows > 0 {
		t.Rows = &size.Rows
	}
	if err != nil {
		t.Error = command.Plain(err)
	}
	r.Tables = append(r.Tables, t)
}

// addEntry adds a table of an export.
func (r *Report) addEntry(of *manifest.Table) {
	t := table{Name: of.Name, Defined: of.IsDefined()}
	switch {
	case of.Error != "":
		t.Error = command.PackageNames.ReplaceAllString(of.Error, "$1")
	case !t.Defined:
		t.Rows, t.TextBytes, t.FileBytes = &of.Rows, &of.TextBytes, &of.FileBytes
	}
	if of.Parted() {
		t.Parts = len(of.Parts)
	}
	r.Tables = append(r.Tables, t)
}

// Text implements [command.Report].
func (r *Report) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "\t", " ")
		}
		_, _ = io.WriteString(w, ui.Line(strings.Join(cells, "\t"))+"\n") // into memory
	}
	if r.Estimated {
		line("TABLE", "ROWS, ABOUT", "BYTES, ABOUT")
	} else {
		line("TABLE", "ROWS", "TEXT", "FILES")
	}
	var rows, stored, text, files int64
	for i := range r.Tables {
		t := &r.Tables[i]
		switch {
		case t.Error != "":
			line(t.Name, "? "+t.Error)
		case t.Defined:
			line(t.Name, "none: only its definition")
		case r.Estimated:
			line(t.Name, known(t.Rows, ui.Count), known(orNil(t.Bytes), ui.Bytes))
			stored += t.Bytes
		default:
			line(t.Name, known(t.Rows, ui.Count), known(t.TextBytes, ui.Bytes), known(t.FileBytes, ui.Bytes))
			text, files = text+*t.TextBytes, files+*t.FileBytes
		}
		if t.Rows != nil {
			rows += *t.Rows
		}
	}
	_ = w.Flush()
	fmt.Fprintf(&b, "\n%s", ui.Several(int64(len(r.Tables)), "table"))
	switch {
	case !r.Estimated:
		fmt.Fprintf(&b, ", %s, %s of text, %s in files", ui.Several(rows, "row"), ui.Bytes(text), ui.Bytes(files))
	case rows > 0:
		fmt.Fprintf(&b, ", about %s", ui.Several(rows, "row"))
		if stored > 0 {
			fmt.Fprintf(&b, ", about %s", ui.Bytes(stored))
		}
		fmt.Fprintf(&b, ", by the statistics of %s", ui.Line(r.System))
	}
	b.WriteByte('\n')
	return b.String()
}

// orNil returns a number that is known if it is not 0.
func orNil(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// known is a number, if it is known.
func known(n *int64, written func(int64) string) string {
	if n == nil {
		return "?"
	}
	return written(*n)
}
