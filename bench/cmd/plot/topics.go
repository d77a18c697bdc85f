package main

import "strings"

// topic is a list of works that a page shows together.
type topic struct {
	name  string // in a page, and of the picture
	title string // of the picture
	works []work
}

// work is what Culvert and others do.
type work struct {
	title    string // in Markdown
	workload string // whose results have it
	of       func(*recording) *recording
	unit     string // of time or speed, or of what is allocated
	ours     variant
	peers    []variant // the limits of the machine last
}

// variant is one way to do some work: its key in the results, and what readers know it by, in Markdown.
type variant struct{ impl, name string }

// topics are all that a page can ask for.
var topics = []topic{
	{"exports", "Exporting tables to encrypted files", exports},
	{"databases", "Exporting tables of other databases", databases},
	{"parts", "Exporting a table in parts", parts},
	{"columns", "Columns for analysts", columns},
	{"masks", "Exporting masked values and subsets", masks},
	{"loads", "Filling tables", loads},
	{"filled", "Filling tables of MariaDB", filled},
	{"foreign", "Loading CSV of another program", foreign},
	{"across", "Copying tables into another system", across},
	{"whole", "Moving databases of many small tables", whole},
	{"transfers", "Copying files to another machine, encrypted", transfers},
	{"mounts", "Using the files of another machine in a mount", mounts},
	{"buckets", "Writing and reading objects of a bucket", buckets},
	{"packages", "Packages in a Go program", packages},
}

// compared is a work whose peers are given last.
func compared(
	title, workload string, of func(*recording) *recording, unit string, ours variant, peers ...variant,
) work {
	return work{title, workload, of, unit, ours, peers}
}

// culvert is the variant of a command of culvert.
func culvert(command string) variant { return variant{"culvert", "`culvert " + command + "`"} }

// samples selects those of a benchmark whose names have these keys and values, given in turn.
func samples(benchmark string, pairs ...string) func(*recording) *recording {
	return func(r *recording) *recording {
		return r.filter(func(s sample) bool { return s.name == benchmark }).where(pairs...)
	}
}

var exports = []work{
	exported("3 million rows, 499 MB of CSV, zstd", "Parallel", "csv", "zstd", "psql | zstd -3 -T0 | age"),
	exported("the same in the order of the table (`--ordered`)", "Export", "csv", "zstd", "psql | zstd -3 -T0 | age"),
	exported("the same with gzip", "Parallel", "csv", "gzip", "psql | gzip | age"),
	exported("the same as JSON Lines, zstd", "Parallel", "jsonl", "zstd", "psql, row_to_json | zstd | age"),
	compared("8 tables of 375,000 such rows", "tables", samples("Tables"), "ns/op", culvert("export"),
		variant{"pg_dump", "`pg_dump -Fd -j 4`, gzip, not encrypted"}),
}

var databases = []work{
	compared("3 million rows of MariaDB, 490 MB of CSV, zstd", "mariadb", samples("Export"), "ns/op",
		variant{"culvert", "`culvert export -j 4`"},
		variant{"mydumper", "`mydumper -t 4 -c`, gzip, not encrypted"},
		variant{"tools", "`mariadb-dump | zstd -3 -T0 | age`"}),
	compared("a million rows of SQLite to plain CSV", "sqlite", samples("Export"), "ns/op", culvert("export"),
		variant{"sqlite3", "`sqlite3 -csv`"}),
}

func exported(title, benchmark, format, compression, pipe string) work {
	return compared(title, strings.ToLower(benchmark),
		samples(benchmark, "source", "postgres", "format", format, "compression", compression), "ns/op",
		culvert("export"), variant{"tools", "`" + pipe + "`"})
}

var oneFile = variant{"file", "`culvert export`, one file"}

var parts = []work{
	compared("3 million rows in parts of 16 MiB", "parts", samples("Parts", "size", "16MiB"), "ns/op",
		culvert("export --part-size 16MiB"), oneFile),
	compared("the same with a queue in the process", "workers", samples("Workers", "queue", "embedded"), "ns/op",
		culvert("export --workers 1"), oneFile),
	compared("the same by 4 processes with a fifth of a core each", "workers", samples("Workers", "limit", "fifth"),
		"ns/op", culvert("worker"), variant{"one", "one such process"}),
}

var columns = []work{
	compared("3 million rows of PostgreSQL to Parquet, zstd", "columns",
		samples("Columns", "source", "postgres", "format", "parquet"), "ns/op", culvert("export -f parquet"),
		variant{"pg2parquet", "pg2parquet"},
		variant{"connectorx", "connectorx, pyarrow"},
		variant{"adbc", "ADBC, pyarrow"}),
	compared("the same to Arrow, zstd, not encrypted", "columns",
		samples("Columns", "source", "postgres", "format", "arrow"), "ns/op", culvert("export -f arrow"),
		variant{"adbcarrow", "ADBC, pyarrow"}),
	compared("the same, not compressed, as pyarrow does by default", "columns",
		samples("Columns", "source", "postgres", "format", "arrow-uncompressed"), "ns/op",
		culvert("export -f arrow -c none"), variant{"adbcplain", "ADBC, pyarrow"}),
	compared("a million rows of SQLite to Parquet, zstd", "columns",
		samples("Columns", "source", "sqlite", "format", "parquet"), "ns/op", culvert("export -f parquet"),
		variant{"pandas", "pandas, pyarrow"}),
	compared("the Parquet of 3 million rows into PostgreSQL", "columns", samples("Columns", "to", "postgres"), "ns/op",
		culvert("load --create"), variant{"adbc", "ADBC, JSON as text"}),
	compared("the same, with JSON as text", "columns", samples("Columns", "to", "postgres"), "ns/op",
		variant{"culvert-text", "culvert load --create --type"}, variant{"adbc", "ADBC, JSON as text"}),
}

var masks = []work{
	compared("3 million rows, three of eight columns masked", "masks", samples("Masks"), "ns/op",
		variant{"culvert", "`email`, `name` and `phone`"}, variant{"unmasked", "the same export, not masked"}),
	compared("the same, by three `hash`", "masks", samples("Masks"), "ns/op",
		variant{"culvert-hash", "three `hash`"},
		variant{"greenmask", "`greenmask dump -j 4`, three `Hash`, pgzip, not encrypted"}),
	compared("a hundredth of 12 tables with 3 million rows", "subset", samples("Subset"), "ns/op",
		culvert("export --job"),
		variant{"greenmask", "`greenmask dump -j 4`, pgzip, not encrypted"},
		variant{"psql", "`psql`, the same conditions in SQL, plain CSV"}),
}

var loads = []work{
	loaded("3 million rows into PostgreSQL, one connection",
		samples("Load", "to", "postgres", "connections", "1"), culvert("load"), decrypted("psql")),
	loaded("the same into a table that is made (`--create`)", samples("Load", "to", "postgres", "connections", "1"),
		variant{"culvert-create", "`culvert load --create`"}, decrypted("psql")),
	loaded("the same into an empty table, four connections",
		samples("Load", "to", "postgres", "connections", "4"), culvert("load"), decrypted("psql"),
		variant{"timescaledb-parallel-copy", "`age -d | zstd -d | timescaledb-parallel-copy`"}),
	loaded("8 tables with indexes, made and loaded", samples("Load", "to", "postgres", "tables", "8"),
		culvert("load --create"), variant{"pg_restore", "`pg_restore -j 4`, gzip, not encrypted"}),
	loaded("8 tables copied to another server", samples("Copy", "tables", "8"),
		variant{"culvert", "`culvert copy`, verified"},
		variant{"pgcopydb", "`pgcopydb copy table-data`, not verified"}),
	loaded("a million rows into SQLite", samples("Load", "to", "sqlite"), culvert("load"), decrypted("sqlite3")),
}

var filled = []work{
	loaded("a million rows into a table of MariaDB with a key, four connections", samples("Load", "to", "mariadb"),
		culvert("load -j 4"), decrypted("mariadb-import")),
	loaded("the same by one connection", samples("Load", "to", "mariadb"),
		variant{"culvert-one", "`culvert load`"}, decrypted("mariadb-import")),
}

var foreign = []work{
	compared("6 million rows, 1 GB, with semicolons in latin1, into PostgreSQL", "foreign",
		samples("Foreign", "to", "postgres"), "ns/op", variant{"culvert-j4", "`culvert load --csv -j 4`"},
		variant{"tools", "`iconv | psql \\copy`"}),
	compared("the same by one connection", "foreign", samples("Foreign", "to", "postgres"), "ns/op",
		culvert("load --csv"), variant{"tools", "`iconv | psql \\copy`"}),
	compared("the same into SQLite", "foreign", samples("Foreign", "to", "sqlite"), "ns/op", culvert("load --csv"),
		variant{"tools", "`iconv | sqlite3 .import`"}),
}

var across = []work{
	copied("3 million rows of MariaDB into PostgreSQL, with keys and indexes", "mariadb", "copy -j 2"),
	copied("a million rows of SQLite into PostgreSQL", "sqlite", "copy"),
}

var whole = []work{
	small("500 tables of PostgreSQL, with the schema, exported",
		[]string{"postgres", "export", "socket", "tables", "500"}, "export --all -j 4",
		variant{"pg_dump", "`pg_dump -Fd -j 4`, gzip, not encrypted"}),
	small("the same, made and loaded", []string{"postgres", "load", "socket", "tables", "500"},
		"load --create -j 4", variant{"pg_restore", "`pg_restore -j 4`"}),
	small("50 such tables over a round trip of 20 ms, exported", []string{"postgres", "export", "20ms", "tables", "50"},
		"export --all -j 4", variant{"pg_dump", "`pg_dump -Fd -j 4`, gzip, not encrypted"}),
	small("the same, made and loaded", []string{"postgres", "load", "20ms", "tables", "50"},
		"load --create -j 4", variant{"pg_restore", "`pg_restore -j 4`"}),
	small("300 tables with indexes, views, functions and triggers, copied",
		[]string{"postgres", "copy", "socket", "schema", "300"}, "copy --all --create -j 4",
		variant{"pgcopydb", "`pgcopydb clone`, not verified"}),
	small("500 tables of MariaDB, exported", []string{"mariadb", "export", "socket", "tables", "500"},
		"export --all -j 4", variant{"mydumper", "`mydumper -t 4 -c`, gzip, not encrypted"}),
	small("the same, made and loaded", []string{"mariadb", "load", "socket", "tables", "500"},
		"load --create -j 4", variant{"mariadb-import", "`mariadb`, then `mariadb-import --local`"}),
}

// small is a work on tables of a hundred rows. What is given are the source, the work, the path, and what is counted.
func small(title string, of []string, command string, peer variant) work {
	return compared(title, "small", samples("Small", "source", of[0], "work", of[1], "path", of[2], of[3], of[4]),
		"ns/op", culvert(command), peer)
}

// copied is a copy to another system.
func copied(title, from, command string) work {
	return compared(title, "across", samples("Copy", "from", from), "ns/op",
		variant{"culvert", "`culvert " + command + "`, verified"}, variant{"pgloader", "`pgloader`, not verified"})
}

// decrypted is a pipeline that ends in a tool of a database.
func decrypted(tool string) variant { return variant{"tools", "`age -d | zstd -d | " + tool + "`"} }

func loaded(title string, of func(*recording) *recording, ours variant, peers ...variant) work {
	return work{title, "load", of, "ns/op", ours, peers}
}

var (
	scp   = variant{"scp", "`scp`, aes128-gcm"}
	rsync = variant{"rsync", "`rsync -W` over ssh"}
	sshfs = variant{"sshfs", "`sshfs`, aes128-gcm"}
)

var transfers = []work{
	pulled("1 GiB over loopback, verified and synced", samples("Pull", "path", "loopback", "files", "1"), scp, rsync,
		variant{"cp-sync", "`cp` and `sync`, no network"},
		variant{"limit", "a copy that only reads, seals, sends, opens, writes"}),
	pulled("10,000 files of 4 KiB, the same way", samples("Pull", "path", "loopback", "files", "10000"), rsync, scp),
	pulled("256 MiB over a round trip of 24 ms", samples("Pull", "path", "24ms"), scp),
	pulled("64 MiB over a round trip of 200 ms", samples("Pull", "path", "200ms"), scp),
}

func pulled(title string, of func(*recording) *recording, peers ...variant) work {
	return work{title, "transfer", of, "ns/op", culvert("pull"), peers}
}

var mounts = []work{
	mounted("1 GiB read by `dd`, cold", samples("MountRead", "cache", "cold"), "MB/s", sshfs,
		variant{"gofuse", "go-fuse, from memory"}),
	compared("499 MB of CSV, read from an encrypted export", "fusefs", samples("MountDecrypt"), "MB/s",
		variant{"culvert-decrypt", "`culvert mount --decrypt`"},
		variant{"tools", "`age -d | zstd -d` of a local file"}),
	mounted("`grep -r` in 10,000 files of 4 KiB", samples("MountGrep"), "ns/op", sshfs),
	mounted("16,384 reads of 4 KiB at random, 16 threads", samples("MountRandom"), "reads/s", sshfs),
	mounted("1 GiB written, and read on the other side", samples("MountWrite"), "MB/s", sshfs),
}

func mounted(title string, of func(*recording) *recording, unit string, peers ...variant) work {
	return work{title, "fusefs", of, unit, culvert("mount"), peers}
}

var buckets = []work{
	inBucket("3 million rows into an encrypted object", "export", variant{"culvert", "`culvert export` to the bucket"},
		variant{"aws", "`psql | zstd | age | aws s3 cp`"}, variant{"rclone", "`psql | zstd | age | rclone rcat`"},
		variant{"culvert-file", "`culvert export` to a file"}),
	inBucket("an object of 1 GiB to a verified file", "pull", culvert("pull"),
		variant{"s5cmd", "`s5cmd cp`"}, variant{"rclone", "`rclone copyto`"}, variant{"aws", "`aws s3 cp`"}),
	inBucket("an encrypted object to 1 GiB of CSV", "cat", culvert("cat"),
		variant{"s5cmd", "`s5cmd cat | age -d | zstd -d`"}, variant{"aws", "`aws s3 cp | age -d | zstd -d`"}),
	inBucket("the first byte of the last hundredth of that CSV", "tail", culvert("mount"),
		variant{"aws", "`aws s3 cp | age -d | zstd -d`"}),
}

func inBucket(title, op string, ours variant, peers ...variant) work {
	return work{title, "buckets", samples("Bucket", "op", op, "store", "seaweedfs"), "ns/op", ours, peers}
}

var packages = []work{
	sealed("`agefile` encrypts 256 MiB, 4 cores", "encrypt", "4"),
	sealed("the same, one core", "encrypt", "1"),
	sealed("`agefile` decrypts it, 4 cores", "decrypt", "4"),
	sealed("the same, one core", "decrypt", "1"),
	streamed("`secureconn`: 2 GiB over loopback, writes of 64 KiB", "1", "65536"),
	streamed("the same, writes of 1 MiB", "1", "1048576"),
	streamed("the same, four connections", "4", "1048576"),
	compared("`wal`: durable entries of 128 bytes, 64 goroutines", "wal",
		samples("WAL", "sync", "each", "writers", "64", "group", ""), "ns/op",
		variant{"culvert", "`wal`"}, variant{"pebble", "Pebble's log"}),
	compared("the same, one goroutine", "wal", samples("WAL", "sync", "each", "writers", "1", "group", ""), "ns/op",
		variant{"culvert", "`wal`"}, variant{"pebble", "Pebble's log, in recycled space"},
		variant{"tidwall", "`tidwall/wal`"}, variant{"floor", "a loop of pwrite and fdatasync"}),
	compared("`export`: 10,000 rows to a text file", "todos", samples("Todos"), "ns/op",
		variant{"culvert", "`export`"}, variant{"gorm-pooled", "GORM, pooled writer"}),
	compared("allocations for it", "todos", samples("Todos"), "allocs/op",
		variant{"culvert", "`export`"}, variant{"gorm-pooled", "GORM, pooled writer"}),
	compared("`export`: a million rows, CSV, gzip, encrypted", "cipherio", samples("Cipher", "rows", "1m"), "ns/op",
		variant{"culvert", "`export`"}, variant{"cipher", "`encoding/csv`, `compress/gzip`, `crypto/cipher`"}),
	compared("`cipherio`: memory allocated for 10 million rows", "cipherio", samples("Cipher", "rows", "10m"), "B/op",
		variant{"cipherio", "`cipherio`"}, variant{"cipher", "`crypto/cipher`"}),
	compared("`bytebuf`: write 5 bytes, take a string", "bytebuf", samples("Buffer", "bytes", "5"), "ns/op",
		variant{"bytebuf", "`bytebuf.Buffer`"}, variant{"bytes", "`bytes.Buffer`"}),
}

func sealed(title, op, procs string) work {
	return compared(title, "agefile", samples("Age", "op", op, "from", "memory", "procs", procs), "MB/s",
		variant{"culvert", "`agefile`"}, variant{"age", "filippo.io/age"}, variant{"limit", "the cipher alone"})
}

func streamed(title, connections, write string) work {
	return compared(title, "secureconn", samples("Stream", "conns", connections, "write", write), "MB/s",
		variant{"culvert", "`secureconn`"}, variant{"tls", "`crypto/tls`"}, variant{"tcp", "TCP without encryption"})
}
