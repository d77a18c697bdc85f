package plainfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/internal/compress"
)

// watchedFS counts what is read, and fails if it is told to.
type watchedFS struct {
	fstest.MapFS
	opens, reads atomic.Int64
	fail         atomic.Pointer[error]
	before       func(name string) // called before each ReadAt, if not nil
}

func (w *watchedFS) failure() error {
	if err := w.fail.Load(); err != nil {
		return *err
	}
	return nil
}

func (w *watchedFS) Open(name string) (fs.File, error) {
	w.opens.Add(1)
	opened, err := w.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	at, is := opened.(io.ReaderAt)
	if !is {
		return opened, nil
	}
	return &watchedFile{File: opened, at: at, fs: w, name: name}, nil
}

type watchedFile struct {
	fs.File
	at     io.ReaderAt
	fs     *watchedFS
	name   string
	closed atomic.Bool
}

func (f *watchedFile) Close() error {
	f.closed.Store(true)
	return f.File.Close()
}

func (f *watchedFile) ReadAt(p []byte, offset int64) (int, error) {
	f.fs.reads.Add(1)
	if f.fs.before != nil {
		f.fs.before(f.name)
	}
	switch err := f.fs.failure(); {
	case err != nil:
		return 0, err
	case f.closed.Load():
		return 0, fs.ErrClosed
	}
	return f.at.ReadAt(p, offset)
}

// TestDamage shows files with each byte flipped, and cut at each place. What is read of them is never another text.
func TestDamage(t *testing.T) {
	identity := newIdentity(t)
	text := rows(400)
	for name, file := range map[string][]byte{
		"x.csv.zst.age": seal(t, identity, pack(t, text, 100)),
		"x.csv.age":     seal(t, identity, text),
	} {
		for i := range file {
			flipped := bytes.Clone(file)
			flipped[i] ^= 1 << (i % 8)
			checkDamaged(t, identity, name, flipped, text)
			checkDamaged(t, identity, name, file[:i], text)
		}
		checkDamaged(t, identity, name, append(bytes.Clone(file), 0), text)
	}
}

func checkDamaged(t *testing.T, identity age.Identity, name string, damaged, text []byte) {
	t.Helper()
	view := newView(t, fstest.MapFS{name: {Data: damaged}}, identity)
	if got, err := fs.ReadFile(view, "x.csv"); err == nil && !bytes.Equal(got, text) {
		t.Fatalf("%d bytes of another text are given out", len(got))
	}
	if got := names(t, view, "."); len(got) != 1 {
		t.Fatalf("listed are %q", got)
	}
	if got := readAll(t, view, name); !bytes.Equal(got, damaged) {
		t.Fatal("the file is not as it is under its own name")
	}
}

// TestDamagedWhileOpen flips bytes, and cuts, behind the back of a file that is open.
func TestDamagedWhileOpen(t *testing.T) {
	identity := newIdentity(t)
	text := rows(300_000)
	for name, file := range map[string][]byte{
		"x.csv.zst.age": seal(t, identity, pack(t, text, 50_000)),
		"x.csv.age":     seal(t, identity, text),
	} {
		for at := 0; at < len(file); at += 997 {
			changing := bytes.Clone(file)
			opened, err := newView(t, fstest.MapFS{name: {Data: changing}}, identity).Open("x.csv")
			if err != nil {
				t.Fatal(err)
			}
			changing[at] ^= 4
			got := make([]byte, len(text))
			n, err := opened.(io.ReaderAt).ReadAt(got, 0)
			if !bytes.Equal(got[:n], text[:n]) || n < len(text) && !errors.Is(err, agefile.ErrCorrupt) {
				t.Fatalf("%d bytes, error %v, or they differ", n, err)
			}
			if err := opened.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLyingTable has seek tables that do not fit the frames, in files that are authentic.
func TestLyingTable(t *testing.T) {
	identity := newIdentity(t)
	frame := compress.NewEncoder(compress.Zstd, 1).AppendFrame(nil, rows(1000))
	for name, table := range map[string][][2]int64{
		"more text":      {{int64(len(frame)), 2000}},
		"less text":      {{int64(len(frame)), 500}},
		"no text":        {{int64(len(frame)), 0}},
		"cut":            {{int64(len(frame)) - 10, 500}, {10, 500}},
		"text of naught": {{int64(len(frame)), 1000}, {0, 10}},
	} {
		trailer := compress.NewTrailer(compress.Zstd)
		for _, entry := range table {
			trailer.Add(entry[0], entry[1])
		}
		file := bytes.NewBuffer(bytes.Clone(frame))
		if _, err := trailer.WriteTo(file); err != nil {
			t.Fatal(err)
		}
		view := newView(t, fstest.MapFS{"x.csv.zst.age": {Data: seal(t, identity, file.Bytes())}}, identity)
		got, err := fs.ReadFile(view, "x.csv")
		if name == "no text" {
			if len(got) != 0 || err != nil {
				t.Errorf("%s: %d bytes, error %v", name, len(got), err)
			}
			continue
		}
		if !errors.Is(err, compress.ErrCorrupt) || !bytes.HasPrefix(rows(1000), got) {
			t.Errorf("%s: %d bytes, error %v", name, len(got), err)
		}
	}
}

// TestFramesAreDecodedOnce reads in order, by several goroutines, in pieces that do not fit the frames.
func TestFramesAreDecodedOnce(t *testing.T) {
	identity := newIdentity(t)
	text := rows(1_000_000)
	source := &watchedFS{MapFS: fstest.MapFS{"x.csv.zst.age": {Data: seal(t, identity, pack(t, text, 100_000))}}}
	opened, err := newView(t, source, identity).Open("x.csv")
	if err != nil {
		t.Fatal(err)
	}
	source.reads.Store(0)
	const step = 30_000
	got := make([]byte, len(text))
	var next atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for at := next.Add(step) - step; at < int64(len(text)); at = next.Add(step) - step {
				if _, err := opened.(io.ReaderAt).ReadAt(got[at:min(at+step, int64(len(text)))], at); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if !bytes.Equal(got, text) {
		t.Error("the text differs")
	}
	if reads := source.reads.Load(); reads > 10 {
		t.Errorf("10 frames took %d reads", reads)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

// TestKnownVersions looks into a file once, and again when it has changed.
func TestKnownVersions(t *testing.T) {
	identity := newIdentity(t)
	source := &watchedFS{MapFS: fstest.MapFS{
		"x.csv.zst.age": {Data: seal(t, identity, pack(t, rows(1000), 100)), Sys: version(1)},
		"other.age":     {Data: []byte("not age"), Sys: version(1)},
	}}
	view := newView(t, source, identity)
	want := []string{"other.age 7", "x.csv 1000"}
	if got := names(t, view, "."); !slices.Equal(got, want) {
		t.Errorf("listed are %q", got)
	}
	info, err := view.Stat("x.csv")
	if err != nil || info.Sys() != version(1) {
		t.Errorf("Stat gives %v, %v", info, err)
	}
	source.reads.Store(0)
	for range 3 {
		if got := names(t, view, "."); !slices.Equal(got, want) {
			t.Errorf("listed are %q", got)
		}
		if _, err := view.Stat("x.csv"); err != nil {
			t.Error(err)
		}
	}
	if reads := source.reads.Load(); reads != 0 {
		t.Errorf("what is known is read %d times", reads)
	}
	source.MapFS["x.csv.zst.age"] = &fstest.MapFile{Data: seal(t, identity, pack(t, rows(2000), 100)), Sys: version(2)}
	source.MapFS["other.age"] = &fstest.MapFile{Data: seal(t, identity, nil), Sys: version(2)}
	if got, want := names(t, view, "."), []string{"other 0", "x.csv 2000"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	if info, err := view.Stat("x.csv"); err != nil || info.Sys() != version(2) || info.Size() != 2000 {
		t.Errorf("Stat gives %v, %v", info, err)
	}
	if got := readAll(t, view, "x.csv"); !bytes.Equal(got, rows(2000)) {
		t.Error("the text is not that of the new version")
	}
}

// TestUnversioned has files of a file system that tells no versions change behind its back.
func TestUnversioned(t *testing.T) {
	identity := newIdentity(t)
	source := fstest.MapFS{}
	view := newView(t, source, identity)
	for _, text := range []string{"one text", "two text", "three"} {
		source["x.csv.zst.age"] = &fstest.MapFile{Data: seal(t, identity, pack(t, []byte(text), 4)), Sys: &text}
		if got := string(readAll(t, view, "x.csv")); got != text {
			t.Errorf("%q is read, and %q is there", got, text)
		}
		if info, err := view.Stat("x.csv"); err != nil || info.Sys() != nil || info.Size() != int64(len(text)) {
			t.Errorf("Stat gives %v, %v", info, err)
		}
	}
}

// TestFailures has the file system fail, and work again.
func TestFailures(t *testing.T) {
	identity := newIdentity(t)
	text := rows(1_000_000)
	source := &watchedFS{MapFS: fstest.MapFS{
		"x.csv.zst.age": {Data: seal(t, identity, pack(t, text, 100_000)), Sys: version(1)},
		"y.csv":         {Data: []byte("1")},
	}}
	view := newView(t, source, identity)
	failure := errors.New("no answer")
	source.fail.Store(&failure)
	for what, err := range map[string]error{
		"Open": second(view.Open("x.csv")), "Stat": second(view.Stat("x.csv")), "Lstat": second(view.Lstat("x.csv")),
	} {
		if !errors.Is(err, failure) || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), ".age") {
			t.Errorf("%s gives %v", what, err)
		}
	}
	if got := names(t, view, "."); len(got) != 2 || !strings.HasPrefix(got[0], "x.csv.zst.age ") {
		t.Errorf("listed are %q", got)
	}
	source.fail.Store(nil)
	opened, err := view.Open("x.csv")
	if err != nil {
		t.Fatal(err)
	}
	source.fail.Store(&failure)
	p := make([]byte, 1500)
	n, err := opened.(io.ReaderAt).ReadAt(p, 100)
	if n != 0 || !errors.Is(err, failure) {
		t.Errorf("%d bytes, error %v", n, err)
	}
	source.fail.Store(nil)
	if n, err := opened.(io.ReaderAt).ReadAt(p, 100); n != len(p) || err != nil || !bytes.Equal(p, text[100:1600]) {
		t.Errorf("%d bytes, error %v, or they differ", n, err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestClosedByAnother closes a file while it decodes a frame that a second one waits for.
func TestClosedByAnother(t *testing.T) {
	identity := newIdentity(t)
	text := rows(1_000_000) // so that the first frame is not in the last chunk
	source := &watchedFS{MapFS: fstest.MapFS{
		"x.csv.zst.age": {Data: seal(t, identity, pack(t, text, 100_000)), Sys: version(1)},
	}}
	view := newView(t, source, identity)
	first, err := view.Open("x.csv")
	if err != nil {
		t.Fatal(err)
	}
	other, err := view.Open("x.csv")
	if err != nil {
		t.Fatal(err)
	}
	under, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	source.before = func(string) {
		once.Do(func() {
			close(under)
			<-goOn
		})
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := first.(io.ReaderAt).ReadAt(make([]byte, 10), 0); err == nil {
			t.Error("a file that was closed is read")
		}
	})
	<-under
	wait.Go(func() {
		p := make([]byte, 10_000)
		if _, err := other.(io.ReaderAt).ReadAt(p, 0); err != nil || !bytes.Equal(p, text[:10_000]) {
			t.Errorf("error %v, or the text differs", err)
		}
	})
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	close(goOn)
	wait.Wait()
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// TestPanicWhileOthersWait has the read of a frame panic that another reader waits for.
func TestPanicWhileOthersWait(t *testing.T) {
	identity := newIdentity(t)
	text := rows(3_000_000) // so that the first chunk is not known from the look into the file
	source := &watchedFS{MapFS: fstest.MapFS{"x.csv.zst.age": {Data: seal(t, identity, pack(t, text, 100_000))}}}
	opened, err := newView(t, source, identity).Open("x.csv")
	if err != nil {
		t.Fatal(err)
	}
	reached, goOn := make(chan struct{}), make(chan struct{})
	var panicked atomic.Bool
	source.before = func(string) {
		if panicked.CompareAndSwap(false, true) {
			close(reached)
			<-goOn
			panic("a file that panics")
		}
	}
	got := make([]byte, 100)
	var wait sync.WaitGroup
	wait.Go(func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_, _ = opened.(io.ReaderAt).ReadAt(make([]byte, 100), 0) // it panics
	})
	<-reached
	waiting := make(chan struct{})
	wait.Go(func() {
		close(waiting)
		// It fails if it had to wait for the other one, and else reads the frame itself.
		if n, err := opened.(io.ReaderAt).ReadAt(got, 0); err == nil && !bytes.Equal(got[:n], text[:100]) {
			t.Error("the text differs")
		}
	})
	<-waiting
	close(goOn)
	wait.Wait()
	if n, err := opened.(io.ReaderAt).ReadAt(got, 0); err != nil || !bytes.Equal(got[:n], text[:100]) {
		t.Errorf("after a panic there are %d bytes, %v", n, err)
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
}
