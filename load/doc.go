// Package load fills tables of a database from files: those that package export wrote, and CSV, JSON Lines, Parquet and
// Arrow of other programs. It is the other end of package export.
//
//	backup, err := export.OpenDirectory(place, identity)
//	…
//	plan := load.Plan{Loaders: 4}
//	stats, err := plan.Directory(ctx, db, backup, nil)
//
// [Plan.Directory] loads tables of an export, [Plan.Text] the text of any file, [Plan.File] a file of columns,
// [Plan.Stream] a stream of columns, and [Plan.Copy] a table of another database, with nothing on any disk. The
// database is a [sink.Sink]. With [Plan.Create], the tables of an export are made by their definitions in the manifest.
// [Plan.Preview], [Plan.PreviewText], [Plan.PreviewFile], [Plan.PreviewStream] and [Plan.PreviewCopy] say what would be
// done.
//
// # The path of a row
//
//	file ──▶ text ──▶ blocks of rows ──▶ prepared on all cores ──▶ dealt ──▶ loaders
//	         agefile    1 MiB              counted, summed up,               one for
//	         zstd, gzip                    decoded if necessary              each connection
//
// A file is read once, from its beginning to its end, and decrypted and decompressed on all cores. Its text is cut
// into blocks of whole rows. If the database reads the format of the file, as PostgreSQL reads CSV, each loader takes
// blocks as they are. Otherwise the rows are decoded, and written as the text that the database reads, or passed as
// values. All rows of a table without parts go through one queue. A table in parts is loaded by several readers, each
// with a loader of its own, which takes the next part when it has completed one.
//
// # What is certain
//
// A table gets all rows or none. It is committed only after
//
//   - the files have been read to their end, and have the size, the SHA-256 and the size of the text that the manifest
//     says; encrypted files without a manifest are complete and authentic, as package agefile promises,
//   - the rows that were read are as many as the manifest says, and have its sum, if the text is CSV,
//   - the database has counted as many rows,
//   - and, with [Plan.ReadBack], the rows that it has read back have the same sum.
//
// With [sink.Filling.EachPart] this holds for each part instead, and a repeated load goes on where the last one has
// ended.
//
// # Trust
//
// Nothing of a file or a manifest is run as SQL, except with [Plan.Create]: then the definitions of the manifest, or of
// the source of a copy, are run if the database is of the same system, and with them what makes types, functions and
// others that the tables need ([sink.Provider]). A definition that makes anything but a table and its indexes is
// refused ([sink.CheckStatements]). Its expressions can still call every function that the user of the database may
// call. The encryption of a manifest does not prove who made it: [manifest.Manifest.Author] returns who has signed it,
// and callers compare that before they load.
//
// # Columns
//
// The columns of the file are matched by name, so their order does not matter. Columns that the file does not have get
// their defaults. [Plan.Columns] leaves some out, and [Plan.Rename] gives them other names. A column that the table
// does not have is a [*culvert/source.UnknownError] before anything of the table is loaded. Loading all columns of CSV
// into PostgreSQL, whatever their names, parses nothing, and looks only at columns whose type may change a value that
// the source can have.
//
// Values are converted by [Plan.Conversions] before they reach the sink, in one place for all formats and databases
// ([culvert/convert]).
//
// The database is told what types the values had ([sink.Filling.Types]): those of the manifest, or of the source of a
// copy. Values of other files have none, and each is looked at.
//
// # Memory
//
// A queue has a block for each loader, each core and each reader. A block has 1 MiB of text, and if its rows are
// decoded, about twice as much again. A row that is larger than a block takes its size in a block, and half of
// that while it is read. So large rows take up to 1.5 times their text in each block, and 3.5 times if they are
// decoded: with 2 cores, one loader and rows of 80 MB, 480 MB into PostgreSQL and 1.1 GB into SQLite.
//
// Reading takes what package export says of a Reader; tables in parts, and several tables at once, have a reader for
// each loader. A file of columns has a reader for each loader too, which takes what package parquetread says, about
// 2.3 MiB for each column of the files that most programs write, or package arrowread, a record batch. Nothing grows
// with the number of rows, except 40 bytes for each block, so that the error of a row can say which one it is.
//
// # Errors
//
// If the database refuses a row, the error is an [*fs.PathError] with the name of the file, and in it a
// [*sink.RowError] whose Row and Line count from the beginning of the file: Row without the header, Line with it. Rows
// that cannot be read are a [*format.RowError] in the same way. Files that are not as they were exported are an
// [export.ErrDamaged].
//
// With [Plan.Rejects], a row that is refused goes to a file, and the others are loaded. Each block is then loaded after
// a mark of [sink.Marker]. If that fails, its rows are undone, and tried in fewer at a time, so that none is rejected
// that was not refused alone. The text of a block stays in memory until its rows are taken.
//
// If the database fails while the source of a copy waits for rows, the statement of the source is canceled after 5
// seconds. PostgreSQL then still copies the other tables; the connection to MySQL is closed.
package load
