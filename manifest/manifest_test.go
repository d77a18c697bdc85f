package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"culvert/manifest"
	"culvert/source"
)

// sample is one of four tables.
func sample() *manifest.Manifest {
	begun := time.Date(2026, 11, 21, 10, 0, 0, 125e6, time.UTC)
	sum := func(end string) string { return strings.Repeat("0", 32-len(end)) + end }
	return &manifest.Manifest{
		Version: manifest.Version, Tool: "culvert v1.0.0", Begun: begun, Ended: begun.Add(time.Minute),
		System: "PostgreSQL 17.2", Database: "shop", Snapshot: "00000003-0000001B-1", Position: "0/1573178",
		Consistent: true, Format: "csv", Compression: "zstd", Encrypted: true,
		Omitted: []string{`the view "sales"`},
		Tables: []manifest.Table{
			{
				Name: "orders", Rows: 3, TextBytes: 52, FileBytes: 310, HeaderBytes: 9, Sum: sum("fe"), Readers: 4,
				Canonical: sum("fd"),
				Columns: []manifest.Column{
					{Name: "id", Type: "bigint", Logical: source.Type{Class: source.IntClass, Bits: 64}},
					{Name: `<ti"tle>`},
				},
				Parts: []manifest.Part{{
					File: "orders.csv.zst.age", Rows: 3, TextBytes: 52, FileBytes: 310, Sum: sum("fe"),
					Canonical: sum("fd"), SHA256: strings.Repeat("0f", 32),
				}},
			},
			{
				Name: "columnless", Sum: sum(""), Canonical: sum(""), Parts: []manifest.Part{{
					File: "columnless.csv.zst.age", SHA256: strings.Repeat("a0", 32), Sum: sum(""), Canonical: sum(""),
				}},
			},
			{Name: "secrets", Error: "permission denied for table secrets"},
			{
				Name: "events", Snapshot: "other", Where: "id > 7", Rows: 7, TextBytes: 105, FileBytes: 500,
				HeaderBytes: 5, Sum: sum("1"), Canonical: sum("3"),
				Columns: []manifest.Column{{Name: "id", Type: "bigint"}},
				Parts: []manifest.Part{
					{
						File: "events/000001.csv.zst.age", Range: &source.Range{By: "ctid", To: "(7,0)"}, Rows: 3,
						TextBytes: 45, FileBytes: 200, SHA256: strings.Repeat("01", 32), Sum: strings.Repeat("f", 32),
						Canonical: sum("1"),
					},
					{
						File: "events/000002-2.csv.zst.age", Range: &source.Range{By: "ctid", From: "(7,0)"}, Rows: 4,
						TextBytes: 65, FileBytes: 300, SHA256: strings.Repeat("02", 32), Sum: sum("2"),
						Canonical: sum("2"),
					},
				},
				Definition: &source.Definition{
					Dialect: source.PostgreSQL, Schema: "public", Name: "events",
					Columns: []source.ColumnDefinition{
						{Name: "id", Type: "bigint", NotNull: true, Default: `'<"'`},
					},
					Constraints: []source.Constraint{{Kind: source.PrimaryKey, Columns: []string{"id"}}},
				},
			},
		},
	}
}

// firstManifest is the text of a manifest of version 1, of tables like those of sample.
const firstManifest = `{
  "version": 1,
  "tool": "culvert v1.0.0",
  "begun": "2026-11-21T10:00:00.125Z",
  "ended": "2026-11-21T10:01:00.125Z",
  "system": "PostgreSQL 17.2",
  "database": "shop",
  "snapshot": "00000003-0000001B-1",
  "position": "0/1573178",
  "format": "csv",
  "compression": "zstd",
  "encrypted": true,
  "tables": [
    {
      "name": "orders",
      "file": "orders.csv.zst.age",
      "columns": [
        {
          "name": "id",
          "type": "bigint"
        },
        {
          "name": "<ti\"tle>"
        }
      ],
      "rows": 3,
      "text_bytes": 52,
      "file_bytes": 310,
      "sha256": "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f",
      "readers": 4
    },
    {
      "name": "columnless",
      "file": "columnless.csv.zst.age",
      "rows": 0,
      "text_bytes": 0,
      "file_bytes": 0,
      "sha256": "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0"
    },
    {
      "name": "secrets",
      "rows": 0,
      "text_bytes": 0,
      "file_bytes": 0,
      "error": "permission denied for table secrets"
    }
  ]
}
`

// TestLogicalTypes reads manifests of older and newer versions, in which a logical type is absent or not known. Then
// nobody can compute the canonical sum.
func TestLogicalTypes(t *testing.T) {
	var text bytes.Buffer
	if _, err := sample().WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	const written = `"logical": "int64"`
	if !strings.Contains(text.String(), written) {
		t.Fatalf("%s does not have %s", text.String(), written)
	}
	for _, other := range []string{`"logical": "point3d(7)"`, `"logical": ""`, `"logical": "point"`, `"other": 7`} {
		m, err := manifest.Read(strings.NewReader(strings.ReplaceAll(text.String(), written, other)))
		if err != nil {
			t.Errorf("%s: %v", other, err)
			continue
		}
		want := source.Column{Name: "id", Type: "bigint"}
		if got := m.Tables[0].Columns[0].Column(); got != want {
			t.Errorf("%s is read as %+v", other, got)
		}
		isKnown := !strings.HasPrefix(other, `"logical": "p`)
		if t0 := m.Tables[0]; (t0.Canonical != "") != isKnown || (t0.Parts[0].Canonical != "") != isKnown {
			t.Errorf("with %s the canonical sum is %q, and of its part %q", other, t0.Canonical, t0.Parts[0].Canonical)
		}
	}
}

// TestWriteTo compares the text, which is written piece by piece, with that of the whole.
func TestWriteTo(t *testing.T) {
	for _, m := range []*manifest.Manifest{sample(), {Tables: []manifest.Table{{Name: "a", Error: "b"}}}} {
		var got, want bytes.Buffer
		n, err := m.WriteTo(&got)
		if err != nil || n != int64(got.Len()) {
			t.Fatalf("%d bytes of %d, %v", n, got.Len(), err)
		}
		whole := json.NewEncoder(&want)
		whole.SetEscapeHTML(false)
		whole.SetIndent("", "  ")
		if err := whole.Encode(m); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("got %s, want %s", &got, &want)
		}
	}
}

// TestWriteToFails has a disk that fills, and a manifest that would be too large to be read.
func TestWriteToFails(t *testing.T) {
	m := sample()
	full := errors.New("full")
	if _, err := m.WriteTo(failing{full}); !errors.Is(err, full) {
		t.Error(err)
	}
	part := m.Tables[3].Parts[0]
	part.File = "events/" + strings.Repeat("x", 1<<20)
	m.Tables[3].Parts = slices.Repeat([]manifest.Part{part}, 128)
	if _, err := m.WriteTo(io.Discard); err == nil {
		t.Error("a manifest of more than 128 MiB was written")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestFirstManifest reads a manifest of version 1 as one of the newest, without sums.
func TestFirstManifest(t *testing.T) {
	want := sampleOfSecond()
	want.Tables, want.Omitted = want.Tables[:3], nil
	for i := range want.Tables {
		want.Tables[i].Sum, want.Tables[i].HeaderBytes = "", 0
		for j := range want.Tables[i].Parts {
			want.Tables[i].Parts[j].Sum = ""
		}
	}
	got, err := manifest.Read(strings.NewReader(firstManifest))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v, error %v", got, err)
	}
	var again bytes.Buffer
	if _, err := got.WriteTo(&again); err != nil {
		t.Fatal(err)
	}
	got, err = manifest.Read(&again)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("written and read again %+v, error %v", got, err)
	}
}

// sampleOfSecond is sample as a manifest of version 2 has it.
func sampleOfSecond() *manifest.Manifest {
	m := sample()
	for i := range m.Tables {
		t := &m.Tables[i]
		t.Canonical = ""
		for j := range t.Parts {
			t.Parts[j].Canonical = ""
		}
		for j := range t.Columns {
			t.Columns[j].Logical = source.Type{}
		}
	}
	return m
}

// TestVersions reads a manifest of each version that was ever written, and writes it as one of the newest.
func TestVersions(t *testing.T) {
	for version, want := range map[int]*manifest.Manifest{2: sampleOfSecond(), 3: sample()} {
		text, err := os.ReadFile(fmt.Sprintf("testdata/version%d.json", version))
		if err != nil {
			t.Fatal(err)
		}
		got, err := manifest.Read(bytes.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("version %d: read %+v, error %v", version, got, err)
		}
		var again bytes.Buffer
		if _, err := got.WriteTo(&again); err != nil {
			t.Fatal(err)
		}
		if version == manifest.Version && again.String() != string(text) {
			t.Errorf("it is written as\n%s", &again)
		}
		if got, err = manifest.Read(&again); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("version %d: written and read again %+v, error %v", version, got, err)
		}
	}
	text, err := os.ReadFile("testdata/version3.json")
	if err != nil {
		t.Fatal(err)
	}
	older := strings.Replace(string(text), `"version": 3`, `"version": 2`, 1)
	got, err := manifest.Read(strings.NewReader(older))
	if err != nil || got.Tables[0].Canonical != "" {
		t.Errorf("what version 2 does not have is read: %v", err)
	}
}

// TestFirstManifestRefused changes a manifest of version 1 into what none can be.
func TestFirstManifestRefused(t *testing.T) {
	for _, change := range []struct{ from, to, why string }{
		{`"tool"`, `"tools"`, "not known"},
		{`"tool": `, `"requires": ["a"], "tool": `, "not known"},
		{`"tool": `, `"tool": "a", "tool": `, "not written as"},
		{`"rows": 3`, `"Rows": 3`, "not written as"},
		{`"rows": 3`, `"rows": 3.0`, "cannot unmarshal"},
		{`"rows": 3`, `"rows": -3`, "below zero"},
		{`10:00:00.125Z`, `10:00:00.125000Z`, "not written as"},
		{`"error": "`, `"rows": 1, "error": "`, ""},
		{`"name": "secrets"`, `"name": "secrets", "file": "x"`, ""},
		{`"orders.csv.zst.age"`, `"orders/1.csv"`, "no file can be named"},
		{`"orders.csv.zst.age"`, `"../orders.csv"`, ""},
		{`"bigint"`, "\"\xff\"", "not written as"},
	} {
		expectRefused(t, firstManifest, change.from, change.to, change.why)
	}
}

// expectRefused replaces something in the text of a manifest.
func expectRefused(t *testing.T, text, from, to, why string) {
	t.Helper()
	changed := strings.Replace(text, from, to, 1)
	if changed == text {
		t.Errorf("%s is not there", from)
	}
	_, err := manifest.Read(strings.NewReader(changed))
	if !errors.Is(err, manifest.ErrInvalid) || !strings.Contains(err.Error(), why) {
		t.Errorf("%s for %s: error %v, want %q", to, from, err, why)
	}
}

// TestOfTheFuture has fields that no version has yet.
func TestOfTheFuture(t *testing.T) {
	var text bytes.Buffer
	if _, err := sample().WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	more := strings.ReplaceAll(text.String(), `"name": `, `"new": {"a": [{"b": null}, {"b": {}}], "c": {}}, "name": `)
	more = strings.Replace(more, `"tool": `, `"requires": [], "later": "", "tool": `, 1)
	got, err := manifest.Read(strings.NewReader(more))
	if err != nil {
		t.Fatal(err)
	}
	if got.Requires = nil; !reflect.DeepEqual(got, sample()) {
		t.Errorf("read %+v", got)
	}
}

// TestDefinitionsLeftOut has more definitions than a manifest has room for. The largest are left out.
func TestDefinitionsLeftOut(t *testing.T) {
	m := sample()
	table := m.Tables[3]
	m.Tables = nil
	const largest = 7
	for i := range 84 {
		table.Parts = []manifest.Part{table.Parts[0]}
		table.Parts[0].File = fmt.Sprint(i)
		if err := table.AddUp(); err != nil {
			t.Fatal(err)
		}
		create := strings.Repeat("x", 200_000)
		if i == largest {
			create += create[:1000]
		}
		table.Definition = &source.Definition{Dialect: source.SQLite, Name: "t", Create: create}
		m.Tables = append(m.Tables, table)
	}
	var text bytes.Buffer
	if _, err := m.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	read, err := manifest.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	for i, table := range read.Tables {
		if (table.Definition == nil) != (i == largest) {
			t.Errorf("table %d has the definition %v", i, table.Definition != nil)
		}
		if m.Tables[i].Definition == nil {
			t.Errorf("table %d has lost its definition", i)
		}
	}
}

func TestRead(t *testing.T) {
	want := sample()
	var text bytes.Buffer
	if n, err := want.WriteTo(&text); err != nil || n != int64(text.Len()) || !strings.HasSuffix(text.String(), "}\n") {
		t.Fatalf("%d bytes, error %v: %s", n, err, &text)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text.Bytes()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text.String(), compact.String()} {
		got, err := manifest.Read(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v, error %v", got, err)
		}
	}
	failure := errors.New("no disk")
	if _, err := manifest.Read(iotest.ErrReader(failure)); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}

// TestRefused changes a manifest into what none can be.
func TestRefused(t *testing.T) {
	var text bytes.Buffer
	if _, err := sample().WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	const file, part = `"orders.csv.zst.age"`, `"events/000002-2.csv.zst.age"`
	for _, change := range []struct{ from, to, why string }{
		{`"version": 3`, `"version": 4`, "version 4"},
		{`"version": 3`, `"version": 1`, "not written as"},
		{`"version": 3,`, ``, "version 0"},
		{`"version": 3`, `"version": "3"`, "cannot unmarshal"},
		{`0fd",`, `0fe",`, "another sum"},
		{`"logical": "int64"`, `"logical": 64`, "cannot unmarshal"},
		{`"tool": `, `"requires": ["masks"], "tool": `, `it requires "masks"`},
		{`"tool": `, `"tool": "a", "tool": `, "repeated"},
		{`"tool": `, `"Tool": "a", "tool": `, "no manifest has"},
		{`"tool": `, `"too\u017f": "a", "tool": `, "no manifest has"},
		{`"tool": `, `"new": {"a": 1, "b": [], "a": 1}, "tool": `, "repeated"},
		{`"tool": `, `"": "a", "tool": `, "no manifest has"},
		{`"rows": 3`, `"Rows": 3`, "no manifest has"},
		{`"rows": 3`, `"rows": 3.0`, "cannot unmarshal"},
		{`"rows": 3`, `"rows": -3`, "other figures"},
		{`"rows": 3`, `"rows": 99999999999999999999`, "cannot unmarshal"},
		{`"rows": 7`, `"rows": 8`, "other figures"},
		{`"rows": 4`, `"rows": -4`, "below zero"},
		{`"rows": 4`, `"rows": 9223372036854775807`, "too large"},
		{`"text_bytes": 105`, `"text_bytes": 110`, "other figures"},
		{`"header_bytes": 9`, `"header_bytes": 53`, "shorter than the header"},
		{`"header_bytes": 9`, `"header_bytes": -9`, "below zero"},
		{`"error": "`, `"rows": 1, "error": "`, ""},
		{`"name": "secrets"`, `"name": "secrets", "sum": "x"`, "both an error"},
		{`"error": "permission denied for table secrets"`, `"readers": 1`, "neither"},
		{file, `"../orders.csv"`, "no file can be named"},
		{file, `"/orders.csv"`, "no file can be named"},
		{file, `"a/b/orders.csv"`, "no file can be named"},
		{file, `"orders/"`, "no file can be named"},
		{file, `"a\\b"`, "no file can be named"},
		{file, `"c:"`, "no file can be named"},
		{file, `"a\u0000b"`, "no file can be named"},
		{file, `".."`, "no file can be named"},
		{file, `"` + strings.Repeat("x", 256) + `"`, "no file can be named"},
		{file, `"columnless.csv.zst.age"`, "of another"},
		{file, `"Columnless.csv.zst.AGE"`, "of another"},
		{file, `"manifest.json.age"`, "of another"},
		{file, `"Events"`, "of another"},
		{file, `"Events/1"`, "of another"},
		{part, `"events/000001.csv.zst.AGE"`, "twice"},
		{part, `"other/000002.csv.zst.age"`, "not in one directory"},
		{part, `"000002.csv.zst.age"`, "not in one directory"},
		{strings.Repeat("0f", 32), strings.Repeat("0f", 31), "no SHA-256"},
		{strings.Repeat("02", 32), strings.Repeat("0F", 32), "no SHA-256"},
		{strings.Repeat("f", 32), strings.Repeat("f", 31) + "e", "another sum"},
		{strings.Repeat("f", 32), strings.Repeat("F", 32), "32 hexadecimal digits"},
		{`"sum": "` + strings.Repeat("f", 32) + `"`, `"sum": ""`, "some of its parts"},
		{"bigint", "\xff", "UTF-8"},
		{`"dialect": "postgresql"`, `"dialect": ""`, "without a dialect"},
		{`"not_null": true`, `"not_null": true, "not_null": true`, "repeated"},
		{`{`, `[`, ""},
		{"}\n", "}\n}", ""},
		{"}\n", "}\n{}", ""},
		{`"tables": [`, `"tables": [null, `, "neither"},
	} {
		expectRefused(t, text.String(), change.from, change.to, change.why)
	}
	for _, bad := range []string{"", "{}", "null", "[]", `{"version":1}`, `{"version":2}`, strings.Repeat("[", 1e6)} {
		if _, err := manifest.Read(strings.NewReader(bad)); !errors.Is(err, manifest.ErrInvalid) {
			t.Errorf("%.20s: error %v", bad, err)
		}
	}
	for n := range text.Len() - 2 {
		if _, err := manifest.Read(bytes.NewReader(text.Bytes()[:n])); !errors.Is(err, manifest.ErrInvalid) {
			t.Fatalf("cut at %d: error %v", n, err)
		}
	}
}

// FuzzRead reads whatever comes. What it accepts, it writes so that it is read as the same again.
func FuzzRead(f *testing.F) {
	var text bytes.Buffer
	if _, err := sample().WriteTo(&text); err != nil {
		f.Fatal(err)
	}
	f.Add(text.Bytes())
	f.Add([]byte(firstManifest))
	f.Add([]byte(`{"version":1,"tables":[{"name":"a","error":"b"}]}`))
	f.Add([]byte(`{"version":2,"tables":[{"name":"a","error":"b","new":[{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, manifest.ErrInvalid) || m != nil {
				t.Errorf("%v, error %v", m, err)
			}
			return
		}
		var first, second bytes.Buffer
		if _, err := m.WriteTo(&first); err != nil {
			t.Fatal(err)
		}
		again, err := manifest.Read(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("%v, of\n%s", err, &first)
		}
		if _, err := again.WriteTo(&second); err != nil || first.String() != second.String() {
			t.Errorf("%s\nbecomes\n%s, error %v", &first, &second, err)
		}
	})
}
