package plainfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"go.uber.org/goleak"

	"culvert/agefile"
	"culvert/internal/compress"
	"culvert/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newIdentity(tb testing.TB) *age.X25519Identity {
	tb.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	return identity
}

// seal encrypts.
func seal(tb testing.TB, identity *age.X25519Identity, content []byte) []byte {
	tb.Helper()
	var file bytes.Buffer
	w, err := agefile.NewWriter(&file, identity.Recipient())
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// pack compresses into frames of so much text, with a seek table.
func pack(tb testing.TB, text []byte, frame int) []byte {
	tb.Helper()
	var file []byte
	encoder, trailer := compress.NewEncoder(compress.Zstd, 1), compress.NewTrailer(compress.Zstd)
	for part := range slices.Chunk(text, frame) {
		start := len(file)
		file = encoder.AppendFrame(file, part)
		trailer.Add(int64(len(file)-start), int64(len(part)))
	}
	out := bytes.NewBuffer(file)
	if _, err := trailer.WriteTo(out); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// rows makes text that can be compressed, and of which no two places look alike.
func rows(size int) []byte {
	var text bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	for n := 0; text.Len() < size; n++ {
		fmt.Fprintf(&text, "%d,customer %d,%x,water\n", n, random.IntN(1000), random.Uint32())
	}
	return text.Bytes()[:size]
}

// gzipped compresses into one member.
func gzipped(text []byte) []byte { return compress.NewEncoder(compress.Gzip, 1).AppendFrame(nil, text) }

func newView(tb testing.TB, source fs.FS, identities ...age.Identity) *FS {
	tb.Helper()
	view, err := New(Config{FS: source, Identities: identities})
	if err != nil {
		tb.Fatal(err)
	}
	return view
}

// version is what the tests have in Sys.
type version int

func readAll(tb testing.TB, view fs.FS, name string) []byte {
	tb.Helper()
	content, err := fs.ReadFile(view, name)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

func names(tb testing.TB, view fs.FS, dir string) []string {
	tb.Helper()
	entries, err := fs.ReadDir(view, dir)
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %d", entry.Name(), info.Size()))
	}
	return all
}

func TestUnopened(t *testing.T) {
	mine, theirs := newIdentity(t), newIdentity(t)
	source := fstest.MapFS{
		"mine.age":       {Data: seal(t, mine, []byte("a"))},
		"sub/theirs.age": {Data: seal(t, theirs, []byte("b"))},
		"not.age":        {Data: []byte("not age")},
		"notes.txt":      {Data: []byte("notes")},
	}
	_, heard := reported(t, func(report func(string)) Config {
		return Config{FS: source, Identities: []age.Identity{mine}, Unopened: report}
	})
	if len(heard) != 1 || !heard["sub/theirs.age"] {
		t.Errorf("heard of %v", heard)
	}
}

// reported walks a view and returns it with the names that it reports.
func reported(t *testing.T, config func(report func(string)) Config) (fs.FS, map[string]bool) {
	t.Helper()
	var mu sync.Mutex
	names := map[string]bool{}
	view, err := New(config(func(name string) {
		mu.Lock()
		defer mu.Unlock()
		names[name] = true
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.WalkDir(view, ".", func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
	return view, names
}

// TestArmored checks that armored files are shown unchanged, and reported.
func TestArmored(t *testing.T) {
	mine := newIdentity(t)
	var armored bytes.Buffer
	w := armor.NewWriter(&armored)
	if _, err := w.Write(seal(t, mine, []byte("a"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	source := fstest.MapFS{
		"mail.txt.age": {Data: armored.Bytes()},
		"space.age":    {Data: append([]byte(" \n\n"), armored.Bytes()...)},
		"mine.age":     {Data: seal(t, mine, []byte("a"))},
		"not.age":      {Data: []byte("not age")},
		"notes.txt":    {Data: armored.Bytes()},
	}
	view, heard := reported(t, func(report func(string)) Config {
		return Config{FS: source, Identities: []age.Identity{mine}, Armored: report}
	})
	if len(heard) != 2 || !heard["mail.txt.age"] || !heard["space.age"] {
		t.Errorf("heard of %v", heard)
	}
	if shown, err := fs.ReadFile(view, "mail.txt.age"); err != nil || !bytes.Equal(shown, armored.Bytes()) {
		t.Errorf("an armored file is shown as %.40q, %v", shown, err)
	}
}

// TestDamaged checks that files which are not whole are shown unchanged, and reported.
func TestDamaged(t *testing.T) {
	mine := newIdentity(t)
	whole := seal(t, mine, bytes.Repeat([]byte("text"), 100_000))
	source := fstest.MapFS{
		"whole.age": {Data: whole},
		"chunk.age": {Data: whole[:len(whole)-len(whole)%(64<<10+16)]},
		"cut.age":   {Data: whole[:len(whole)*2/3]},
		"head.age":  {Data: whole[:50]},
		"more.age":  {Data: append(bytes.Clone(whole), 'x')},
		"empty.age": {},
		"not.age":   {Data: []byte("not age")},
	}
	view, heard := reported(t, func(report func(string)) Config {
		return Config{FS: source, Identities: []age.Identity{mine}, Damaged: report}
	})
	if len(heard) != 4 || heard["whole.age"] || heard["empty.age"] || heard["not.age"] {
		t.Errorf("heard of %v", heard)
	}
	if shown, err := fs.ReadFile(view, "cut.age"); err != nil || !bytes.Equal(shown, source["cut.age"].Data) {
		t.Errorf("a file that is cut is shown as %.40q, %v", shown, err)
	}
}

func TestView(t *testing.T) {
	mine, theirs := newIdentity(t), newIdentity(t)
	text := rows(testkit.Fewer(300_000))
	files := map[string][]byte{
		"orders.csv.zst.age":     seal(t, mine, pack(t, text, 10_000)),
		"report.pdf.age":         seal(t, mine, text[:1000]),
		"dump.sql.gz.age":        seal(t, mine, gzipped(text)),
		"foreign.zst.age":        seal(t, mine, compress.NewEncoder(compress.Zstd, 1).AppendFrame(nil, text)),
		"none.csv.zst.age":       seal(t, mine, pack(t, nil, 1)),
		"empty.age":              seal(t, mine, nil),
		"theirs.csv.zst.age":     seal(t, theirs, pack(t, text, 10_000)),
		"cut.age":                seal(t, mine, text)[:len(text)*2/3],
		"not.age":                []byte("not age"),
		"notes.txt":              []byte("notes"),
		"packed.csv.zst":         pack(t, text, 10_000),
		".age":                   seal(t, mine, text[:10]),
		".zst.age":               seal(t, mine, pack(t, text[:10], 10)),
		"dir/deep.csv.zst.age":   seal(t, mine, pack(t, text[:5000], 10_000)),
		"dir.age/inside.csv.age": seal(t, mine, text[:77]),
	}
	contents := map[string][]byte{
		"orders.csv": text, "report.pdf": text[:1000], "dump.sql.gz": gzipped(text), "none.csv": nil, "empty": nil,
		"foreign.zst": compress.NewEncoder(compress.Zstd, 1).AppendFrame(nil, text),
		"notes.txt":   []byte("notes"), "dir/deep.csv": text[:5000], "dir.age/inside.csv": text[:77],
	}
	for _, name := range []string{"theirs.csv.zst.age", "cut.age", "not.age", "packed.csv.zst", ".age", ".zst.age"} {
		contents[name] = files[name]
	}

	inMemory, versioned, dir := fstest.MapFS{}, fstest.MapFS{}, t.TempDir()
	for name, content := range files {
		inMemory[name] = &fstest.MapFile{Data: content, ModTime: time.Unix(1, 0), Mode: 0o640}
		versioned[name] = &fstest.MapFile{Data: content, Sys: version(1), Mode: 0o640}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for kind, source := range map[string]fs.FS{"map": inMemory, "versions": versioned, "dir": os.DirFS(dir)} {
		view := newView(t, source, mine)
		var all []string
		for name, want := range contents {
			all = append(all, name)
			got := readAll(t, view, name)
			if !bytes.Equal(got, want) {
				t.Errorf("%s: %s has %d bytes, want %d, or they differ", kind, name, len(got), len(want))
			}
			info, err := fs.Stat(view, name)
			if err != nil || info.Size() != int64(len(want)) || info.Name() != filepath.Base(name) {
				t.Errorf("%s: Stat of %s gives %v, %v", kind, name, info, err)
			}
		}
		for name := range files {
			// Own names lead to what they name, listed or not.
			if got := readAll(t, view, name); !bytes.Equal(got, files[name]) {
				t.Errorf("%s: %s is not what the file system has", kind, name)
			}
		}
		if err := fstest.TestFS(view, all...); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		for _, name := range []string{
			"orders", "theirs.csv", "cut", "orders.csv.zst", "missing", "dir.csv", "notes.txt/x",
		} {
			if _, err := view.Open(name); err == nil {
				t.Errorf("%s: there is a %s", kind, name)
			}
			if _, err := view.Stat(name); err == nil {
				t.Errorf("%s: Stat finds a %s", kind, name)
			}
		}
	}
}

func TestClashes(t *testing.T) {
	identity := newIdentity(t)
	packed := func(text string) *fstest.MapFile {
		return &fstest.MapFile{Data: seal(t, identity, pack(t, []byte(text), 10))}
	}
	sealed := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: seal(t, identity, []byte(text))} }
	plain := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	size := func(file *fstest.MapFile) string { return fmt.Sprint(len(file.Data)) }
	p, s := packed("packed text"), sealed("sealed")
	for name, test := range map[string]struct {
		source fstest.MapFS
		want   []string
		x      string // what x.csv holds
	}{
		"none": {fstest.MapFS{"x.csv.zst.age": p}, []string{"x.csv 11"}, "packed text"},
		"own name": {
			fstest.MapFS{"x.csv.zst.age": p, "x.csv": plain("own")},
			[]string{"x.csv 3", "x.csv.zst.age " + size(p)},
			"own",
		},
		"own name, not packed": {
			fstest.MapFS{"x.csv.age": s, "x.csv": plain("own")},
			[]string{"x.csv 3", "x.csv.age " + size(s)},
			"own",
		},
		"packed or not": {
			fstest.MapFS{"x.csv.age": s, "x.csv.zst.age": p},
			[]string{"x.csv 11", "x.csv.age " + size(s)},
			"packed text",
		},
		"three": {
			fstest.MapFS{"x.csv.age": s, "x.csv.zst.age": p, "x.csv": plain("own")},
			[]string{"x.csv 3", "x.csv.age " + size(s), "x.csv.zst.age " + size(p)},
			"own",
		},
		"a directory": {
			fstest.MapFS{"x.csv.age": s, "x.csv/y": plain("1")},
			[]string{"x.csv 0", "x.csv.age " + size(s)},
			"",
		},
		"twice": {
			fstest.MapFS{"x.csv.age.age": s, "x.csv": plain("own")},
			[]string{"x.csv 3", "x.csv.age 6"},
			"own",
		},
		"not what it says": {
			fstest.MapFS{"x.csv.zst.age": s, "x.csv.age": s},
			[]string{"x.csv 6", "x.csv.zst 6"},
			"sealed",
		},
		"packed beside": {
			fstest.MapFS{"x.csv.zst.age": p, "x.csv.zst": plain("own")},
			[]string{"x.csv 11", "x.csv.zst 3"},
			"packed text",
		},
	} {
		view := newView(t, test.source, identity)
		got := names(t, view, ".")
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: listed are %q, want %q", name, got, test.want)
		}
		if test.x == "" {
			continue
		}
		if got := string(readAll(t, view, "x.csv")); got != test.x {
			t.Errorf("%s: x.csv holds %q, want %q", name, got, test.x)
		}
		if len(got) != len(test.source) {
			t.Errorf("%s: %d files are listed, and there are %d", name, len(got), len(test.source))
		}
		if err := fstest.TestFS(view, "x.csv"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLinks has links lead to what they lead to in the file system.
func TestLinks(t *testing.T) {
	dir, identity := t.TempDir(), newIdentity(t)
	sealed := seal(t, identity, pack(t, rows(1000), 100))
	if err := os.WriteFile(filepath.Join(dir, "x.csv.zst.age"), sealed, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("x.csv.zst.age", filepath.Join(dir, "link.csv.age")); err != nil {
		t.Skip(err) // where links are for administrators
	}
	view := newView(t, os.DirFS(dir), identity)
	if target, err := view.ReadLink("link.csv.age"); target != "x.csv.zst.age" || err != nil {
		t.Errorf("the link leads to %q, %v", target, err)
	}
	info, err := view.Lstat("link.csv.age")
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("Lstat gives %v, %v", info, err)
	}
	if info, err := view.Stat("link.csv.age"); err != nil || info.Size() != int64(len(sealed)) {
		t.Errorf("Stat gives %v, %v", info, err)
	}
	got := names(t, view, ".")
	if len(got) != 2 || !strings.HasPrefix(got[0], "link.csv.age ") || got[1] != "x.csv 1000" {
		t.Errorf("listed are %q", got)
	}
	if err := fstest.TestFS(view, "x.csv", "link.csv.age"); err != nil {
		t.Error(err)
	}
}

func TestReading(t *testing.T) {
	identity := newIdentity(t)
	text := rows(150_000)
	source := fstest.MapFS{
		"small.csv.zst.age": {Data: seal(t, identity, pack(t, text, 777))},
		"large.csv.zst.age": {Data: seal(t, identity, pack(t, text, 50_000))},
		"plain.csv.age":     {Data: seal(t, identity, text)},
	}
	// Less than the frames of large take together.
	view, err := New(Config{FS: source, Identities: []age.Identity{identity}, Memory: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"small.csv", "large.csv", "plain.csv"} {
		opened, err := view.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(opened, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var wait sync.WaitGroup
		for seed := range uint64(8) {
			wait.Go(func() { readRandomly(t, opened.(io.ReaderAt), text, rand.New(rand.NewPCG(seed, 3)), 200) })
		}
		wait.Wait()
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
		if _, err := opened.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: reading when closed gives %v", name, err)
		}
		if _, err := opened.(io.ReaderAt).ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: reading when closed gives %v", name, err)
		}
		if err := opened.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: closing again gives %v", name, err)
		}
	}
	if used := view.cache.Memory(); used > 256<<10 || used < 128<<10 {
		t.Errorf("%d bytes are in use, of %d", used, 256<<10)
	}
}

func readRandomly(t *testing.T, file io.ReaderAt, text []byte, random *rand.Rand, times int) {
	for range times {
		offset := random.IntN(len(text) + 1)
		p := make([]byte, random.IntN(1<<random.IntN(18)))
		n, err := file.ReadAt(p, int64(offset))
		want := text[offset:min(len(text), offset+len(p))]
		if !bytes.Equal(p[:n], want) {
			t.Errorf("%d bytes at %d differ", len(p), offset)
		}
		if (n < len(p)) != (err == io.EOF) || err != nil && err != io.EOF {
			t.Errorf("%d of %d bytes at %d, error %v", n, len(p), offset, err)
		}
	}
}

// TestLargeRequest is larger than what one goroutine reads.
func TestLargeRequest(t *testing.T) {
	identity := newIdentity(t)
	text := rows(8<<20 + 12345)
	source := fstest.MapFS{"x.csv.zst.age": {Data: seal(t, identity, pack(t, text, 100_000))}}
	opened, err := newView(t, source, identity).Open("x.csv")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, len(text)+1)
	if n, err := opened.(io.ReaderAt).ReadAt(p, 0); n != len(text) || err != io.EOF || !bytes.Equal(p[:n], text) {
		t.Errorf("%d bytes, error %v, or they differ", n, err)
	}
	if n, err := opened.(io.ReaderAt).ReadAt(p[:len(text)-1], 1); err != nil || !bytes.Equal(p[:n], text[1:]) {
		t.Errorf("%d bytes, error %v, or they differ", n, err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

// TestLargeFrames are shown without being decompressed.
func TestLargeFrames(t *testing.T) {
	identity := newIdentity(t)
	text := rows(600_000)
	source := fstest.MapFS{"x.csv.zst.age": {Data: seal(t, identity, pack(t, text, len(text)))}}
	view, err := New(Config{FS: source, Identities: []age.Identity{identity}, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(t, view, "."); len(got) != 1 || !strings.HasPrefix(got[0], "x.csv.zst ") {
		t.Errorf("listed are %q", got)
	}
	if !bytes.Equal(readAll(t, view, "x.csv.zst"), pack(t, text, len(text))) {
		t.Error("x.csv.zst is not what was encrypted")
	}
}

func TestNew(t *testing.T) {
	for _, config := range []Config{
		{},
		{FS: fstest.MapFS{}},
		{Identities: []age.Identity{newIdentity(t)}},
		{FS: fstest.MapFS{}, Identities: []age.Identity{newIdentity(t)}, Memory: -1},
	} {
		if _, err := New(config); err == nil {
			t.Errorf("%v is taken", config)
		}
	}
}
