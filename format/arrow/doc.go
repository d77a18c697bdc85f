// Package arrow writes the rows of a source as Apache Arrow IPC: columns that DuckDB, Polars, pandas and others take
// into memory as they are.
//
// A [Format] is given to an export in place of [culvert/format.CSV]:
//
//	plan := export.Plan{Format: arrow.Format{}, Compression: export.None, Recipients: recipients}
//
// It makes a file, with the index that random access needs at its end, or a stream. The compression of the plan is
// none, since each buffer is compressed by itself, with zstd. Without that, a reader may map the file into memory and
// use its columns in place. Encryption is age around the file, as of all formats.
//
// Package [culvert/format] lists the types of columns, and which values do not fit them. A column is nullable unless it
// is NOT NULL in the database.
//
// # How a file is made
//
// The encoder makes a record batch of each batch of rows, about 1 MiB, on all cores. It has the bytes that are in the
// file, in a message whose metadata is a flatbuffer. The assembler writes them as they come, and notes where they
// begin, in 24 bytes each, for the index at the end. A batch with rows of more than 4 MiB passes through in pieces.
//
// The format is version 1.5 of the Arrow columnar format, with metadata of version 5.
package arrow
