// Package export writes rows of a database to files, and reads these files. It formats, compresses and encrypts on all
// cores, in an amount of memory that does not depend on the number of rows.
//
//	plan := export.Plan{Recipients: []age.Recipient{recipient}}
//	stats, err := plan.Table(ctx, file, src, "orders")
//
// The zero [Plan] writes CSV, compresses it with zstd, and refuses to run, since nobody could read the result. Stock
// tools open the file: age -d | zstd -d prints the CSV.
//
// What has been written to dst is complete only if the error is nil. Then all rows are in it, as many as the database
// has confirmed, if it does (PostgreSQL). A reader of an encrypted file notices if it is not complete. A
// [culvert/place.File] appears under its name only when it is complete.
//
// # Reading
//
//	orders, err := export.Open(os.DirFS("backup"), "orders.csv.zst.age", identity)
//	_, err = io.Copy(os.Stdout, orders)
//
// [Open] reads the text of a file as a stream, [ReadConfig.NewReaderAt] at any offset, and [ReadConfig.Inspect] says
// what a file is. They also read the files of other programs that use age, zstd or gzip. [OpenDirectory] opens an
// export of several tables, in any [io/fs.FS], and [Directory.Verify] compares it with its manifest.
//
// # Order
//
// A table that the source can divide, as a large one of PostgreSQL, is read with several connections at the same time,
// in one snapshot, and its rows are written as they arrive. Nothing is lost by that: a table has no order. Plan.Ordered
// keeps the order in which the source would give them to one connection; a query always has it. zstd then compresses
// with a faster level, whose output is often some percent larger, as it would be what all else waits for.
//
// # Several tables
//
// [Plan.Tables] writes each of several tables to a file of its own:
//
//	stats, err := plan.Tables(ctx, to, src, []string{"orders", "customers"})
//
// They are read one after the other, each by all connections, so that the memory is that of one. How they fit together
// is up to the source. Those of PostgreSQL are all read in one snapshot, those of SQLite in one read transaction, for
// which writers have to wait unless the database is in WAL mode, and of MySQL and MariaDB those in one snapshot whose
// engine has them. All are looked up first, which in PostgreSQL also locks them against DROP, TRUNCATE and ALTER TABLE,
// until the source is closed: by default the first 1,600, so that other clients of the server have locks left.
//
// The files go to a [place.Place], such as a directory. While one is written, up to eight before it are committed.
//
// # Manifest
//
// The last file is the manifest: if it is there, every table has been tried. It is named manifest.json.age and
// encrypted like the others, or manifest.json if they are not encrypted. It is JSON, an object with these fields:
//
//	version      number   1; other versions are other formats
//	tool         string   what has written it
//	begun        string   when the tables were looked up and when the last had been read, in UTC by the clock of the
//	ended                 machine that exports, as in RFC 3339
//	system       string   the database system and its version (source.Description)
//	database     string   its name, or its file
//	snapshot     string   the state that the tables show; absent if they are not read in one state. Tables of MySQL
//	                      and MariaDB without snapshots, such as those of MyISAM, are as they were when they were read
//	position     string   the place in the log of the system, such as an LSN; absent if it is not known
//	format       string   the extension of the format: csv, jsonl or txt
//	compression  string   zstd, gzip or none
//	encrypted    boolean  whether the files are age files
//	tables       array    of objects, in the order of the export
//
// and of a table
//
//	name         string   as it was asked for
//	file         string   the name of its file, without directories
//	columns      array    of objects: name, and type as the database calls it
//	rows         number   as many as the database has confirmed, if it does
//	text_bytes   number   the size of the rows as text, that is, of the file when it is decrypted and decompressed
//	file_bytes   number   the size of the file
//	sha256       string   of the file as it is stored, in 64 hexadecimal digits
//	readers      number   connections that have read it
//	error        string   why there is no file; then there is only the name, and numbers that are 0
//
// Empty strings and arrays are left out. [ReadManifest] accepts these fields in this order only, each once, with any
// white space, up to 128 MiB. Names that are not UTF-8 have U+FFFD in place of what is wrong.
//
// # Memory
//
// An export with J jobs holds J+2 frames on their way, each of about 1 MiB of values, their text and its compressed
// form, and R more if R connections share a table; what compress takes for J encoders; and what agefile takes for J
// workers. With the default zstd that is at most about
//
//	(J+2+R) × 3.5 MiB + J × 5 MiB + J × 2.5 MiB
//
// Rows of more than about 1 MiB add to it
//
//	max(32 MiB, 2 × the largest row)
//
// whatever J and R are. The source holds such a row, and so does the batch that it is read into, unless the source
// lends its memory, as PostgreSQL does. The connections that share a table of PostgreSQL hold together 16 MiB of large
// rows, or one row that is larger. The text of a large row goes on in pieces of 1 MiB, as frames of their own, so that
// it is never in memory as a whole. These figures are for a collector that runs early (GOGC=25, as the program sets
// it). With the default setting, and with drivers that make copies of a row, there is more garbage.
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

// String gives the name: zstd, gzip or none.
func (c Compression) String() string { return c.codec().String() }

// Extension gives the usual end of file names, with its dot, or nothing for None.
func (c Compression) Extension() string { return c.codec().Extension() }

// ParseCompression gives the compression of a name: zstd, gzip or none.
func ParseCompression(name string) (Compression, error) {
	for _, c := range []Compression{Zstd, Gzip, None} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("export: unknown compression %q", name)
}

// Plan says how to export. It may be used many times, also at once.
type Plan struct {
	// Format is how rows are written. Nil means format.CSV{}.
	Format format.Format

	// Compression is how the text is compressed. Zero means Zstd.
	Compression Compression

	// Recipients are those who can read the output.
	Recipients []age.Recipient

	// Unencrypted must be set if there are no recipients, and only then.
	Unencrypted bool

	// Jobs is the number of frames that are formatted and compressed, and of chunks that are sealed, at the same time.
	// Zero means GOMAXPROCS.
	Jobs int

	// Ordered keeps the rows in the order in which the source gives them. Otherwise those of a table that the source
	// can divide (a source.Divider) are read with up to as many connections as there are Jobs, at most 16, and come in
	// no order if there is more than one. The rows of a query always keep theirs.
	Ordered bool

	// FailFast ends an export of several tables with the first that fails.
	FailFast bool

	// Overwrite replaces the files of an earlier export of several tables.
	Overwrite bool

	// Selection is the part of the table that is wanted. Only one table can have one, of a source.Selector.
	Selection source.Selection

	// Progress, if not nil, is added to while an export runs.
	Progress *Progress
}

// Stats are the figures of one export.
type Stats struct {
	Rows int64 // rows written
	Text int64 // bytes of text, before compression
	Out  int64 // bytes given to dst

	Readers     int                      // connections that have read at the same time
	Indivisible *source.IndivisibleError // why there were no more readers, if more would have been of use
}

// Extension is the usual end of the name of an output file, such as ".csv.zst.age".
func (p *Plan) Extension() string {
	ext := p.format().Extension() + p.Compression.Extension()
	if !p.Unencrypted {
		ext += ".age"
	}
	return ext
}

// Table writes all rows of a table or view of src to dst. Nothing is written before the database has accepted to read
// it.
func (p *Plan) Table(ctx context.Context, dst io.Writer, src source.Source, name string) (Stats, error) {
	return p.run(ctx, work{dst: dst, open: p.table(src, name), divide: !p.Ordered})
}

// table gives the function that opens the rows of a table, or the selected part of them.
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

// Rows writes the rows that open gives to dst, as Table does, and closes them. They may come from anywhere, such as a
// query with arguments:
//
//	stats, err := plan.Rows(ctx, file, gormdb.Query(db.Where("done = ?", true).Table("todos")))
//
// The context that open is called with has to govern the rows: it ends when ctx does, and when dst fails, so that a
// read which waits for the database does not go on.
func (p *Plan) Rows(
	ctx context.Context, dst io.Writer, open func(context.Context) (source.Rows, error),
) (Stats, error) {
	return p.rows(ctx, work{dst: dst, open: open, divide: !p.Ordered})
}

// rows runs an export that is not one of a table.
func (p *Plan) rows(ctx context.Context, w work) (Stats, error) {
	if !p.Selection.IsZero() {
		return Stats{}, errors.New("export: a selection of what is no table")
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
		return errors.New("export: recipients of an unencrypted export")
	}
	return nil
}

// work is what one run of the pipeline does.
type work struct {
	dst    io.Writer
	open   func(context.Context) (source.Rows, error)
	divide bool  // several may read
	share  share // among several tables
	codec  *encoder
}

// encoder is what compresses, from one table to the next: new memory would cost a small table more than all else.
type encoder struct {
	*compress.Encoder
	fast bool
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

	out := &counter{dst: w.dst, total: &progress.Out}
	pl := &pipeline{
		plan:     p,
		readers:  readers,
		encoder:  encoder,
		codec:    p.compressor(len(readers), w.codec),
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

// begin gives what counts the rows of an export that begins.
func (p *Plan) begin(part share, rows source.Rows) (*Progress, error) {
	if p.Progress == nil {
		return new(Progress), nil
	}
	return p.Progress, p.Progress.begin(part, rows)
}

// maxReaders bounds what one export takes of the connections of a server, which are 100 for all unless it has been told
// otherwise.
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

// compressor gives the encoder for so many readers: the last one, if it is right, and otherwise in place of it. What
// several read would wait for a thorough one.
func (p *Plan) compressor(readers int, last *encoder) *compress.Encoder {
	fast := readers > 1
	if last != nil && last.Encoder != nil && last.fast == fast {
		return last.Encoder
	}
	made := encoder{compress.NewEncoder(p.Compression.codec(), p.jobs()), fast}
	if fast {
		made.Encoder = compress.NewFastEncoder(p.Compression.codec(), p.jobs())
	}
	if last != nil {
		*last = made
	}
	return made.Encoder
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
