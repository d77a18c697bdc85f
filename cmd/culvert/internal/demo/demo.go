// Package demo is the verb that shows all stages on a table of its own: export, pull, mount, verify, decrypt, load and
// compare.
package demo

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/agefile"
	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/format"
	"culvert/internal/keyfile"
	"culvert/load"
	"culvert/source"
	"culvert/sqlite"
)

// Report is the report of culvert demo.
type Report struct {
	command.Outcome
	Stages     []stageFigures `json:"stages"`
	Skipped    []skipped      `json:"skipped,omitempty"`
	SHA256     string         `json:"sha256,omitempty"`        // of the text, in the database and in the file
	Loaded     string         `json:"loaded_sha256,omitempty"` // of the text in the second database
	Left       string         `json:"left,omitempty"`          // where files could not be removed
	PeakMemory int64          `json:"peak_memory_bytes"`
}

// Text implements [command.Report].
func (r *Report) Text() string {
	return fmt.Sprintf("\nThe second database holds what the first one holds, and so does the file.\n"+
		"sha256 %s  first database\nsha256 %s  second database\npeak memory %s\n",
		r.SHA256, r.Loaded, ui.Memory(r.PeakMemory))
}

// skipped is a stage that this system has not what it takes for.
type skipped struct {
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
}

// skippedError ends a stage, and not the demo.
type skippedError struct{ reason string }

func (e *skippedError) Error() string { return "skipped: " + e.reason }

// stageFigures are the figures of one stage.
type stageFigures struct {
	Stage    string  `json:"stage"`
	Rows     int64   `json:"rows"`      // 0 where they are not counted
	BytesIn  int64   `json:"bytes_in"`  // 0 where the stage makes what it writes
	BytesOut int64   `json:"bytes_out"` // 0 where it only reads
	Seconds  float64 `json:"seconds"`

	moved      int64 // the bytes of which the speed is told, or 0
	compresses bool
}

const columns = "%-12s %12s %12s %12s %7s %12s %9s\n"

func (s *stageFigures) row() string {
	elapsed := time.Duration(s.Seconds * float64(time.Second))
	cells := [5]string{"–", "–", "–", "–", "–"}
	for i, n := range []int64{s.Rows, s.BytesIn, s.BytesOut} {
		switch {
		case n > 0 && i == 0:
			cells[i] = ui.Count(n)
		case n > 0:
			cells[i] = ui.Bytes(n)
		}
	}
	if s.compresses {
		cells[3] = fmt.Sprintf("%.2f", float64(s.BytesIn)/float64(s.BytesOut))
	}
	if s.moved > 0 {
		cells[4] = ui.Rate(s.moved, elapsed)
	}
	return fmt.Sprintf(columns, s.Stage, cells[0], cells[1], cells[2], cells[3], cells[4], ui.Duration(elapsed))
}

// New returns culvert demo.
func New(a *command.App) *cobra.Command {
	var rows int64
	var json bool
	var url command.NotEmpty
	places := &argument.PlaceFlags{}
	cmd := help.Command("demo")
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := &Report{}
		d := &demo{app: a, report: r, rows: rows, url: string(url), places: places, show: !json}
		err := command.Interruption(cmd.Context(), d.run(cmd.Context()))
		r.PeakMemory = ui.PeakMemory()
		return a.Deliver(cmd, r, a.Stdout, json, err)
	}
	cmd.Flags().Int64Var(&rows, "rows", 1_000_000, "make a table of `N` rows")
	cmd.Flags().Var(&url, "place", "export to the directory, server or bucket `URL` too")
	places.Add(cmd)
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

// demo is one run of culvert demo. The files are those of its temporary directory.
type demo struct {
	app    *command.App
	report *Report
	rows   int64
	url    string // of a place, or ""
	places *argument.PlaceFlags
	show   bool

	database, second, file, decrypted string
	identity                          age.Identity
	mountedSum                        string // SHA-256 of the text that was read from the mount, if there was one
}

func (d *demo) run(ctx context.Context) (err error) {
	if d.rows < 1 {
		return command.Usagef("--rows is %d, and must be at least 1", d.rows)
	}
	dir, err := os.MkdirTemp("", "culvert-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d.database = filepath.Join(dir, "todos.db")
	d.second = filepath.Join(dir, "second.db")
	served := filepath.Join(dir, "served")
	if err := os.Mkdir(served, 0o700); err != nil {
		return err
	}
	d.file = filepath.Join(served, "todos.csv.zst.age")
	d.decrypted = filepath.Join(dir, "todos.csv.zst")
	key, err := keyfile.Generate()
	if err != nil {
		return err
	}
	d.identity = key.Identity()

	stages := []stage{
		{"database", d.makeDatabase},
		{"export", func(ctx context.Context, s *stageFigures) error { return d.export(ctx, s, key.Recipient()) }},
		{"pull", func(ctx context.Context, s *stageFigures) error { return d.pull(ctx, s, key) }},
		{"mount", func(ctx context.Context, s *stageFigures) error { return d.mount(ctx, s, key) }},
		{"verify", d.verify},
		{"decrypt", d.decrypt},
		{"load", d.load},
		{"compare", d.compare},
	}
	if d.url != "" {
		placeCtx, p, done, err := d.openPlace(ctx, d.url, d.places)
		if err != nil {
			return err
		}
		err = d.perform(placeCtx, append(stages, p.stages(key.Recipient())...))
		return done(err)
	}
	return d.perform(ctx, stages)
}

// stage is a step of the demo.
type stage struct {
	name string
	run  func(context.Context, *stageFigures) error
}

// perform performs the stages, and shows their figures.
func (d *demo) perform(ctx context.Context, stages []stage) error {
	if d.show {
		_, err := fmt.Fprintf(d.app.Stdout, columns, "stage", "rows", "in", "out", "ratio", "speed", "time")
		if err != nil {
			return err
		}
	}
	for _, stage := range stages {
		figures := stageFigures{Stage: stage.name}
		start := time.Now()
		err := stage.run(ctx, &figures)
		if skip, is := errors.AsType[*skippedError](err); is {
			if err := d.skip(stage.name, skip.reason); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return command.About(stage.name, err)
		}
		figures.Seconds = time.Since(start).Seconds()
		d.report.Stages = append(d.report.Stages, figures)
		if d.show {
			if _, err := io.WriteString(d.app.Stdout, figures.row()); err != nil {
				return err
			}
		}
	}
	return nil
}

// skip tells why there are no figures of a stage.
func (d *demo) skip(stage, reason string) error {
	d.report.Skipped = append(d.report.Skipped, skipped{stage, reason})
	if !d.show {
		return nil
	}
	_, err := fmt.Fprintf(d.app.Stdout, "%-12s skipped: %s\n", stage, ui.Printable(reason))
	return err
}

func (d *demo) makeDatabase(ctx context.Context, s *stageFigures) error {
	if err := makeTodos(ctx, d.database, d.rows); err != nil {
		return err
	}
	info, err := os.Stat(d.database)
	if err != nil {
		return err
	}
	s.Rows, s.BytesOut = d.rows, info.Size()
	return nil
}

func (d *demo) export(ctx context.Context, s *stageFigures, recipient age.Recipient) (err error) {
	src, err := sqlite.OpenSource(d.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	out, done, err := argument.OpenSink(ctx, d.app, d.file, false, nil)
	if err != nil {
		return err
	}
	defer func() { err = done(err) }()
	plan := export.Plan{Recipients: []age.Recipient{recipient}, Ordered: true} // as compare reads them
	stats, err := plan.Table(ctx, out, src, "todos")
	if err != nil {
		return err
	}
	s.Rows, s.BytesIn, s.BytesOut = stats.Rows, stats.Text, stats.Out
	s.moved, s.compresses = stats.Text, true
	return out.Commit()
}

// read calls use with what is in a file.
func (d *demo) read(
	ctx context.Context, path string, config export.ReadConfig, use func(in *argument.Input, text *export.Reader) error,
) error {
	in, err := argument.OpenInput(ctx, d.app, []string{path}, nil)
	if err != nil {
		return err
	}
	config.Identities = []age.Identity{d.identity}
	return in.Use(config, func(text *export.Reader) error { return use(in, text) })
}

func (d *demo) verify(ctx context.Context, s *stageFigures) error {
	return d.read(ctx, d.file, export.ReadConfig{}, func(in *argument.Input, text *export.Reader) error {
		n, err := io.Copy(io.Discard, text)
		s.BytesIn, s.moved = in.Size, n
		return err
	})
}

func (d *demo) decrypt(ctx context.Context, s *stageFigures) error {
	return d.read(ctx, d.file, export.ReadConfig{Packed: true}, func(in *argument.Input, data *export.Reader) error {
		out, done, err := argument.OpenSink(ctx, d.app, d.decrypted, false, nil)
		if err != nil {
			return err
		}
		if s.BytesOut, err = io.Copy(out, data); err == nil {
			err = out.Commit()
		}
		s.BytesIn, s.moved = in.Size, in.Size
		return done(err)
	})
}

// load loads the file that was pulled into a second database.
func (d *demo) load(ctx context.Context, s *stageFigures) (err error) {
	if err := makeEmpty(d.second); err != nil {
		return err
	}
	dst, err := sqlite.OpenSink(d.second)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	err = d.read(ctx, d.file, export.ReadConfig{}, func(in *argument.Input, text *export.Reader) error {
		var plan load.Plan
		stats, err := plan.Text(ctx, dst, text, in.Name, format.CSV{}, "todos")
		s.Rows, s.BytesIn, s.moved = stats.Rows, in.Size, stats.Text
		return err
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(d.second)
	if err != nil {
		return err
	}
	s.BytesOut = info.Size()
	return nil
}

// compare reads the rows on ways that have nothing in common but the format: from the file as any reader of CSV would,
// and from both databases one batch after the other.
func (d *demo) compare(ctx context.Context, s *stageFigures) error {
	ofFile, ofDatabase, ofSecond := sha256.New(), sha256.New(), sha256.New()
	rows, err := d.readFile(ctx, s, ofFile)
	if err != nil {
		return err
	}
	if err := readDatabase(ctx, d.database, ofDatabase); err != nil {
		return err
	}
	if err := readDatabase(ctx, d.second, ofSecond); err != nil {
		return err
	}
	d.report.Loaded = fmt.Sprintf("%x", ofSecond.Sum(nil))
	sum, want := fmt.Sprintf("%x", ofFile.Sum(nil)), fmt.Sprintf("%x", ofDatabase.Sum(nil))
	if rows != d.rows || sum != want {
		return fmt.Errorf("%w: the file has %d rows with the hash %s, the database %d with %s",
			agefile.ErrCorrupt, rows, sum, d.rows, want)
	}
	if d.report.Loaded != want {
		return fmt.Errorf("%w: the second database has the hash %s, the first %s",
			agefile.ErrCorrupt, d.report.Loaded, want)
	}
	if d.mountedSum != "" && d.mountedSum != sum {
		return fmt.Errorf("%w: the text in the mount has the hash %s, the database %s",
			agefile.ErrCorrupt, d.mountedSum, want)
	}
	s.Rows, d.report.SHA256 = rows, sum
	return nil
}

func (d *demo) readFile(ctx context.Context, s *stageFigures, sum hash.Hash) (rows int64, err error) {
	counted := &command.CountingWriter{Writer: sum}
	err = d.read(ctx, d.decrypted, export.ReadConfig{}, func(_ *argument.Input, text *export.Reader) error {
		records := csv.NewReader(io.TeeReader(text, counted))
		records.ReuseRecord = true
		for ; err == nil; rows++ {
			_, err = records.Read()
		}
		if err == io.EOF {
			return nil
		}
		return err
	})
	s.BytesIn, s.moved = counted.Count.Load(), counted.Count.Load()
	return rows - 2, err // the header, and the end
}

// readDatabase adds the todos of a database to a hash, as text.
func readDatabase(ctx context.Context, path string, sum hash.Hash) (err error) {
	src, err := sqlite.OpenSource(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	rows, err := src.Table(ctx, "todos")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		return err
	}
	var batch source.Batch
	text := encoder.AppendHeader(nil)
	for {
		if _, err := sum.Write(text); err != nil {
			return err
		}
		if err := rows.Next(&batch); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if text, err = encoder.AppendRows(text[:0], &batch); err != nil {
			return err
		}
	}
}
