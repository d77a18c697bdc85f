package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"filippo.io/age"

	"culvert/export"
	"culvert/internal/compress"
	"culvert/internal/ui"
)

// errDamaged says that a directory is not as an export has left it.
var errDamaged = errors.New("not as it was exported")

// damagedf is an errDamaged in its own words.
func damagedf(format string, args ...any) error {
	return &rephrasedError{errDamaged, fmt.Sprintf(format, args...)}
}

// verifiedTable says how a table of a directory was found.
type verifiedTable struct {
	Name  string `json:"name"`
	File  string `json:"file,omitempty"`
	Error string `json:"error,omitempty"` // what is wrong with the file, or why the export of the table has failed
}

// directory is a directory that is verified.
type directory struct {
	app        *app
	path       string
	root       *os.Root // nothing outside of it is read, whatever the manifest says
	report     *verifyReport
	options    *verifyOptions
	identities func() ([]age.Identity, error)
	manifest   *export.Manifest

	in, out atomic.Int64
	faults  int
	failed  int // tables, when they were exported
}

func (a *app) verifyDirectory(
	ctx context.Context, w *work, r *verifyReport, o *verifyOptions, path string,
) (err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	d := &directory{
		app: a, path: path, root: root, report: r, options: o,
		identities: sync.OnceValues(o.decryptFlags.reader(ctx, a)),
	}
	r.File, w.name = path, path
	if err := d.readManifest(ctx); err != nil {
		return err
	}
	r.Encrypted, r.Compression, r.manifest = &d.manifest.Encrypted, d.manifest.Compression, d.manifest
	for i := range d.manifest.Tables {
		w.total += d.manifest.Tables[i].FileBytes
	}
	w.figures = func() ui.Figures {
		return ui.Figures{Rows: ui.NoRows, In: d.in.Load(), Out: d.out.Load()}
	}
	w.begin()
	for i := range d.manifest.Tables {
		if err := d.verifyTable(ctx, &d.manifest.Tables[i]); err != nil {
			return err
		}
	}
	if err := d.findOthers(); err != nil {
		return err
	}
	return d.verdict()
}

// verdict is the error that follows from what was found.
func (d *directory) verdict() error {
	all := len(d.manifest.Tables)
	switch {
	case d.faults > 0:
		return fmt.Errorf("%s: %w: %d of %s damaged or missing", d.path, errDamaged, d.faults,
			ui.Several(int64(all-d.failed), "file"))
	case d.failed > 0:
		return &export.PartialError{Failed: d.failed, Tables: all}
	}
	return nil
}

// readManifest reads the manifest, of which there must be one.
func (d *directory) readManifest(ctx context.Context) error {
	var names []string
	for _, name := range []string{export.EncryptedManifestName, export.ManifestName} {
		if _, err := d.root.Lstat(name); err == nil {
			names = append(names, name)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	switch len(names) {
	case 0:
		return withHint(fmt.Errorf("%s: %w: there is no manifest", d.path, errDamaged),
			"an export that was stopped has none: run it again", "to check one file: culvert verify FILE")
	case 2:
		return fmt.Errorf("%s: %w: there are two manifests", d.path, errDamaged)
	}
	encrypted := names[0] == export.EncryptedManifestName
	path := filepath.Join(d.path, names[0])
	err := d.read(ctx, names[0], nil, func(text *text) error {
		if text.opened.age != encrypted || text.Codec() != compress.None {
			return fmt.Errorf("%w: it does not begin as one", export.ErrManifest)
		}
		m, err := export.ReadManifest(text)
		if err == nil && m.Encrypted != encrypted {
			err = fmt.Errorf("%w: it is of files that are encrypted, and is not", export.ErrManifest)
		}
		d.manifest = m
		return err
	})
	if is[*age.NoIdentityMatchError](err) {
		return readError(path, err)
	}
	if err != nil && !strings.HasPrefix(err.Error(), path) {
		return about(path, err)
	}
	return err
}

// verifyTable checks the file of a table, and tells of what is wrong with it. Its error ends the verification.
func (d *directory) verifyTable(ctx context.Context, t *export.ManifestTable) error {
	result := verifiedTable{Name: t.Name, File: t.File}
	path := filepath.Join(d.path, t.File)
	if t.Error != "" {
		d.failed++
		result.Error = packageNames.ReplaceAllString(t.Error, "")
		d.warn(fmt.Sprintf("%s: table %q is not there, since its export failed: %s", d.path, t.Name, result.Error))
	} else if err := d.verifyFile(ctx, t); context.Cause(ctx) != nil {
		return err
	} else if err != nil {
		d.faults++
		result.Error = strings.TrimPrefix(plain(err), path+": ")
		if !d.options.json {
			d.app.console.Error(ui.Line(path) + ": " + result.Error)
		}
	}
	d.report.Tables = append(d.report.Tables, result)
	return nil
}

func (d *directory) verifyFile(ctx context.Context, t *export.ManifestTable) error {
	sum := sha256.New()
	err := d.read(ctx, t.File, &expected{size: t.FileBytes, sum: sum}, func(text *text) error {
		if text.opened.age != d.manifest.Encrypted || text.opened.armored {
			return damagedf("it is another kind of file than the manifest says")
		}
		n, err := io.Copy(&countingTotal{total: &d.out}, text)
		if err == nil && n != t.TextBytes {
			err = damagedf("it holds %d bytes of text, and the manifest says %d", n, t.TextBytes)
		}
		return err
	})
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != t.SHA256 {
		err = damagedf("its SHA-256 is not that in the manifest")
	}
	return err
}

// expected is what the manifest says of a file.
type expected struct {
	size int64
	sum  hash.Hash // is given the file as it is read
}

// read opens a regular file of the directory and gives what is in it to use. It reads the file once, to its end.
func (d *directory) read(ctx context.Context, name string, want *expected, use func(*text) error) (err error) {
	info, err := d.root.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return damagedf("it is missing")
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return damagedf("it is not a regular file")
	case want != nil && info.Size() != want.size:
		return damagedf("it has %d bytes, and the manifest says %d", info.Size(), want.size)
	}
	f, err := d.open(name, info)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := &input{ctx: ctx, name: filepath.Join(d.path, name), src: f}
	if want != nil {
		in.src = io.TeeReader(f, io.MultiWriter(want.sum, &countingTotal{total: &d.in}))
	}
	text, err := openText(in, d.identities, d.options.jobs)
	if err != nil {
		return err
	}
	err = use(text)
	// The goroutines of the text end here, which have read the file until now.
	if closeErr := text.Close(); err != nil || closeErr != nil {
		return errors.Join(err, closeErr)
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// open opens the file that was found under a name. A pipe that has taken its place since is not waited for.
func (d *directory) open(name string, found os.FileInfo) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(found, opened) {
		err = damagedf("it changes while it is read")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// countingTotal counts what is written to it.
type countingTotal struct{ total *atomic.Int64 }

func (c *countingTotal) Write(p []byte) (int, error) {
	c.total.Add(int64(len(p)))
	return len(p), nil
}

// findOthers warns of what else is in the directory.
func (d *directory) findOthers() (err error) {
	const most, batch = 10, 1000
	listed := map[string]bool{export.ManifestName: true, export.EncryptedManifestName: true}
	for i := range d.manifest.Tables {
		listed[d.manifest.Tables[i].File] = true
	}
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	more := 0
	for {
		names, err := dir.Readdirnames(batch)
		if err != nil && err != io.EOF {
			return err
		}
		for _, name := range names {
			switch {
			case listed[name]:
			case len(d.report.Unexpected) < most:
				d.report.Unexpected = append(d.report.Unexpected, name)
			default:
				more++
			}
		}
		if err == io.EOF {
			break
		}
	}
	slices.Sort(d.report.Unexpected)
	for _, name := range d.report.Unexpected {
		d.warn(filepath.Join(d.path, name) + ": the manifest does not list it")
	}
	if more > 0 {
		d.warn(fmt.Sprintf("%s: nor does it list %d others", d.path, more))
	}
	return nil
}

func (d *directory) warn(text string) {
	if !d.options.json {
		d.app.console.Warn(ui.Line(text))
	}
}

// manifestText says what a directory holds.
func (r *verifyReport) manifestText() string {
	m := r.manifest
	failed := 0
	for i := range m.Tables {
		if m.Tables[i].Error != "" {
			failed++
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: ", ui.Line(r.File))
	layers := r.layers()
	if failed > 0 {
		fmt.Fprintf(&b, "what is there is intact: %d of %s (%s)\n", len(m.Tables)-failed,
			ui.Several(int64(len(m.Tables)), "table"), layers)
	} else {
		fmt.Fprintf(&b, "intact: %s (%s)\n", ui.Several(int64(len(m.Tables)), "table"), layers)
	}
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-10s%s\n", label, ui.Line(value))
		}
	}
	line("database", m.Database)
	line("system", m.System)
	line("snapshot", m.Snapshot)
	line("position", m.Position)
	line("exported", m.Begun.UTC().Format(time.RFC3339)+" to "+m.Ended.UTC().Format(time.RFC3339)+" by "+m.Tool)
	return b.String()
}
