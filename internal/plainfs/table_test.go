package plainfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"culvert/export"
	"culvert/manifest"
)

// inParts adds an export of the table orders, in parts, to a directory. It returns the text of the table.
func inParts(t *testing.T, files fstest.MapFS, dir string, identity *age.X25519Identity, c export.Compression) []byte {
	t.Helper()
	const header = "id,customer,number,note\n"
	table := manifest.Table{Name: "public.orders", HeaderBytes: int64(len(header))}
	var whole []byte
	for i, body := range [][]byte{rows(300_000), nil, rows(10), rows(200_000)} {
		text := slices.Concat([]byte(header), body)
		content := text
		switch c {
		case export.Zstd:
			content = pack(t, text, 50_000)
		case export.Gzip:
			content = gzipped(text)
		}
		file := manifest.PartFile("orders", i+1, 1, ".csv"+c.Extension()+".age")
		sealed := seal(t, identity, content)
		files[dir+file] = &fstest.MapFile{Data: sealed, Sys: version(i)}
		table.Parts = append(table.Parts, manifest.Part{
			File: file, TextBytes: int64(len(text)), FileBytes: int64(len(sealed)), SHA256: strings.Repeat("0", 64),
		})
		table.FileBytes += int64(len(sealed))
		if i > 0 {
			text = body
		}
		whole = append(whole, text...)
	}
	table.TextBytes = int64(len(whole))
	alone := manifest.Table{Name: "alone", Parts: []manifest.Part{{
		File: "alone.csv.zst.age", SHA256: strings.Repeat("0", 64),
	}}}
	m := manifest.Manifest{
		Version: manifest.Version, Format: "csv", Compression: c.String(), Encrypted: true,
		Tables: []manifest.Table{alone, table, {Name: "lost", Error: "denied"}},
	}
	var text bytes.Buffer
	if _, err := m.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	files[dir+manifest.EncryptedName] = &fstest.MapFile{Data: seal(t, identity, text.Bytes()), Sys: version(9)}
	return whole
}

// TestTables shows tables in parts as files.
func TestTables(t *testing.T) {
	identity := newIdentity(t)
	for _, c := range []export.Compression{export.Zstd, export.None} {
		for _, dir := range []string{"", "backup/shop/"} {
			source := &watchedFS{MapFS: fstest.MapFS{}}
			want := inParts(t, source.MapFS, dir, identity, c)
			view := newView(t, source, identity)
			listed := names(t, view, path.Clean(dir))
			if len(listed) != 2 || !strings.HasPrefix(listed[0], "manifest.json ") || listed[1] != "orders.csv 500034" {
				t.Errorf("listed are %q", listed)
			}
			info, err := view.Stat(dir + "orders.csv")
			if err != nil || info.Size() != int64(len(want)) || !info.Mode().IsRegular() || info.Sys() != version(9) {
				t.Errorf("described as %v, %v", info, err)
			}
			if got := readAll(t, view, dir+"orders.csv"); !bytes.Equal(got, want) {
				t.Errorf("%d bytes of another text", len(got))
			}
			readFromTheMiddle(t, view, dir+"orders.csv", want)
			// The directory can still be opened, and the parts in it.
			if got := names(t, view, dir+"orders"); len(got) != 4 {
				t.Errorf("in the directory are %q", got)
			}
			for _, name := range []string{"alone.csv", "lost.csv", "orders.jsonl", "public.orders.csv", "other.csv"} {
				if _, err := view.Open(dir + name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// TestManyParts has a manifest of more than is kept of small ones.
func TestManyParts(t *testing.T) {
	identity := newIdentity(t)
	source := &watchedFS{MapFS: fstest.MapFS{}}
	want := inParts(t, source.MapFS, "", identity, export.Zstd)
	opened, err := export.ReadConfig{Identities: []age.Identity{identity}}.OpenDirectory(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	table := opened.Table("orders")
	for i := range 40_000 {
		table.Parts = append(table.Parts, manifest.Part{
			File: manifest.PartFile("orders", 5+i, 1, ".csv.zst.age"), SHA256: strings.Repeat("0", 64),
			TextBytes: table.HeaderBytes,
		})
	}
	var text bytes.Buffer
	if _, err := opened.Manifest.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	sealed := seal(t, identity, text.Bytes())
	if len(sealed) <= maxManifests {
		t.Fatalf("the manifest has %d bytes", len(sealed))
	}
	source.MapFS[manifest.EncryptedName] = &fstest.MapFile{Data: sealed, Sys: version(8)}
	view := newView(t, source, identity)
	readFromTheMiddle(t, view, "orders.csv", want)
	reads := source.reads.Load()
	if info, err := view.Stat("orders.csv"); err != nil || info.Size() != int64(len(want)) {
		t.Errorf("%v, %v", info, err)
	}
	if more := source.reads.Load() - reads; more > 0 {
		t.Errorf("%d reads for what is known", more)
	}
}

func readFromTheMiddle(t *testing.T, view *FS, name string, want []byte) {
	t.Helper()
	opened, err := view.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 1000)
	const middle = 299_900 // in the first part, to the third
	if n, err := opened.(io.ReaderAt).ReadAt(p, middle); err != nil || !bytes.Equal(p[:n], want[middle:middle+1000]) {
		t.Errorf("%d bytes, error %v", n, err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	if err := opened.Close(); err == nil {
		t.Error("closed twice")
	}
}

// TestTablesAsTheyAre has tables in parts that are not shown as files.
func TestTablesAsTheyAre(t *testing.T) {
	identity, other := newIdentity(t), newIdentity(t)
	for what, change := range map[string]func(files fstest.MapFS){
		"name taken": func(files fstest.MapFS) { files["orders.csv"] = &fstest.MapFile{Data: []byte("mine")} },
		"file taken": func(files fstest.MapFS) {
			files["orders.csv.age"] = &fstest.MapFile{Data: seal(t, identity, nil)}
		},
		"no manifest": func(files fstest.MapFS) { delete(files, manifest.EncryptedName) },
		"two manifests": func(files fstest.MapFS) {
			files[manifest.Name] = files[manifest.EncryptedName]
		},
		"damaged": func(files fstest.MapFS) {
			files[manifest.EncryptedName] = &fstest.MapFile{Data: seal(t, identity, []byte("{}"))}
		},
		"for another": func(files fstest.MapFS) {
			files[manifest.EncryptedName] = &fstest.MapFile{Data: seal(t, other, []byte("{}"))}
		},
		"gzip": func(files fstest.MapFS) { inParts(t, files, "", identity, export.Gzip) },
	} {
		files := fstest.MapFS{}
		inParts(t, files, "", identity, export.Zstd)
		change(files)
		view := newView(t, files, identity)
		if listed := names(t, view, "."); !slices.ContainsFunc(listed, func(s string) bool {
			return strings.HasPrefix(s, "orders ")
		}) {
			t.Errorf("%s: listed are %q", what, listed)
		}
		info, err := view.Stat("orders.csv")
		if taken := strings.HasSuffix(what, "taken"); taken && (err != nil || info.Size() > 4) ||
			!taken && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v", what, info, err)
		}
	}
}

// TestTablesFail has a part that is missing, and a file system that fails.
func TestTablesFail(t *testing.T) {
	identity := newIdentity(t)
	source := &watchedFS{MapFS: fstest.MapFS{}}
	want := inParts(t, source.MapFS, "", identity, export.Zstd)
	delete(source.MapFS, "orders/000004.csv.zst.age")
	view := newView(t, source, identity)
	opened, err := view.Open("orders.csv")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	n, err := opened.(io.ReaderAt).ReadAt(got, 0)
	if !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(got[:n], want[:n]) || n < 300_000 {
		t.Errorf("%d bytes, error %v", n, err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	fault := errors.New("the line is cut")
	source.fail.Store(&fault)
	if _, err := newView(t, source, identity).Open("orders.csv"); !errors.Is(err, fault) {
		t.Errorf("error %v", err)
	}
}
