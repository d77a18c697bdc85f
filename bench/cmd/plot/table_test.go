package main

import (
	"io"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var table strings.Builder
	if err := run(&table, []string{"-table", example + "-2", example}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| work | peer | 2 cores | 4 cores | processor time, 2 cores | processor time, 4 cores |\n" +
			"|---|---|---|---|---|---|\n",
		"| SQLite, a million rows to plain CSV | `sqlite3 -csv` | – | 1.08 s → 640 ms, **1.7 ×** | – | – |\n",
		"| `culvert mount`: `dd` of 1 GiB, cold | `sshfs`, aes128-gcm | 300 → 1,500 MB/s, **5.0 ×** | " +
			"300 → 1,500 MB/s, **5.0 ×** | 3.20 s → 1.62 s, 0.51 × | 4.00 s → 2.50 s, 0.62 × |\n" +
			"|  | go-fuse, from memory | ",
		"| 10,000 files of 4 KiB, the same way | `rsync` over ssh | 1.00 s → 800 ms, **1.2 ×** | " +
			"1.00 s → 800 ms, **1.2 ×** | 120 µs → 48.8 µs, 0.41 × | 150 µs → 75.0 µs, 0.50 × |\n",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &table)
		}
	}
	if err := run(io.Discard, []string{"-table", t.TempDir()}); err == nil {
		t.Error("no error without results")
	}
}
