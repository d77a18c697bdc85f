package export

import (
	"fmt"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/format"
	"culvert/manifest"
)

// Report is the report of culvert export.
type Report struct {
	command.WorkReport
	Sum     string `json:"sum,omitempty"`     // of the rows of one table or query
	Readers int    `json:"readers,omitempty"` // of one table
	Reason  string `json:"reason,omitempty"`
	Outside bool   `json:"outside_snapshot,omitempty"` // of one table or query
	database.MomentReport
	Attempts int `json:"attempts,omitempty"` // if a standby has ended others

	Untold []string         `json:"untold,omitempty"` // columns of one table
	Unfit  []manifest.Unfit `json:"unfit,omitempty"`  // columns of one table or query

	Author string `json:"author,omitempty"` // the fingerprint of whoever has signed several tables

	Job        string `json:"job,omitempty"` // of several workers
	Consistent *bool  `json:"consistent,omitempty"`

	NewColumns []string `json:"new_columns,omitempty"` // those that the list of the job does not have

	Omitted []string      `json:"omitted,omitempty"` // what is left out
	Schema  *schemaReport `json:"schema,omitempty"`  // of the whole database
	Tables  []tableReport `json:"tables,omitempty"`  // of several
}

// tableReport says what has become of one of several tables.
type tableReport struct {
	Name      string `json:"name"`
	File      string `json:"file,omitempty"` // in the directory
	Rows      int64  `json:"rows"`
	TextBytes int64  `json:"text_bytes"`
	FileBytes int64  `json:"file_bytes"`
	SHA256    string `json:"sha256,omitempty"` // of the file
	Parts     int    `json:"parts,omitempty"`  // files, if File is the directory of parts
	Sum       string `json:"sum,omitempty"`    // of the rows
	Readers   int    `json:"readers,omitempty"`
	Reason    string `json:"reason,omitempty"` // why no more connections have read
	Outside   bool   `json:"outside_snapshot,omitempty"`

	Untold []string         `json:"untold,omitempty"` // columns with values whose type the text does not tell
	Unfit  []manifest.Unfit `json:"unfit,omitempty"`  // columns with values that did not fit

	Error string `json:"error,omitempty"`

	failedFile string
	lossy      format.Lossy
	hints      []string // what to do about the error
}

// reports returns what is said of each table. It explains their errors.
func (e *request) reports(a *command.App, r *Report, all []export.TableStats) []tableReport {
	reports := make([]tableReport, len(all))
	for i := range all {
		all[i].Err = e.db.Explain(all[i].Err)
		reports[i] = newTableReport(a, &all[i])
		reports[i].lossy = e.plan.Lossy
		if all[i].Outside {
			r.Consistent = new(bool)
		}
	}
	return reports
}

// aboutTable says which table an error is about, unless its text names that or its file.
func aboutTable(table, file, text string) string {
	if strings.Contains(text, table+`"`) || file != "" && strings.Contains(text, file) {
		return text
	}
	return command.AboutTable(table, text)
}

// tell reports what has become of each table, and says how many are complete.
func (r *Report) tell(w *command.Work, all []tableReport, of int) (complete int) {
	console, silent := w.App.Console, w.Flags.JSON
	r.Tables = all
	for i := range all {
		switch t := &all[i]; {
		case t.Error == "":
			complete++
			tellReaders(w, t.Name, t.Readers, t.Reason)
			if t.Outside && !silent {
				console.Warn(database.OutsideSnapshot(t.Name))
			}
			if len(t.Unfit) > 0 && !silent {
				console.Warn(database.Unfit(t.Name, t.Unfit, t.lossy))
			}
			if len(t.Untold) > 0 && !silent {
				console.Warn(database.Untold(t.Name, t.Untold))
			}
		case !silent:
			console.Error(aboutTable(t.Name, t.failedFile, t.Error))
			for _, hint := range t.hints {
				console.Hint(hint)
			}
		}
	}
	r.Tell(w, r.Output)
	w.Summary = ui.Several(int64(of), "table") + ", "
	if complete < of {
		w.Summary = fmt.Sprintf("%d of %s", complete, w.Summary)
	}
	w.Summary += r.Schema.summary()
	return complete
}

// reportsOf returns what a manifest says of each table.
func reportsOf(a *command.App, m *manifest.Manifest) (all []tableReport) {
	for i := range m.Tables {
		t := &m.Tables[i]
		one := tableReport{
			Name: t.Name, File: t.File(), Rows: t.Rows, TextBytes: t.TextBytes, FileBytes: t.FileBytes,
			Parts: len(t.Parts), Sum: t.Sum, Outside: t.Snapshot == manifest.NoSnapshot, Unfit: t.Unfit(),
			lossy: format.LossyNames[m.Lossy],
		}
		if t.Error != "" {
			failure := command.PackageNames.ReplaceAllString(t.Error, "$1")
			one = tableReport{Name: t.Name, Error: a.Secrets.Redact(failure)}
		}
		all = append(all, one)
	}
	return all
}

func newTableReport(a *command.App, t *export.TableStats) tableReport {
	if t.Err != nil {
		return tableReport{
			Name: t.Name, Error: a.Secrets.Redact(command.Plain(t.Err)), failedFile: t.File,
			hints: command.HintsOf(t.Err),
		}
	}
	r := tableReport{
		Name: t.Name, File: t.File, Rows: t.Rows, TextBytes: t.Text, FileBytes: t.Out,
		Parts: len(t.Parts), Sum: t.Sum.String(), Readers: t.Readers, Reason: reasonOf(t.Stats),
		Outside: t.Outside, Untold: t.Untold, Unfit: t.Unfit,
	}
	if len(t.Parts) > 0 && t.Parts[0].File == t.File {
		r.Parts, r.SHA256 = 0, t.Parts[0].SHA256
	}
	return r
}
