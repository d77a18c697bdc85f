package export

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/format"
	"culvert/internal/compress"
	"culvert/internal/rowsum"
	"culvert/manifest"
	"culvert/mask"
	"culvert/pace"
	"culvert/source"
)

// Compression is a way to compress.
type Compression uint8

// The kinds of compression.
const (
	Zstd = Compression(compress.Zstd) // in frames of whole rows, with a seek table
	Gzip = Compression(compress.Gzip) // in members of whole rows
	None = Compression(compress.None)
)

func (c Compression) codec() compress.Codec { return compress.Codec(c) }

// String returns the name: zstd, gzip or none.
func (c Compression) String() string { return c.codec().String() }

// Extension returns the usual extension of file names, with its dot, or "" for None.
func (c Compression) Extension() string { return c.codec().Extension() }

// ParseCompression returns the compression with the given name: zstd, gzip or none.
func ParseCompression(name string) (Compression, error) {
	for _, c := range []Compression{Zstd, Gzip, None} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("export: unknown compression %q", name)
}

// Plan describes how to export. It may be used many times, and concurrently.
type Plan struct {
	// Format is the format of the rows. Nil means format.CSV{}.
	Format format.Format

	// Compression is the compression of the text. Zero means Zstd. It must be None for a format that is not text, such
	// as Parquet, whose files are compressed inside.
	Compression Compression

	// Recipients can decrypt the output.
	Recipients []age.Recipient

	// Unencrypted must be set if there are no recipients, and only then.
	Unencrypted bool

	// Jobs is the number of frames that are formatted and compressed, and of chunks that are sealed, in parallel. Zero
	// means GOMAXPROCS.
	Jobs int

	// Ordered keeps the rows in the order in which the source returns them. Otherwise, if the source can divide a table
	// (a source.Divider), up to Jobs connections read it, at most 16, and its rows are written in no order. The rows of
	// a query always keep their order.
	Ordered bool

	// PartSize, if not zero, has several tables, or one of them, written in parts of about so many bytes, as stored by
	// the database. The source must be a source.Parter.
	PartSize int64

	// FailFast ends an export of several tables when one fails.
	FailFast bool

	// Omitted is what several tables leave out, such as source.Omitted returns it, for the manifest.
	Omitted []string

	// Schema is what makes the whole database again beside the rows. Exports of several tables write it to a file of
	// its own. Nil means that it is not exported. If it has OwnRows, the source is separated; see [source.Separate].
	Schema *source.Schema

	// Author signs the manifest of an export of several tables. Nil leaves it unsigned. See [manifest.Manifest.Author].
	Author ed25519.PrivateKey

	// FinishSchema, if not nil, returns the Schema and the Omitted of the manifest in place of these. Tables calls it
	// when all tables are written and no rows are open, since a source may read its schema meanwhile
	// ([source.SchemaStarter]). Of a schema with OwnRows, the plan must have the Schema before.
	FinishSchema func(context.Context) (schema *source.Schema, omitted []string, err error)

	// Overwrite replaces the files of an earlier export of several tables.
	Overwrite bool

	// Selection is the part of a table to export. The source must be a source.Selector. Exports of several tables, and
	// of queries, must not have one; Tables accepts one, without a limit, for a single table in parts.
	Selection source.Selection

	// Masks say which values do not leave as they are. They are applied on all cores, before the text is made, so sums
	// and sizes are those of what is written. The rules of queries, and of [Plan.Rows], are those of the table "". Such
	// rows must not have a column that is dropped. Rules that do not fit ([mask.Policy.Check]) end an export of several
	// tables before a row is read. With rules for a table, PostgreSQL does not print its CSV.
	Masks *mask.Policy
	// Choices say what is meant of the tables with these names, instead of the Selection. Their selections have no
	// limit. A table without rows is only in the manifest, and needs a definition.
	Choices map[string]source.Choice

	// Lossy says how values are written that do not fit the type of their column. It needs a Format that is a
	// [format.Fitting]. The manifest counts such values, and its sums are of the values that are written.
	Lossy format.Lossy

	// Pace limits how fast rows are written to all files together.
	Pace pace.Pace

	// Progress, if not nil, counts while an export runs.
	Progress *Progress

	// kept has rows that are read only for their sum summed up as JSON Lines keep them.
	kept bool

	// exported are the columns whose values rows have that are read only for their sum: those of an export from another
	// system, by whose types values were masked. Nil for those of the source.
	exported []source.Column
}

// Sum is a checksum of rows that does not depend on their order. Package manifest says how it is computed.
type Sum = rowsum.Sum

// Stats are the figures of one export.
type Stats struct {
	Rows int64 // rows written
	Text int64 // bytes of text, before compression
	Out  int64 // bytes written to dst
	Sum  Sum   // of the text of the rows, whatever their order, format and compression

	// Canonical is the sum of the values of the rows, in whatever text the database prints them.
	Canonical Sum

	Readers     int                      // connections that read concurrently
	Indivisible *source.IndivisibleError // why there were no more readers, if more would have been useful

	Outside bool // the rows may be newer than the snapshot, see [source.PartialSnapshotter]

	Unfit []manifest.Unfit // what did not fit, by the Lossy of the plan

	Untold []string // the columns with values whose type the text does not tell, see [source.Untold]
}

// Extension returns the usual extension of an output file, such as ".csv.zst.age".
func (p *Plan) Extension() string {
	ext := p.format().Extension() + p.Compression.Extension()
	if !p.Unencrypted {
		ext += ".age"
	}
	return ext
}

// Table writes all rows of a table or view of src to dst. Nothing is written before the database has accepted the
// statement that reads it.
func (p *Plan) Table(ctx context.Context, dst io.Writer, src source.Source, name string) (Stats, error) {
	outside, err := source.OutsideSnapshot(ctx, src, []string{name})
	if err != nil {
		return Stats{}, err
	}
	stats, err := p.run(ctx, work{dst: dst, table: name, open: p.table(src, name), divide: !p.Ordered})
	stats.Outside = len(outside) > 0
	return stats, err
}

// table returns the function that opens the rows of a table, or the selected part of them.
func (p *Plan) table(src source.Source, name string) func(context.Context) (source.Rows, error) {
	return func(ctx context.Context) (source.Rows, error) {
		selection, err := p.Masks.Select(ctx, src, name, p.choiceOf(name).Selection)
		if err != nil {
			return nil, err
		}
		if selection.IsZero() {
			return src.Table(ctx, name)
		}
		selector, ok := src.(source.Selector)
		if !ok {
			return nil, errors.New("export: the source cannot select a part of a table")
		}
		return selector.Select(ctx, name, selection)
	}
}

// choiceOf returns what is meant of a table.
func (p *Plan) choiceOf(name string) source.Choice {
	if c, is := p.Choices[name]; is {
		return c
	}
	return source.Choice{Selection: p.Selection}
}

// Query writes the rows of a query to dst, as Table does.
func (p *Plan) Query(ctx context.Context, dst io.Writer, src source.Source, sql string) (Stats, error) {
	outside, err := source.QueryOutsideSnapshot(ctx, src, sql)
	if err != nil {
		return Stats{}, err
	}
	open := func(ctx context.Context) (source.Rows, error) { return src.Query(ctx, sql) }
	stats, err := p.rows(ctx, work{dst: dst, open: open})
	stats.Outside = outside
	return stats, err
}

// Rows writes the rows that open returns to dst, as Table does, and closes them. They may come from anywhere, such as a
// query with arguments:
//
//	stats, err := plan.Rows(ctx, file, gormdb.Query(db.Where("done = ?", true).Table("todos")))
//
// The context of the call of open must govern the rows. It ends when ctx does, and when dst fails, so that reads which
// wait for the database end too.
func (p *Plan) Rows(
	ctx context.Context, dst io.Writer, open func(context.Context) (source.Rows, error),
) (Stats, error) {
	return p.rows(ctx, work{dst: dst, open: open, divide: !p.Ordered})
}

// rows runs an export of anything except a table.
func (p *Plan) rows(ctx context.Context, w work) (Stats, error) {
	if !p.Selection.IsZero() {
		return Stats{}, errors.New("export: only a table can have a selection")
	}
	return p.run(ctx, w)
}

func (p *Plan) format() format.Format {
	if p.Format == nil {
		return format.CSV{}
	}
	return p.Format
}

func (p *Plan) jobs() int {
	if p.Jobs > 0 {
		return p.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// checkRecipients makes sure that nobody forgets to encrypt.
func (p *Plan) checkRecipients() error {
	switch {
	case len(p.Recipients) == 0 && !p.Unencrypted:
		return errors.New("export: no recipients")
	case len(p.Recipients) > 0 && p.Unencrypted:
		return errors.New("export: an unencrypted export cannot have recipients")
	}
	return nil
}

// work describes one run of the pipeline.
type work struct {
	dst    io.Writer
	table  string // whose masks are applied; "" for a query
	open   func(context.Context) (source.Rows, error)
	divide bool              // several connections may read
	share  share             // among several tables
	part   *source.Part      // that is read, while others may be; nil if all rows are
	beside bool              // other tables are read meanwhile
	codec  *compress.Encoder // or nil; for a small table, a new one would take most of the time
	large  func()            // of an output
}

// redacted hides what a database says of rows that are masked.
func (p *Plan) redacted(err error) error {
	if p.Masks.IsZero() {
		return err
	}
	return source.Redacted(err)
}

// run opens the rows, puts the stages around dst, and ends both.
func (p *Plan) run(ctx context.Context, w work) (stats Stats, err error) {
	defer func() { err = p.redacted(err) }()
	if err := p.checkRecipients(); err != nil {
		return Stats{}, err
	}

	// A failure to write must also end a read that waits for the database.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	rows, err := w.open(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer func() {
		if closeErr := rows.Close(); err == nil {
			err = closeErr
		}
	}()
	masked := rows.Columns()
	if p.exported != nil {
		masked = p.exported
	}
	masker, err := p.Masks.Masker(w.table, masked)
	if err != nil {
		return Stats{}, err
	}
	fitter, columns, err := p.fitter(rows, stored(rows.Columns(), masker.Columns()))
	if err != nil {
		return Stats{}, err
	}
	encoder, lines, err := p.encoders(columns)
	if err != nil {
		return Stats{}, err
	}

	progress, err := p.begin(w, rows)
	if err != nil {
		return Stats{}, err
	}
	readers := []source.Rows{rows}
	if w.divide {
		readers, err = p.divide(rows)
		if stats.Indivisible, _ = errors.AsType[*source.IndivisibleError](err); err != nil && stats.Indivisible == nil {
			return Stats{}, err
		}
	}
	stats.Readers = len(readers)

	if w.codec == nil {
		w.codec = p.compressor()
	}
	out := &counter{dst: w.dst, total: &progress.Out}
	pl := &pipeline{
		plan:     p,
		readers:  readers,
		encoder:  encoder,
		lines:    lines,
		masker:   masker,
		fitter:   fitter,
		types:    p.types(rows, masker.Columns()),
		codec:    w.codec,
		trailer:  compress.NewTrailer(p.Compression.codec()),
		dst:      out,
		progress: progress,
		ctx:      ctx,
		cancel:   cancel,
		stats:    stats,

		part:      w.part != nil,
		small:     w.beside,
		frameSize: p.frameSize(encoder),
	}
	if p.Unencrypted {
		err = pl.run()
	} else {
		err = pl.runEncrypted(agefile.Config{Workers: p.jobs()}, p.Recipients)
	}
	pl.stats.Out = out.n
	pl.stats.Unfit = unfitOf(fitter, columns)
	if untold, is := rows.(source.Untold); is && err == nil {
		_, numbers := p.format().(format.JSONL)
		pl.stats.Untold = untold.Untold(numbers)
	}
	return pl.stats, err
}

// begin returns the Progress of an export that begins.
func (p *Plan) begin(w work, rows source.Rows) (*Progress, error) {
	switch {
	case p.Progress == nil:
		return new(Progress), nil
	case w.part != nil || w.beside:
		return p.Progress, nil
	}
	return p.Progress, p.Progress.begin(w.share, rows)
}

// maxReaders bounds the connections of one export. By default, a server of PostgreSQL has 100 for all clients.
const maxReaders = 16

// MaxReaders returns the most connections that an export would have: Jobs, but at most 16.
func (p *Plan) MaxReaders() int { return min(p.jobs(), maxReaders) }

// divide shares the rows of a table among several readers. It returns the rows as they are if they cannot be divided.
// The error says why there are no more readers.
func (p *Plan) divide(rows source.Rows) ([]source.Rows, error) {
	divider, ok := rows.(source.Divider)
	n := p.MaxReaders()
	if !ok || n == 1 {
		return []source.Rows{rows}, nil
	}
	readers, err := divider.Divide(n)
	if len(readers) == 0 {
		readers = []source.Rows{rows}
	}
	return readers, err
}

// compressor returns a new encoder.
func (p *Plan) compressor() *compress.Encoder {
	return compress.NewEncoder(p.Compression.codec(), p.jobs())
}

// counter counts what is written.
type counter struct {
	dst   io.Writer
	n     int64
	total *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.dst.Write(p)
	c.n += int64(n)
	c.total.Add(int64(n))
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return n, err
}
