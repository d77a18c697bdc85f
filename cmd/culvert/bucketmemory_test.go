package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
)

// TestBucketMemory exports many tables, each of a little less than a part, to a bucket that takes its time for each.
// The process stays within the bound of docs/memory.md.
func TestBucketMemory(t *testing.T) {
	testkit.Long(t)
	if testkit.RaceDetector() {
		t.Skip("skipped: the race detector takes memory of its own")
	}
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		args := []string{"export", "shop.db", "--no-encrypt", "-c", "none", "-j", "2", "--json"}
		db, err := sqlite3.Open(filepath.Join(u.dir, "shop.db"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 16 {
			name := fmt.Sprint("wide", i)
			args = append(args, name)
			err := db.Exec("CREATE VIEW " + name + " AS WITH RECURSIVE c(i) AS " +
				"(SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 3500) SELECT i, hex(zeroblob(1000)) FROM c")
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		through, _ := u.proxy(t, func(r *http.Request) *fault {
			if !stores.Put.Of(r) || r.ContentLength < 1<<20 {
				return nil
			}
			return &fault{Late: time.Second / 2}
		})
		out, said := u.want(t, 0, append(args, "-o", through)...)
		var report struct {
			PeakMemory float64 `json:"peak_memory_bytes"`
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatal(err, out, said)
		}
		const j, program = 2, 24 + 6 // the tests, of which it is a part here, are larger
		const ceiling = program + (j+2)*3.5 + j*4.5 + 40 + 16
		peak := report.PeakMemory / (1 << 20)
		t.Logf("%.1f MiB of %.1f", peak, ceiling)
		if peak > ceiling {
			t.Errorf("the export takes %.1f MiB, above the bound of %.1f", peak, ceiling)
		}
	})
}
