// Package culvert gets tables out of a database, encrypted from the first byte, in constant memory. It holds no code:
// it is the map of the packages that do.
//
//	 database          rows           bytes          frames          chunks
//	┌──────────┐   ┌───────────┐   ┌──────────┐   ┌──────────┐   ┌───────────┐
//	│ source/* │──▶│  format   │──▶│ compress │──▶│ agefile  │──▶│   file    │
//	│ postgres │   │ csv jsonl │   │ zstd gzip│   │ age v1   │   │ or stdout │
//	│ sqlite … │   │ text      │   │ seekable │   │ parallel │   │           │
//	└──────────┘   └───────────┘   └──────────┘   └──────────┘   └───────────┘
//	       └────────────────  export  ────────────────┘
//
// On another machine it is pulled as it is, or mounted there:
//
//	 chunks           records             bytes
//	┌─────────────┐  ┌──────────────┐  ┌─────────────┐
//	│ fileservice │─▶│  secureconn  │─▶│ pull, fusefs│
//	│ a tree      │  │  encrypted   │  │ file, mount │
//	└─────────────┘  └──────────────┘  └─────────────┘
//
// Data flows one way, from left to right, and no stage knows the one after the next. Each package is of use without the
// others:
//
//   - [culvert/source] says what a place that rows come from looks like: raw bytes in reused batches. PostgreSQL is
//     in [culvert/source/postgres], MySQL and MariaDB in [culvert/source/mysql], SQLite in [culvert/source/sqlite], any
//     database/sql driver in [culvert/source/sqldb], and the queries of GORM in [culvert/source/gormdb].
//   - [culvert/format] turns batches of rows into CSV, JSON Lines or lines of a template.
//   - [culvert/agefile] writes and reads age files on all cores.
//   - [culvert/export] joins them: rows in, a compressed and encrypted file for each table out, and back to the text.
//   - [culvert/place] is where files lie: a directory, or a server.
//   - [culvert/secureconn] encrypts a connection between two peers that know each other by fingerprint.
//   - [culvert/fileservice] serves a tree of files over such connections, to a client that is an io/fs.FS.
//   - [culvert/fusefs] shows any such file system as a directory of Linux.
//   - [culvert/bytebuf] takes the place of bytes.Buffer, and [culvert/cipherio] that of the stream writer and reader of
//     crypto/cipher; both spare the garbage collector.
//
// The program is in culvert/cmd/culvert.
//
// Memory is fixed when an export starts, by the number of workers and the size of their buffers; it does not grow with
// the table. The unit of each stage has a name of its own: a row of a table goes into a batch, batches become a frame
// of compressed bytes, and frames are sealed in chunks of 64 KiB.
package culvert
