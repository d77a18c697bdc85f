package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"culvert/export"
	"culvert/internal/publish"
	"culvert/internal/ui"
	"culvert/source"
)

// exportReport is the report of culvert export.
type exportReport struct {
	workReport
	Readers int           `json:"readers,omitempty"` // of one table
	Reason  string        `json:"reason,omitempty"`
	Tables  []tableReport `json:"tables,omitempty"` // of several
}

// tableReport says what has become of one of several tables.
type tableReport struct {
	Name      string `json:"name"`
	File      string `json:"file,omitempty"` // in the directory
	Rows      int64  `json:"rows"`
	TextBytes int64  `json:"text_bytes"`
	FileBytes int64  `json:"file_bytes"`
	SHA256    string `json:"sha256,omitempty"` // of the file
	Readers   int    `json:"readers,omitempty"`
	Reason    string `json:"reason,omitempty"` // why no more connections have read
	Error     string `json:"error,omitempty"`
}

const exportFields = `rows, ` + workFields + ` bytes_in counts the text of the rows; readers is the number of
connections, and reason why there were no more. Of several tables, output is the directory, and there are tables (name,
file, rows, text_bytes, file_bytes, sha256 of the file, readers, reason, error). With --dry-run there are output,
tables (name, file, columns with name and type, rows, bytes, ranges, readers, reason, error) and recipients.`

// tablesExport is an export of several tables.
type tablesExport struct {
	options *exportOptions
	plan    *export.Plan
	db      database
	names   []string // empty if the database is to say
	inputs  []string // files that must not be overwritten
}

func (a *app) exportTables(ctx context.Context, w *work, r *exportReport, e *tablesExport) (err error) {
	o := e.options
	if o.output != "" {
		if err := checkOutputDir(o.output, o.force); err != nil {
			return err
		}
	}
	if !o.plaintext {
		if e.plan.Recipients, err = o.recipientFlags.read(ctx, a, nil); err != nil {
			return err
		}
	}
	src, err := e.db.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if e.names, err = o.tableNames(ctx, src, e.names); err != nil {
		return e.db.explain(err)
	}
	dir := &outputDir{outputs: a.outputs, force: o.force, inputs: e.inputs}
	if dir.path, err = o.directory(ctx, src); err != nil {
		return e.db.explain(err)
	}
	r.Output, w.name = dir.path, dir.path
	if err := checkOutputDir(dir.path, o.force); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.outputs.removeEmpty()) }()
	w.begin()
	all, err := e.plan.Tables(ctx, dir, src, e.names)
	w.stop() // what follows is no progress
	a.tellTables(w, r, o, all, len(e.names), err)
	return e.db.explain(err)
}

// tellTables reports what has become of each table.
func (a *app) tellTables(w *work, r *exportReport, o *exportOptions, all []export.TableStats, of int, err error) {
	complete := 0
	for i := range all {
		t := &all[i]
		r.Tables = append(r.Tables, newTableReport(a, t))
		if t.Err == nil {
			complete++
			w.tellReaders(t.Name, t.Stats)
			continue
		}
		if !o.json {
			failure := plain(t.Err)
			if !strings.Contains(failure, t.Name+`"`) && !strings.Contains(failure, t.File) {
				failure = fmt.Sprintf("table %q: %s", t.Name, failure)
			}
			a.console.Error(failure)
			for _, hint := range hintsOf(t.Err) {
				a.console.Hint(hint)
			}
		}
	}
	w.summary = ui.Several(int64(of), "table") + ", "
	if complete < of {
		w.summary = fmt.Sprintf("%d of %s", complete, w.summary)
	}
	if err != nil && !is[*export.PartialError](err) && complete > 0 && !o.json {
		a.console.Warn(fmt.Sprintf("%s: %d of %s complete, but there is no manifest",
			r.Output, complete, ui.Several(int64(of), "table")))
	}
}

func newTableReport(a *app, t *export.TableStats) tableReport {
	if t.Err != nil {
		return tableReport{Name: t.Name, Error: a.secrets.redact(plain(t.Err))}
	}
	return tableReport{
		Name: t.Name, File: t.File, Rows: t.Rows, TextBytes: t.Text, FileBytes: t.Out,
		SHA256: hex.EncodeToString(t.SHA256[:]), Readers: t.Readers, Reason: reasonOf(t.Stats),
	}
}

// tableNames gives the tables that are named, or those that the database has.
func (o *exportOptions) tableNames(ctx context.Context, src source.Source, names []string) ([]string, error) {
	if !o.listed() {
		return names, nil
	}
	lister, ok := src.(source.Lister)
	if !ok {
		return nil, usagef("this source cannot say what tables it has: name them")
	}
	schemas := o.schemas
	if o.all {
		schemas = []string{""}
	}
	var all []string
	for _, schema := range schemas {
		tables, err := lister.Tables(ctx, schema)
		if err != nil {
			return nil, err
		}
		for _, name := range tables {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no tables to export")
	}
	return all, nil
}

// directory is where several tables go: the directory that is named, or else one with the name of the only schema, or
// of the database.
func (o *exportOptions) directory(ctx context.Context, src source.Source) (string, error) {
	name := "tables"
	switch {
	case o.output != "":
		return o.output, nil
	case len(o.schemas) == 1:
		name = o.schemas[0]
	default:
		describer, ok := src.(source.Describer)
		if !ok {
			break
		}
		description, err := describer.Describe(ctx)
		if err != nil {
			return "", err
		}
		if base := filepath.Base(description.Database); description.Database != "" {
			name = strings.TrimSuffix(base, filepath.Ext(base))
		}
	}
	return export.FileNames([]string{name}, "")[0], nil
}

// checkOutputDir refuses a directory that cannot be written to as a new one.
func checkOutputDir(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		parent := filepath.Dir(filepath.Clean(path))
		if _, err := os.Stat(parent); errors.Is(err, os.ErrNotExist) {
			return withHint(fmt.Errorf("output directory %q does not exist", parent), hintToMake(parent))
		}
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return withHint(usagef("output %q is not a directory, which several tables need", path),
			"name another: -o DIR")
	case force:
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = dir.Readdirnames(1)
	if closeErr := dir.Close(); closeErr != nil {
		return closeErr
	}
	switch err {
	case io.EOF:
		return nil
	case nil:
		return withHint(fmt.Errorf("output directory %q is not empty", path),
			"choose another one with -o DIR, or overwrite files with --force")
	}
	return err
}

// outputDir is a directory of outputs. It is made for the first of them.
type outputDir struct {
	outputs *outputs
	path    string
	force   bool
	inputs  []string

	begun bool
}

// Create begins a file in the directory.
func (d *outputDir) Create(name string) (export.File, error) {
	if !d.begun {
		if err := d.begin(); err != nil {
			return nil, err
		}
		d.begun = true
	}
	path := filepath.Join(d.path, name)
	if err := refuseSameFile(path, d.inputs); err != nil {
		return nil, err
	}
	// A link could lead out of the directory, and a pipe would be waited for.
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("output %q exists and is not a regular file", path)
	}
	f, err := d.outputs.create(path, d.force)
	if err != nil {
		return nil, err
	}
	return directoryFile{f}, nil
}

// begin makes the directory, if need be. A manifest in it would not be that of the files which are now written. If it
// may not be overwritten, it is of another run, which has come here since this one has looked.
func (d *outputDir) begin() error {
	err := d.outputs.mkdir(d.path)
	switch {
	case err == nil:
		return publish.SyncPath(filepath.Dir(filepath.Clean(d.path)))
	case !errors.Is(err, os.ErrExist):
		return withOutputHint(err)
	}
	for _, name := range []string{export.ManifestName, export.EncryptedManifestName} {
		path := filepath.Join(d.path, name)
		if !d.force {
			if _, err := os.Lstat(path); err == nil {
				return existsError(path)
			}
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// directoryFile is an output as package export uses it.
type directoryFile struct{ *outputFile }

func (f directoryFile) Commit() error  { return f.commit() }
func (f directoryFile) Discard() error { return f.discard() }
