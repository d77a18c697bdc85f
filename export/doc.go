// Package export writes rows of a database to files, and reads these files. It formats, compresses and encrypts on all
// cores, in an amount of memory that does not depend on the number of rows.
//
//	plan := export.Plan{Recipients: []age.Recipient{recipient}}
//	stats, err := plan.Table(ctx, file, src, "orders")
//
// A [Plan] writes CSV compressed with zstd by default. It must have recipients, or be Unencrypted. Standard tools read
// the file: age -d | zstd -d prints the CSV.
//
// A [format.Format] decides what is written. CSV and JSON Lines have the text of values, and Parquet and Arrow columns
// of types: numeric(10,2) of PostgreSQL, say, is a decimal(10,2) in the words of [culvert/source], 12.50 in CSV,
// DECIMAL(10,2) in Parquet, and Decimal128(10,2) in Arrow. Package [culvert/format] has the table of all types. A value
// that does not fit its type ends the export, or becomes what Plan.Lossy says.
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
// export of several tables in any [io/fs.FS]. [Directory.Verify] compares it with its manifest, and [Directory.Compare]
// with a database.
//
// # Order
//
// If the source can divide a table, such as a large one of PostgreSQL or SQLite, several connections read it in one
// snapshot, and its rows are written as they arrive. This loses nothing, since a table has no order. With Plan.Ordered,
// one connection reads the table, and the rows keep the source's order. Queries always keep theirs.
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
// # Parts
//
// With a PartSize, each table is written in parts, if the source can cut tables (a [source.Parter]): ranges of its
// rows, each in a file of its own that begins with the header. If sessions can share the snapshot of the source (a
// [source.Sharer]), several write parts at the same time. [Directory.Open] and [Directory.ReaderAt] read all parts of a
// table as one text.
//
// An export of several tables has four steps, which package workers takes too, with other processes for the third:
// [Plan.Outline] looks up a table and cuts it, [Plan.MakeRoom] removes an earlier export or refuses to, [Plan.Part]
// writes a part, and [Plan.Entry] makes the entry of a table in the manifest from its files.
//
// # Manifest
//
// The last file is the manifest, which lists the others: if it exists, every table has been tried. Package
// [culvert/manifest] describes it, and the [Sum] of rows.
//
// # Memory
//
// An export with J jobs has J+2 frames, and R more if R connections share a table. A frame holds about 1 MiB of values,
// their text and its compressed form. J encoders, 2 J spans of agefile, and the buffers of the connections take the
// rest. Besides the program itself, all this takes at most about
//
//	(J+2) × 3.5 MiB + J × 4.5 MiB + R × 4 MiB (if R > 1)
//
// Rows of more than about 1 MiB add at most
//
//	max(32 MiB, 2 × the largest row)
//
// whatever J and R are. Such a row is in the source's memory and in the batch that it is read into, unless the source
// lends its memory, as PostgreSQL does. The connections that share a table of PostgreSQL together hold 16 MiB of large
// rows, or one row that is larger. The text of a large row is made in pieces of 1 MiB, each a frame of its own, so it
// is never in memory as a whole. These figures are for a collector that runs early (GOGC=25, as the program sets it).
// With the default setting, and with drivers that copy rows, there is more garbage. An export in parts takes as much as
// one with a single job for each of its sessions.
package export
