package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const example = "testdata/2026-01-31-example"

// drawn are the texts that each figure must have, among them its finding.
var drawn = map[string][]string{
	"agefile": {
		"age files on 4 cores: encrypt 3.9 ×, decrypt 6.2 × as fast as age", "encrypt, 4 cores", "decrypt, 1 core",
		"age", "Culvert", "machine's limit", "1,881 MB/s", "7,267 MB/s", "3.9 × as fast", "2,000", "8,000",
		"in memory  ·  example  ·  4 cores  ·  2026-01-31  ·  medians and quartiles of 3 rounds",
	},
	"parallel": {
		"Table to encrypted file: 2.3 × as fast with zstd, 6.0 × as fast with gzip", "psql | gzip | age",
		"JSON Lines",
	},
	"export": {
		"Table to encrypted file: 1.2 × as fast with zstd, 4.4 × as fast with gzip", "psql | zstd | age",
		"psql | gzip | age", "culvert export", "13.3 s", "3.03 s", "  ·  4.4 × as fast", "0", "5 s", "10 s",
	},
	"tables": {
		"Eight tables at once: 2.0 × as fast as pg_dump", "pg_dump, gzip", "Culvert, zstd, encrypted",
		"Culvert, gzip, encrypted", "3.20 s", "1.60 s",
	},
	"parts": {
		"Table in parts of 16 MiB: 0.95 × as fast as in one file", "culvert export, one file",
		"culvert export --part-size 16MiB", "2.20 s", "2.32 s",
	},
	"workers": {
		"Embedded queue: 0.96 × as fast as one file; four workers: 3.7 × as fast as one", "one process",
		"parts of 16 MiB, embedded queue", "workers with a fifth of a core each", "4 workers", "30.0 s", "8.10 s",
	},
	"buckets-memory": {
		"20 × the object, 1.1 × the memory to write it: 93.5 MiB for 20.0 GiB", "culvert encrypt -o s3://…  93.5 MiB",
		"culvert cat s3://…  84.9 MiB",
		"a store on the same machine  ·  example  ·  4 cores  ·  2026-01-31  ·  one round",
	},
	"sqlite": {"SQLite table to CSV: 1.7 × as fast as sqlite3 -csv", "sqlite3 -csv", "1.08 s", "640 ms"},
	"memory": {
		"100 × the rows, 0.95 × the memory: 47.3 MiB for 10 million rows", "CSV  47.3 MiB", "JSON Lines  47.3 MiB",
		"4 connections  66.8 MiB", "0", "60 MiB", "100,000", "1 million", "10 million",
	},
	"load": {
		"Encrypted file to table: one connection 1.1 ×, four connections 2.5 × as fast as psql",
		"3 million rows into PostgreSQL, one connection", "age -d | zstd -d | psql", "culvert load --create",
		"timescaledb-parallel-copy", "eight tables with indexes, four connections", "pg_restore -j 4, not encrypted",
		"pgcopydb copy table-data", "culvert copy --no-verify", "9.00 s",
	},
	"load-others": {
		"Encrypted file to table: SQLite 1.5 ×, MariaDB 1.1 × as fast as with its own tool",
		"age -d | zstd -d | sqlite3", "age -d | zstd -d | mariadb-import", "a million rows into SQLite", "7.20 s",
	},
	"load-memory": {
		"10 × the rows, 1.1 × the memory: 70.1 MiB for 30 million rows", "4 connections  70.1 MiB",
		"into PostgreSQL, zstd, encrypted  ·  example  ·  4 cores  ·  2026-01-31  ·  medians and quartiles of 3 rounds",
	},
	"cipherio-time": {
		"CSV, gzip, encrypt, on all cores: 4.8 × as fast as crypto/cipher", "crypto/cipher", "map of buffers + bufio",
		"cipherio", "Culvert, authenticated", "1.68 s", "350 ms",
	},
	"cipherio-bytes": {
		"Encrypting 10 million rows: 835 kB allocated, not 79.3 MB", "crypto/cipher  79.3 MB", "cipherio  835 kB",
		"100 kB", "100 MB", "1,000", "10 million",
	},
	"cipherio-allocs": {
		"Encrypting 10 million rows: 61 allocations, not 327,000", "crypto/cipher  327,000", "cipherio  61",
		"1,000,000",
	},
	"todos-time": {
		"10,000 rows to a text file: 4.2 × as fast as GORM", "GORM, Sprintf", "GORM, pooled", "pgconn alone",
		"29.9 ms",
	},
	"todos-bytes":  {"10,000 rows to a text file: 70.0 kB allocated, not 4.08 MB", "9.06 MB", "10 kB", "1 MB"},
	"todos-allocs": {"10,000 rows to a text file: 30 allocations, not 119,623", "209,503", "8", "100,000"},
	"bytebuf-time": {
		"Write and String: 1.1 to 3.1 × as fast as bytes.Buffer", "0 bytes", "1024 bytes", "bytes.Buffer",
		"strings.Builder", "bytebuf.Buffer", "8.20 ns", "1.14 µs",
	},
	"bytebuf-bytes": {
		"Write and String of 1024 bytes: 1.02 kB allocated, not 2.05 kB", "0 B", "5 B", "69 B", "0", "1 kB",
	},
	"bytebuf-allocs": {"Write and String of 1024 bytes: 1 allocation, not 2", "0", "1", "2"},
	"wal-writers": {
		"Durable entries from 64 goroutines: 3.0 × as fast as pebble", "1 writer", "16 writers", "disk's floor",
		"pebble LogData", "culvert/wal",
	},
	"wal-percentiles": {
		"16 goroutines, synced: the slowest 1 of 100 is 3.0 × as fast as pebble's", "10", "100", "1,000", "10,000",
	},
	"wal-throughput-synced": {
		"Synced, unbuffered is 1.2 × as fast for 1 entry, 0.80 × for 100", "10 entries an append", "bufio.Writer",
		"line by line", "one write", "culvert/wal",
	},
	"wal-throughput": {
		"Not synced, unbuffered is 1.2 × as fast for 1 entry, 0.80 × for 100", "100 entries an append",
	},
	"wal-latency-synced": {
		"Synced, an append of one entry takes 220 µs, in culvert/wal 110 µs", "bufio.Writer", "culvert/wal",
	},
	"wal-latency": {
		"Not synced, an append of one entry takes 4.20 µs, in culvert/wal 2.10 µs", "1 entry an append",
	},
	"secureconn": {
		"An encrypted connection: 1.6 ×, 1.4 ×, 1.2 × as fast as crypto/tls", "writes of 64 KiB", "crypto/tls",
		"secureconn",
	},
	"secureconn-writes": {
		"Beside crypto/tls: 1.6 × with writes of 1 MiB, 1.0 × with 4 KiB", "bytes in one Write",
		"TCP, not encrypted  5,000",
	},
	"secureconn-pipe": {
		"A secure connection over net.Pipe: 3.0 × as fast without copies", "blocks of 4 MiB", "before, with copies",
	},
	"secureconn-layers": {
		"An encrypted connection takes 1.5 × the CPU time of its layers alone", "+ sealing", "+ opening", "secureconn",
	},
	"fileservice": {
		"Files by fileservice, encrypted: 1.5 × as fast as over crypto/tls", "1 connection", "4 connections",
		"minimal protocol over secureconn", "3,000 MB/s",
	},
	"fileservice-fetch": {
		"Calls for a few blocks: 1.2 × as fast as for equal parts", "1 call for all blocks", "8 calls for 16 blocks",
		"2,400 MB/s",
	},
	"buckets-export": {
		"Table to encrypted object: 1.7 × as fast as with aws s3 cp", "seaweedfs", "versitygw", "culvert export",
		"culvert export to a file", "psql | zstd | age | rclone rcat", "8 s",
	},
	"buckets-pull": {"Object to verified file: 0.77 × as fast as s5cmd", "culvert pull", "rclone copyto", "4 s"},
	"buckets-cat": {
		"Encrypted object to text: 2.4 × as fast as with aws s3 cp", "culvert cat", "s5cmd cat | age | zstd", "1.5 s",
	},
	"buckets-tail": {"The end of an encrypted object: 31 × as fast as with aws s3 cp", "culvert mount --decrypt"},
	"transfer": {
		"A large file, verified and on the disk: 4.0 × as fast as scp", "rsync -W over ssh", "cp -r, sync",
		"culvert pull", "1,200 MB/s",
	},
	"transfer-files": {
		"10,000 small files, each of them on the disk: 5.0 × as fast as scp", "culvert pull", "800 ms",
	},
	"transfer-paths": {
		"Over long paths: 5.0 ×, 15 ×, 4.0 × as fast as scp", "round trip of 24 ms", "round trip of 200 ms",
		"round trip of 24 ms, 1% lost",
	},
	"transfer-memory": {
		"10 × the bytes, 1.0 × the memory: culvert pull takes 61.0 MiB for 10.0 GiB", "culvert pull  61.0 MiB",
		"culvert serve  70.0 MiB",
	},
	"fusefs": {
		"A mount: read 5.0 ×, written 3.0 × as fast as sshfs", "read for the first time", "sshfs, tuned",
		"go-fuse, from memory", "written, and read by the other side", "750 MB/s",
	},
	"fusefs-again": {"Read again through a mount: 0.90 × as fast as the file itself", "ext4, page cache"},
	"fusefs-files": {
		"Through a mount: ls 3.0 ×, grep 3.5 ×, random reads 4.0 × as fast as sshfs", "ls -lR, 10,000 files",
		"16,384 reads of 4 KiB, 16 threads",
	},
	"fusefs-decrypt": {
		"An encrypted export, read through a mount: 1.5 × as fast as age and zstd", "age -d | zstd -d",
		"mount --decrypt", "the same, not encrypted",
	},
	"fusefs-memory": {
		"10 × the bytes, 1.0 × the memory: culvert mount takes 90.0 MiB for 10.0 GiB", "culvert mount  90.0 MiB",
	},
	"layers": {
		"From memory to a mount, encrypted: 1.6 × crypto/tls, 4.0 × scp, 5.0 × sshfs", "in memory, through net.Pipe",
		"over loopback TCP", "by fileservice, into memory", "copied to the disk", "read through a mount",
		"not encrypted", "secureconn", "culvert mount", "1.5 × as fast", "100", "10,000",
	},
}

func TestFigures(t *testing.T) {
	out := t.TempDir()
	var stdout strings.Builder
	if err := run(&stdout, []string{"-o", out, example}); err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		t.Run(f.name, func(t *testing.T) {
			checkPNG(t, filepath.Join(out, f.name+".png"))
			got := textsOf(t, filepath.Join(out, f.name+".svg"))
			want := drawn[f.name]
			if len(want) == 0 {
				t.Fatal("the test does not know what the figure must have")
			}
			for _, text := range want {
				if !slices.Contains(got, text) {
					t.Errorf("there is no %q in it, but %q", text, got)
				}
			}
			if !strings.Contains(stdout.String(), f.name+": "+want[0]) {
				t.Errorf("the program does not say %q:\n%s", want[0], &stdout)
			}
		})
	}
	for name, want := range costsDrawn {
		checkTexts(t, filepath.Join(out, name), want)
	}
}

// checkPNG expects a picture of 800 pixels of a browser, at two dots each.
func checkPNG(t *testing.T, name string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	size := picture.Bounds().Size()
	if size.X != 1600 || size.Y < 300 || size.Y > 1800 {
		t.Errorf("it has %v pixels, want 1600 of width and about as many of height", size)
	}
	var background, ours int
	for y := range size.Y {
		for x := range size.X {
			switch r, g, b, a := picture.At(x, y).RGBA(); {
			case r == 0xffff && g == 0xffff && b == 0xffff && a == 0xffff:
				background++
			case byte(r>>8) == oursColor.R && byte(g>>8) == oursColor.G && byte(b>>8) == oursColor.B:
				ours++
			}
		}
	}
	if all := size.X * size.Y; background < all/2 || ours < all/500 {
		t.Errorf("of %d pixels %d are white and %d in our colour", all, background, ours)
	}
}

// textsOf gives all texts of an SVG picture.
func textsOf(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var texts []string
	decoder := xml.NewDecoder(file)
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var text struct {
				X      float64 `xml:"x,attr"`
				Length float64 `xml:"textLength,attr"`
				Words  string  `xml:",chardata"`
			}
			if err := decoder.DecodeElement(&text, &start); err != nil {
				t.Fatal(err)
			}
			if text.X < 0 || text.Length <= 0 || text.X+text.Length > width {
				t.Errorf("%q goes from %v to %v, beyond the picture", text.Words, text.X, text.X+text.Length)
			}
			texts = append(texts, text.Words)
		}
	}
}

func TestSameBytes(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, out := range []string{first, second} {
		if err := run(io.Discard, []string{"-o", out, example}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(first)
	if err != nil || len(entries) != 2*(len(figures)+len(costFigures)) {
		t.Fatalf("there are %d pictures, want %d; %v", len(entries), 2*(len(figures)+len(costFigures)), err)
	}
	for _, entry := range entries {
		a, err1 := os.ReadFile(filepath.Join(first, entry.Name()))
		b, err2 := os.ReadFile(filepath.Join(second, entry.Name()))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs from one run to the next", entry.Name())
		}
	}
}

// TestMissingVariants has recordings that lack what a figure is about: it is left out.
func TestMissingVariants(t *testing.T) {
	for _, f := range figures {
		r, err := readRecording(recordingFile(t, "BenchmarkOther/impl=culvert 1 5 ns/op\n"))
		if err != nil {
			t.Fatal(err)
		}
		if f.draw(r) != nil {
			t.Errorf("%s is drawn of what does not belong to it", f.name)
		}
	}
}

func TestRefusals(t *testing.T) {
	broken := t.TempDir()
	malformed := []byte("BenchmarkAge 1 x ns/op\n")
	if err := os.WriteFile(filepath.Join(broken, "agefile.txt"), malformed, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"-o is for one directory": {"-o", t.TempDir(), example, example},
		"nothing":                 {t.TempDir()},
		"agefile.txt:1":           {broken},
	} {
		if err := run(io.Discard, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error for %q is %v, want %q in it", args, err, want)
		}
	}
}

// TestNewestResults goes to a directory with some results and calls the program without arguments.
func TestNewestResults(t *testing.T) {
	samples, err := os.ReadFile(filepath.Join(example, "sqlite.txt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := run(io.Discard, nil); err == nil {
		t.Error("no error without results")
	}
	for _, dir := range []string{"results/2026-02-01-a", "results/2026-01-31-b"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sqlite.txt"), samples, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(io.Discard, nil); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob("results/*/plots/*")
	want := []string{"results/2026-02-01-a/plots/sqlite.png", "results/2026-02-01-a/plots/sqlite.svg"}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("the pictures are %q, %v; want %q", found, err, want)
	}
}
