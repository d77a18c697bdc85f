package wal

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update has TestGolden write its logs anew. That is to be done only when the version of the format changes.
var update = flag.Bool("update", false, "write the golden files")

// TestGolden reads logs in the current version of the format.
func TestGolden(t *testing.T) {
	tests := []struct {
		name string
		key  []byte
		want Recovery
	}{
		{"closed", nil, Recovery{First: 2, Last: 6, Clean: true}},
		{"open", nil, Recovery{First: 1, Last: 6, Unproven: 1, Scanned: 1}},
		{"torn", nil, Recovery{First: 1, Last: 5, Torn: 24, Unproven: 1, Scanned: 1}},
		{"encrypted", []byte("golden key of thirty-two bytes !"), Recovery{First: 1, Last: 6, Clean: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if *update {
				writeGolden(t, test.name, test.key)
			}
			r, recovery, err := OpenReader(filepath.Join("testdata", test.name), test.key)
			if err != nil {
				t.Fatal(err)
			}
			if recovery != test.want {
				t.Errorf("%+v, want %+v", recovery, test.want)
			}
			if segments := r.Segments(); segments[0].First != recovery.First || segments[0].Last != recovery.Last {
				t.Errorf("%+v", segments)
			}
			next := recovery.First
			for record, err := range r.Records(background, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if want := goldenEntries[next-1]; record.LSN != next || string(record.Data) != want {
					t.Errorf("LSN %d is %q, want %q", record.LSN, record.Data, want)
				}
				next++
			}
			if next != recovery.Last+1 {
				t.Errorf("the last LSN is %d", next-1)
			}
		})
	}
}

var goldenEntries = []string{
	"one", "two", "three", "", strings.Repeat("5", 60), "six",
}

// writeGolden makes a log of the golden entries.
func writeGolden(t *testing.T, name string, key []byte) {
	t.Helper()
	log, dir := newLog(t, Options{SegmentSize: minSegmentSize, Key: key})
	mustAppend(t, log, "one", "two")
	mustAppend(t, log, "three")
	if name == "closed" {
		if err := log.TruncateFront(2); err != nil {
			t.Fatal(err)
		}
	}
	mustAppend(t, log, "")
	mustAppend(t, log, strings.Repeat("5", 60))
	mustAppend(t, log, "six")
	if name == "closed" || name == "encrypted" {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	segment := filepath.Join(dir, segmentName(1))
	content, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	if name == "torn" {
		clear(content[bytes.LastIndex(content, []byte("six"))-10:])
	}
	golden := filepath.Join("testdata", name)
	if err := os.MkdirAll(golden, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(golden, segmentName(1)), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
