// Package parquetread reads Apache Parquet: the files of culvert, and those of pyarrow, DuckDB, Polars and Spark.
//
// A [Format] opens a file that is read at any place. Its rows are read group by group, each by a goroutine of its own
// if the caller wants:
//
//	file, err := parquetread.Format{}.Open(src, size)
//	…
//	for group := range file.Groups() {
//		rows, err := file.Rows(group, []format.Field{{}, {Skip: true}, {}}) // two of three columns
//		…
//		for err = rows.Next(&batch); err == nil; err = rows.Next(&batch) {
//			…
//		}
//	}
//
// Package load takes it to fill tables. Only the columns that are asked for are fetched.
//
// # Types
//
// Values become the text that PostgreSQL prints, in UTC:
//
//	BOOLEAN                                 bool
//	INT32, INT64, INTEGER                   int16, int32 or int64; the next larger one without a sign
//	INT64, INTEGER(64, no sign)             decimal(20,0)
//	FLOAT16, FLOAT, DOUBLE                  float32, float64
//	DECIMAL(p,s), however it is stored      decimal(p,s), of up to 1,000 digits
//	DATE, TIME, TIMESTAMP                   date, time, timestamp; instant if isAdjustedToUTC
//	INT96                                   timestamp, of nanoseconds
//	INTERVAL                                interval
//	STRING, ENUM                            string
//	JSON, UUID                              json, uuid
//	BYTE_ARRAY and all others               bytes
//	LIST of one of these                    an array, as {1,2,NULL}
//	MAP, a structure, LIST of these         json: an object, or an array
//
// The annotations of older files stand for the same types. A value is never changed: a year before 1 or after 9999, a
// time of 24:00 or more, a number of more digits than its type has, and text that is not UTF-8 are a
// [culvert/format.RowError] with the row and the column. Who takes the text decides about digits after the microsecond.
//
// All encodings but the old BIT_PACKED are read, and pages that are not compressed or compressed by zstd, snappy, gzip
// or LZ4_RAW. LZO, brotli, the LZ4 of Hadoop, the encryption of Parquet, VARIANT and columns in other files are refused
// by name.
//
// # Memory
//
// The footer is in memory: up to 256 MiB, about 100 bytes for each column of each row group. Rows that are read take
// for each of their columns
//
//	256 KiB, or a compressed page if that is larger
//	+ a page + its dictionary, which most programs make of 1 MiB each
//	+ 8 bytes for each value of the dictionary
//	+ about 50 KiB for 1,024 values
//
// A page that is larger than 1 GiB is refused, and so are pages that would together take more than 1.1 GiB and 4 MiB
// for each column. Memory is taken for what is there: a size must be possible for the bytes in the file and the way in
// which they are compressed.
//
// The reader is our own, since files come from anybody: every length is compared with what is there before memory is
// taken, all damage is an error, and there is no reflection. The format is version 2.12 of apache/parquet-format.
package parquetread
