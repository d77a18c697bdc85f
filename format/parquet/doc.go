// Package parquet writes the rows of a source as Apache Parquet: columns for DuckDB, Polars, pandas and Spark.
//
// A [Format] is given to an export in place of [culvert/format.CSV]:
//
//	plan := export.Plan{Format: parquet.Format{}, Compression: export.None, Recipients: recipients}
//
// The compression is none, since Parquet compresses each page by itself, with zstd: a reader fetches only the columns
// and pages that it needs. Encryption is age around the file, as of all formats.
//
// # Types
//
// Package [culvert/format] lists the types of columns, and which values do not fit them. They are stored as:
//
//	INTEGER, INT32, DATE, DECIMAL of up to 9 digits   INT32
//	INT64, TIME, TIMESTAMP, DECIMAL of up to 18       INT64
//	UUID, DECIMAL of up to 38                         FIXED_LEN_BYTE_ARRAY
//	STRING, JSON, and binary data                     BYTE_ARRAY
//
// A TIME is in no zone, and a TIMESTAMP of an instant is adjusted to UTC (isAdjustedToUTC).
//
// # How a file is made
//
// Two parts share the work, so that it is done on all cores and in bounded memory:
//
//	 batches, on all cores                                in order
//	┌─────────┐ encoder ┌───────────────────────────┐ assembler ┌─────────────────────────────────────┐
//	│ ~1 MiB  │────────▶│ block: a page of each     │──────────▶│ row group: by column, dictionary and│
//	│ of rows │         │ column, compressed; or    │           │ pages; indexes; …; footer           │
//	└─────────┘         │ ids and a small dictionary│           └─────────────────────────────────────┘
//	                    └───────────────────────────┘
//
// The encoder makes a block of each batch. In it, a column is a compressed page; or, if at least half of its values
// repeat, their ids in a small dictionary. Numbers that are close to their neighbours are written as differences. The
// assembler keeps the pages of a row group until they have 128 MiB, or what RowGroup says, or a quarter of that
// compressed. It brings the ids of all blocks to one dictionary for each column. A column whose dictionary exceeds 1
// MiB, or the 16 MiB that all have together, is written without one from there on. Then it writes the row group. Rows
// of more than 4 MiB are row groups of their own, which pass through in pieces.
//
// The footer has the number of NULLs and the least and the greatest value of each column of a row group. Before it is
// the index of pages, which has the same of each page, and where it is. Bounds of long texts are cut at 64 bytes. If
// the index becomes larger than 16 MiB, in a file of some 40 GB of rows, it is left out.
//
// So a file takes up to a quarter of a row group of memory for its pages, which is 32 MiB, 16 MiB for dictionaries, 16
// MiB for the index, and about 150 bytes for each column of each row group, for the footer: 9 MB for a terabyte of
// values in 8 columns.
//
// # Bloom filters
//
// A bloom filter of a column says of most values that a row group does not have them, so that a program which looks for
// one, such as DuckDB, does not read the row group. It is of use for columns whose values are not in order, such as
// UUIDs and addresses of mail: for others, the bounds do. The encoder hashes the values; the assembler has a filter of
// up to 1 MiB for each column, or less if all together would have more than 16 MiB. At the end of a row group, it
// folds the filter to the least size with 10 bits for each different value: a filter is wrong about less than 1 % of
// the values that a row group does not have. A row group ends when one of its filters is full, with some 840,000
// different values.
//
// The format is version 2.12 of apache/parquet-format: data pages of version 1, PLAIN, RLE_DICTIONARY
// and DELTA_BINARY_PACKED.
package parquet
