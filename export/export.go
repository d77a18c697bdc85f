// Package export writes rows of a database to files, and reads these files. It formats, compresses and encrypts on all
// cores, in an amount of memory that does not depend on the number of rows.
//
//	plan := export.Plan{Recipients: []age.Recipient{recipient}}
//	stats, err := plan.Table(ctx, file, src, "orders")
//
// A [Plan] writes CSV compressed with zstd by default. It must have recipients, or be Unencrypted. Standard tools read
// the file: age -d | zstd -d prints the CSV.
//
// The output is complete only if the error is nil. Then it has all rows, and their number is the one that the database
// has confirmed, if it does so (PostgreSQL). Readers detect an incomplete encrypted file. A [culvert/place.File]
// appears under its name only when it is complete.
//
// # Reading
//
//	orders, err := export.Open(os.DirFS("backup"), "orders.csv.zst.age", identity)
//	_, err = io.Copy(os.Stdout, orders)
//
// [Open] reads the text of a file as a stream, and [ReadConfig.NewReaderAt] at any offset. [ReadConfig.Inspect]
// describes a file. They also read files that other programs made with age, zstd or gzip. [OpenDirectory] opens an
// export of several tables in any [io/fs.FS], and [Directory.Verify] compares it with its manifest.
//
// # Order
//
// If the source can divide a table, such as a large one of PostgreSQL, several connections read it in one snapshot, and
// its rows are written as they arrive. This loses nothing, since a table has no order. With Plan.Ordered, one
// connection reads the table, and the rows keep the source's order. Queries always keep theirs.
//
// # Several tables
//
// [Plan.Tables] writes each of several tables to a file of its own:
//
//	stats, err := plan.Tables(ctx, to, src, []string{"orders", "customers"})
//
// Tables are read one after the other, each by all connections, so several tables take no more memory than one. The
// source decides whether they show one state of the database. PostgreSQL reads all in one snapshot. SQLite reads all in
// one read transaction; writers wait for it unless the database is in WAL mode. MySQL and MariaDB read tables in one
// snapshot if their engine supports it.
//
// All tables are looked up first. In PostgreSQL this also locks them against DROP, TRUNCATE and ALTER TABLE until the
// source is closed. By default only the first 1,600 are locked, which leaves locks for other clients of the server.
//
// The files go to a [place.Place], such as a directory. While one is written, up to eight earlier ones are committed.
//
// # Manifest
//
// The last file is the manifest: if it exists, every table has been tried. It is named manifest.json.age and encrypted
// like the other files, or manifest.json if they are not encrypted. It is a JSON object with these fields:
//
//	version      number   1; other versions are other formats
//	tool         string   the program that wrote it
//	begun        string   when the tables were looked up, in UTC by the clock of the exporting machine (RFC 3339)
//	ended        string   when the last table had been read
//	system       string   the database system and its version (source.Description)
//	database     string   its name, or its file
//	snapshot     string   the state that the tables show; absent if they are not read in one state. Tables of MySQL
//	                      and MariaDB without snapshots, such as those of MyISAM, are as they were when they were read
//	position     string   the position in the log of the system, such as an LSN; absent if unknown
//	format       string   the extension of the format: csv, jsonl or txt
//	compression  string   zstd, gzip or none
//	encrypted    boolean  whether the files are age files
//	tables       array    of objects, in the order of the export
//
// Each table has these fields:
//
//	name         string   as the caller wrote it
//	file         string   the name of its file, without directories
//	columns      array    of objects: name, and type as the database calls it
//	rows         number   the number of rows, confirmed by the database if it does so
//	text_bytes   number   the size of the text, that is, of the decrypted and decompressed file
//	file_bytes   number   the size of the file
//	sha256       string   of the file as it is stored, in 64 hexadecimal digits
//	readers      number   connections that have read it
//	error        string   why there is no file; then the object has only the name, and numbers that are 0
//
// Empty strings and arrays are left out. [ReadManifest] accepts these fields only in this order, each once, with any
// white space, up to 128 MiB. In names that are not UTF-8, U+FFFD replaces invalid bytes.
//
// # Memory
//
// An export with J jobs has J+2 frames, and R more if R connections share a table. A frame holds about 1 MiB of values,
// their text and its compressed form. J encoders and J workers of agefile take the rest. All this takes at most about
//
//	(J+2+R) × 3.5 MiB + J × 2 MiB + J × 2.5 MiB
//
// Rows of more than about 1 MiB add at most
//
//	max(32 MiB, 2 × the largest row)
//
// whatever J and R are. Such a row is in the source's memory and in the batch that it is read into, unless the source
// lends its memory, as PostgreSQL does. The connections that share a table of PostgreSQL together hold 16 MiB of large
// rows, or one row that is larger. The text of a large row is made in pieces of 1 MiB, each a frame of its own, so it
// is never in memory as a whole. These figures are for a collector that runs early (GOGC=25, as the program sets it).
// With the default setting, and with drivers that copy rows, there is more garbage.
package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/format"
	"culvert/internal/compress"
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

	// Compression is the compression of the text. Zero means Zstd.
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

	// FailFast ends an export of several tables when one fails.
	FailFast bool

	// Overwrite replaces the files of an earlier export of several tables.
	Overwrite bool

	// Selection is the part of a table to export. The source must be a source.Selector. Exports of several tables, and
	// of queries, must not have one.
	Selection source.Selection

	// Progress, if not nil, counts while an export runs.
	Progress *Progress
}

// Stats are the figures of one export.
type Stats struct {
	Rows int64 // rows written
	Text int64 // bytes of text, before compression
	Out  int64 // bytes written to dst

	Readers     int                      // connections that read concurrently
	Indivisible *source.IndivisibleError // why there were no more readers, if more would have been useful
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
	return p.run(ctx, work{dst: dst, open: p.table(src, name), divide: !p.Ordered})
}

// table returns the function that opens the rows of a table, or the selected part of them.
func (p *Plan) table(src source.Source, name string) func(context.Context) (source.Rows, error) {
	return func(ctx context.Context) (source.Rows, error) {
		if p.Selection.IsZero() {
			return src.Table(ctx, name)
		}
		selector, ok := src.(source.Selector)
		if !ok {
			return nil, errors.New("export: the source cannot select a part of a table")
		}
		return selector.Select(ctx, name, p.Selection)
	}
}

// Query writes the rows of a query to dst, as Table does.
func (p *Plan) Query(ctx context.Context, dst io.Writer, src source.Source, sql string) (Stats, error) {
	open := func(ctx context.Context) (source.Rows, error) { return src.Query(ctx, sql) }
	return p.rows(ctx, work{dst: dst, open: open})
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
	open   func(context.Context) (source.Rows, error)
	divide bool              // several connections may read
	share  share             // among several tables
	codec  *compress.Encoder // or nil; for a small table, a new one would take most of the time
}

// run opens the rows, puts the stages around dst, and ends both.
func (p *Plan) run(ctx context.Context, w work) (stats Stats, err error) {
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
	encoder, err := p.format().Encoder(rows.Columns())
	if err != nil {
		return Stats{}, err
	}

	progress, err := p.begin(w.share, rows)
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
		codec:    w.codec,
		trailer:  compress.NewTrailer(p.Compression.codec()),
		dst:      out,
		progress: progress,
		ctx:      ctx,
		cancel:   cancel,
		stats:    stats,

		frameSize: p.frameSize(),
	}
	if p.Unencrypted {
		err = pl.run()
	} else {
		err = pl.runEncrypted(agefile.Config{Workers: p.jobs()}, p.Recipients)
	}
	pl.stats.Out = out.n
	return pl.stats, err
}

// begin returns the Progress of an export that begins.
func (p *Plan) begin(part share, rows source.Rows) (*Progress, error) {
	if p.Progress == nil {
		return new(Progress), nil
	}
	return p.Progress, p.Progress.begin(part, rows)
}

// maxReaders bounds the connections of one export. By default, a server of PostgreSQL has 100 for all clients.
const maxReaders = 16

func (p *Plan) maxReaders() int { return min(p.jobs(), maxReaders) }

// divide shares the rows of a table among several readers. It returns the rows as they are if they cannot be divided.
// The error says why there are no more readers.
func (p *Plan) divide(rows source.Rows) ([]source.Rows, error) {
	divider, ok := rows.(source.Divider)
	n := p.maxReaders()
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
