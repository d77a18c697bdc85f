package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"culvert/export"
)

// manifest is one of three tables.
func manifest() *export.Manifest {
	begun := time.Date(2026, 11, 21, 10, 0, 0, 125e6, time.UTC)
	return &export.Manifest{
		Version: export.ManifestVersion, Tool: "culvert v1.0.0", Begun: begun, Ended: begun.Add(time.Minute),
		System: "PostgreSQL 17.2", Database: "shop", Snapshot: "00000003-0000001B-1", Position: "0/1573178",
		Format: "csv", Compression: "zstd", Encrypted: true,
		Tables: []export.ManifestTable{
			{
				Name: "orders", File: "orders.csv.zst.age", Rows: 3, TextBytes: 52, FileBytes: 310, Readers: 4,
				Columns: []export.ManifestColumn{{Name: "id", Type: "bigint"}, {Name: `<ti"tle>`}},
				SHA256:  strings.Repeat("0f", 32),
			},
			{Name: "columnless", File: "columnless.csv.zst.age", SHA256: strings.Repeat("a0", 32)},
			{Name: "secrets", Error: "permission denied for table secrets"},
		},
	}
}

func TestManifest(t *testing.T) {
	want := manifest()
	var text bytes.Buffer
	if n, err := want.WriteTo(&text); err != nil || n != int64(text.Len()) || !strings.HasSuffix(text.String(), "}\n") {
		t.Fatalf("%d bytes, error %v: %s", n, err, &text)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text.Bytes()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text.String(), compact.String()} {
		got, err := export.ReadManifest(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, error %v", got, err)
		}
	}
	failure := errors.New("no disk")
	if _, err := export.ReadManifest(iotest.ErrReader(failure)); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}

// TestManifestRefused changes a manifest into what none can be.
func TestManifestRefused(t *testing.T) {
	var text bytes.Buffer
	if _, err := manifest().WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	const file = `"orders.csv.zst.age"`
	for _, change := range []struct{ from, to, why string }{
		{`"version": 1`, `"version": 2`, "version 2"},
		{`"version": 1,`, ``, "version 0"},
		{`"version": 1`, `"version": "1"`, "cannot unmarshal"},
		{`"tool"`, `"tools"`, "not known"},
		{`"tool": `, `"tool": "a", "tool": `, "not written as"},
		{`"rows": 3`, `"Rows": 3`, "not written as"},
		{`"rows": 3`, `"rows": 3.0`, "cannot unmarshal"},
		{`"rows": 3`, `"rows": -3`, "below zero"},
		{`"rows": 3`, `"rows": 99999999999999999999`, "cannot unmarshal"},
		{`10:00:00.125Z`, `10:00:00.125000Z`, "not written as"},
		{`"error": "`, `"rows": 1, "error": "`, ""},
		{`"name": "secrets"`, `"name": "secrets", "file": "x"`, ""},
		{file, `"../orders.csv"`, "no file can be named"},
		{file, `"/etc/passwd"`, "no file can be named"},
		{file, `"a\\b"`, "no file can be named"},
		{file, `"c:"`, "no file can be named"},
		{file, `"a\u0000b"`, "no file can be named"},
		{file, `".."`, "no file can be named"},
		{file, `"` + strings.Repeat("x", 256) + `"`, "no file can be named"},
		{file, `"columnless.csv.zst.age"`, "of another"},
		{file, `"Columnless.csv.zst.AGE"`, "of another"},
		{file, `"manifest.json.age"`, "of another"},
		{strings.Repeat("0f", 32), strings.Repeat("0f", 31), "no SHA-256"},
		{strings.Repeat("0f", 32), strings.Repeat("0F", 32), "no SHA-256"},
		{"bigint", "\xff", "not written as"},
		{`{`, `[`, ""},
		{"}\n", "}\n}", ""},
		{"}\n", "}\n{}", ""},
		{`"tables": [`, `"tables": [null, `, ""},
	} {
		changed := strings.Replace(text.String(), change.from, change.to, 1)
		if changed == text.String() {
			t.Errorf("%s is not there", change.from)
		}
		_, err := export.ReadManifest(strings.NewReader(changed))
		if !errors.Is(err, export.ErrManifest) || !strings.Contains(err.Error(), change.why) {
			t.Errorf("%s for %s: error %v, want %q", change.to, change.from, err, change.why)
		}
	}
	for _, bad := range []string{"", "{}", "null", "[]", `{"version":1}`, strings.Repeat("[", 1e6)} {
		if _, err := export.ReadManifest(strings.NewReader(bad)); !errors.Is(err, export.ErrManifest) {
			t.Errorf("%.20s: error %v", bad, err)
		}
	}
	for n := range text.Len() - 2 {
		if _, err := export.ReadManifest(bytes.NewReader(text.Bytes()[:n])); !errors.Is(err, export.ErrManifest) {
			t.Fatalf("cut at %d: error %v", n, err)
		}
	}
}

// FuzzReadManifest reads what comes, and what it accepts, it writes as it was.
func FuzzReadManifest(f *testing.F) {
	var text bytes.Buffer
	if _, err := manifest().WriteTo(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte(`{"version":1,"tables":[{"name":"a","error":"b"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := export.ReadManifest(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, export.ErrManifest) || m != nil {
				t.Errorf("%v, error %v", m, err)
			}
			return
		}
		var again bytes.Buffer
		if _, err := m.WriteTo(&again); err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Indent(&want, bytes.TrimSpace(data), "", "  "); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(again.String()) != want.String() {
			t.Errorf("%s\nbecomes\n%s", &want, &again)
		}
	})
}
