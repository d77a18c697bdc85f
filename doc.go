// Package culvert gets tables out of a database, encrypted from the first byte, in constant memory, and back into one.
// It has no code; this page is a map of the packages that do.
//
//	 database          rows           bytes          frames          chunks
//	┌──────────┐   ┌───────────┐   ┌──────────┐   ┌──────────┐   ┌───────────┐
//	│ source   │──▶│  format   │──▶│ compress │──▶│ agefile  │──▶│   place   │
//	│ postgres │   │ csv jsonl │   │ zstd gzip│   │ age v1   │   │ directory │
//	│ sqlite … │   │ text      │   │ seekable │   │ parallel │   │ or bucket │
//	└──────────┘   └───────────┘   └──────────┘   └──────────┘   └───────────┘
//	       └────────────────  export  ────────────────┘
//
// Another machine pulls the file as it is, or mounts the directory that holds it:
//
//	 chunks           records             bytes
//	┌─────────────┐  ┌──────────────┐  ┌─────────────┐
//	│ fileservice │─▶│  secureconn  │─▶│ pull, fusefs│
//	│ a tree      │  │  encrypted   │  │ file, mount │
//	└─────────────┘  └──────────────┘  └─────────────┘
//
// Files fill the tables of a database, and are verified before anything is committed:
//
//	 chunks          frames          text           blocks of rows
//	┌──────────┐   ┌───────────┐   ┌──────────┐   ┌──────────┐
//	│ agefile  │──▶│ compress  │──▶│   load   │──▶│   sink   │
//	└──────────┘   └───────────┘   └──────────┘   └──────────┘
//
// Data flows from left to right, and each stage knows only its neighbours. Each package can be used without the others:
//
//   - [culvert/source] defines sources, which read rows as raw bytes into reused batches. [culvert/sqldb] is one for
//     any database/sql driver, and [culvert/gormdb] for queries of GORM.
//   - [culvert/postgres], [culvert/mysql], which is for MariaDB too, and [culvert/sqlite] read and fill a database.
//   - [culvert/format] turns batches of rows into CSV, JSON Lines or lines of a template, and reads the first two.
//   - [culvert/agefile] writes and reads age files on all cores.
//   - [culvert/export] combines them: it writes each table to a compressed and encrypted file, and reads such files.
//     [culvert/manifest] lists the files of several tables.
//   - [culvert/workers] exports one database by many processes, on any number of machines.
//   - [culvert/load] fills tables with such files, with CSV and JSON Lines of other programs, or from another database.
//     [culvert/sink] defines sinks, the databases that it fills.
//   - [culvert/place] defines places, which hold files: a directory, a server, or a bucket ([culvert/place/bucket]).
//   - [culvert/secureconn] encrypts a connection between two peers that know each other by fingerprint.
//   - [culvert/fileservice] serves a tree of files over such connections, to a client that is an io/fs.FS.
//   - [culvert/fusefs] mounts any such file system on Linux.
//   - [culvert/wal] is a write-ahead log.
//   - [culvert/bytebuf] replaces bytes.Buffer, and [culvert/cipherio] replaces the stream writer and reader of
//     crypto/cipher, with less garbage.
//
// The program is in culvert/cmd/culvert.
//
// The number of workers and the size of their buffers determine the memory of an export; it does not grow with the
// table. Each stage has a unit with its own name: rows are collected in batches, each batch is compressed into a frame,
// and frames are sealed in chunks of 64 KiB.
package culvert
