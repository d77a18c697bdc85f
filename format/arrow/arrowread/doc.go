// Package arrowread reads Apache Arrow IPC, files and streams: those of culvert, and those of pyarrow, Polars and
// DuckDB.
//
// A [Format] opens a file that is read at any place. Its rows are read by record batch, each by a goroutine of its own
// if the caller wants:
//
//	file, err := arrowread.Format{}.Open(src, size)
//	…
//	for group := range file.Groups() {
//		rows, err := file.Rows(group, []format.Field{{}, {Skip: true}, {}}) // two of three columns
//		…
//		for err = rows.Next(&batch); err == nil; err = rows.Next(&batch) {
//			…
//		}
//	}
//
// Package load takes it to fill tables. Only the columns that are asked for are fetched. A stream has no index, so its
// record batches are looked up when it is opened, from its beginning to its end; only their metadata is fetched then.
// [Format.OpenStream] reads a stream from a pipe instead, with one record batch in memory for each goroutine.
//
// # Types
//
// Values become the text that PostgreSQL prints, in UTC:
//
//	Bool                                          bool
//	Int8, 16, 32, 64                              int16, int32 or int64
//	UInt8, 16, 32                                 the next larger one
//	UInt64                                        decimal(20,0)
//	Float16, 32, 64                               float32, float64
//	Decimal32, 64, 128, 256                       decimal(p,s)
//	Date32, Date64                                date
//	Time32, Time64, Timestamp                     time, timestamp; instant if it has a zone
//	Duration, Interval                            interval
//	Utf8, LargeUtf8, Utf8View                     string
//	Binary, of all kinds                          bytes
//	the extensions arrow.uuid, arrow.json         uuid, json
//	List, of all kinds, of one of these           an array, as {1,2,NULL}
//	Map, Struct, List of these                    json: an object, or an array
//	Null                                          unknown: each is NULL
//
// A dictionary, also one that later batches add to or replace, and RunEndEncoded have the type of their values. Other
// extensions have the type that they are stored as. Unions are refused by name, and so are files whose numbers are
// big-endian, and those of Arrow before version 0.8.
//
// A value is never changed: a year before 1 or after 9999, a time of 24:00 or more, a Date64 that is no whole day, a
// number of more digits than its type has, an interval with nanoseconds, and text that is not UTF-8 are a
// [culvert/format.RowError] with the row and the column. Who takes the text decides about digits after the microsecond
// of a time. Buffers are read that are not compressed or compressed by zstd or LZ4.
//
// # Memory
//
// A file that is open takes about 150 bytes for each record batch, and the dictionaries that were used last. Rows that
// are read take the columns of their batch, as they are in the file, and once more decompressed. More than 1 GiB of
// either is refused. Memory is taken for what is there: a size must be possible for the bytes in the file and the way
// in which they are compressed.
//
// The reader is our own, since files come from anybody: every length is compared with what is there before memory is
// taken, all damage is an error, and there is no reflection. The format is version 1.5 of the Arrow columnar format.
package arrowread
