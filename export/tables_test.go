package export_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"github.com/ncruces/go-sqlite3"

	"culvert/agefile"
	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
	"culvert/sqlite"
)

// schema is a source of several generated tables.
type schema map[string]*generated

func (s schema) Table(ctx context.Context, name string) (source.Rows, error) {
	table, found := s[name]
	switch {
	case !found:
		return nil, &source.UnknownError{What: "table", Name: name}
	case table == nil:
		return nil, errDenied
	}
	return &sizedRows{generatedRows{generated: table, ctx: ctx}}, nil
}

func (s schema) Query(ctx context.Context, sql string) (source.Rows, error) { return s.Table(ctx, sql) }
func (s schema) Close() error                                               { return nil }

func (s schema) Describe(context.Context) (source.Description, error) {
	return source.Description{System: "made up", Database: "shop", Snapshot: "7", Position: "0/9"}, nil
}

// sizedRows know how many they are.
type sizedRows struct{ generatedRows }

func (r *sizedRows) Size() (source.Size, error) {
	return source.Size{Rows: int64(r.rows), Bytes: 10 * int64(r.rows)}, nil
}

var errDenied = errors.New("permission denied")

// shelf keeps files in memory, and fails at those it is told to.
type shelf struct {
	mu         sync.Mutex
	files      map[string][]byte // that are complete
	open       int
	committing int

	noCreate, noWrite, noCommit string        // names
	waiting, most               int           // bytes of the files that are being committed, and how many they were
	late                        time.Duration // that a commit takes
	taken                       string        // a name: others have created it when all that can happen has happened
	created                     chan struct{} // is told of each file, if not nil; the second commit waits for the third
}

func newShelf() *shelf { return &shelf{files: map[string][]byte{}} }

func (s *shelf) Open(name string) (fs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := fstest.MapFS{}
	for name, content := range s.files {
		files[name] = &fstest.MapFile{Data: content}
	}
	return files.Open(name)
}

func (s *shelf) Remove(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, name)
	return nil
}

func (s *shelf) Replace(ctx context.Context, name string) (place.File, error) {
	return s.Create(ctx, name)
}

func (s *shelf) Create(_ context.Context, name string) (place.File, error) {
	if name == s.noCreate {
		return nil, errFull
	}
	if s.created != nil {
		s.created <- struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &shelved{shelf: s, name: name}, nil
}

type shelved struct {
	shelf *shelf
	name  string
	bytes.Buffer
}

func (f *shelved) Write(p []byte) (int, error) {
	if f.name == f.shelf.noWrite {
		return 0, errFull
	}
	return f.Buffer.Write(p)
}

func (f *shelved) Commit() error {
	f.shelf.mu.Lock()
	f.shelf.open--
	f.shelf.committing++
	if f.shelf.committing > 8 {
		panic("too many commits at once")
	}
	f.shelf.waiting += f.Len()
	f.shelf.most = max(f.shelf.most, f.shelf.waiting)
	f.shelf.mu.Unlock()
	<-time.After(f.shelf.late) // of a clock that does not wait
	if created := f.shelf.created; created != nil && f.name == "b.csv" {
		<-created // of the first
		<-created // of itself
		<-created // of the next
	}
	if f.name == f.shelf.taken {
		synctest.Wait()
		return &fs.PathError{Op: "commit", Path: f.name, Err: fs.ErrExist}
	}
	f.shelf.mu.Lock()
	defer f.shelf.mu.Unlock()
	f.shelf.committing--
	f.shelf.waiting -= f.Len()
	if f.name == f.shelf.noCommit {
		return errFull
	}
	f.shelf.files[f.name] = f.Bytes()
	return nil
}

func (f *shelved) Discard() error {
	f.shelf.mu.Lock()
	defer f.shelf.mu.Unlock()
	f.shelf.open--
	return nil
}

func (s *shelf) names() []string { return slices.Sorted(maps.Keys(s.files)) }

// TestTables exports tables of which some fail, each in its own way.
func TestTables(t *testing.T) {
	src := schema{
		"orders": {rows: 90_000}, "empty": {}, "denied": nil, "Orders": {rows: 10},
		"broken": {rows: 90_000, failAt: 80_000, fail: errFull},
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	progress := new(export.Progress)
	plan := export.Plan{Recipients: []age.Recipient{id.Recipient()}, Jobs: 3, Progress: progress}
	files := newShelf()
	names := []string{"denied", "orders", "broken", "Orders", "empty"}
	all, err := plan.Tables(t.Context(), files, src, names)
	if partial, ok := errors.AsType[*export.PartialError](err); !ok || partial.Failed != 2 || partial.Tables != 5 {
		t.Fatalf("error %v", err)
	}
	want := []string{"Orders-2.csv.zst.age", "empty.csv.zst.age", "manifest.json.age", "orders.csv.zst.age"}
	if got := files.names(); !slices.Equal(got, want) || files.open != 0 {
		t.Fatalf("files %q, want %q, %d open", got, want, files.open)
	}
	list := readManifest(t, files, id)
	var rows, text, out int64
	for i, stats := range all {
		entry := list.Tables[i]
		if stats.Name != names[i] || entry.Name != names[i] {
			t.Errorf("table %d is %q, and %q in the manifest, want %q", i, stats.Name, entry.Name, names[i])
		}
		if stats.Err != nil {
			if entry.Error != stats.Err.Error() || stats.Rows != 0 || entry.Parts != nil {
				t.Errorf("%+v in the manifest, after %+v", entry, stats)
			}
			continue
		}
		file := files.files[stats.File]
		sum := sha256.Sum256(file)
		plain, err := open(file, id)
		if err != nil || stats.Parts[0].SHA256 != hex.EncodeToString(sum[:]) || stats.Out != int64(len(file)) ||
			stats.Text != int64(len(plain)) || stats.Rows != int64(src[names[i]].rows) ||
			bytes.Count(plain, []byte("\n")) != src[names[i]].rows+1 {
			t.Errorf("%s: %+v of %d bytes, text %d, error %v", names[i], stats, len(file), len(plain), err)
		}
		want := manifest.Table{
			Name: stats.Name, Columns: []manifest.Column{{Name: "id"}, {Name: "text"}},
			Rows: stats.Rows, TextBytes: stats.Text, FileBytes: stats.Out, HeaderBytes: int64(len("id,text\n")),
			Sum: naiveSum(t, src, names[i]).String(), Canonical: stats.Sum.String(), Readers: 1,
			Parts: []manifest.Part{{
				File: stats.File, Rows: stats.Rows, TextBytes: stats.Text, FileBytes: stats.Out,
				SHA256: hex.EncodeToString(sum[:]), Sum: stats.Sum.String(),
				Canonical: stats.Sum.String(),
			}},
		}
		if fmt.Sprint(entry) != fmt.Sprint(want) {
			t.Errorf("%+v in the manifest, want %+v", entry, want)
		}
		rows, text, out = rows+stats.Rows, text+stats.Text, out+stats.Out
	}
	if !errors.Is(all[0].Err, errDenied) || !errors.Is(all[2].Err, errFull) {
		t.Errorf("errors %v, %v", all[0].Err, all[2].Err)
	}
	if progress.Rows.Load() != rows || progress.Text.Load() != text || progress.Out.Load() != out ||
		progress.Done() != 1 {
		t.Errorf("progress ends at %d rows, want %d, %v done", progress.Rows.Load(), rows, progress.Done())
	}
}

// readManifest reads the manifest, and compares what is not of one table.
func readManifest(t *testing.T, files *shelf, identities ...age.Identity) *manifest.Manifest {
	t.Helper()
	r, err := agefile.NewReader(bytes.NewReader(files.files[manifest.EncryptedName]), identities...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	m, err := manifest.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	if m.System != "made up" || m.Database != "shop" || m.Snapshot != "7" || m.Position != "0/9" || m.Format != "csv" ||
		m.Compression != "zstd" || !m.Encrypted || !strings.HasPrefix(m.Tool, "culvert ") || m.Ended.Before(m.Begun) {
		t.Errorf("manifest %+v", m)
	}
	return m
}

// TestTablesStopped stops an export in all ways. There is no manifest, and what is complete is told.
func TestTablesStopped(t *testing.T) {
	lost := fmt.Errorf("%w: it went away", source.ErrUnavailable)
	for name, test := range map[string]struct {
		change   func(plan *export.Plan, files *shelf, src schema)
		want     error
		complete []string
	}{
		"database lost": {
			func(_ *export.Plan, _ *shelf, src schema) { src["b"].failAt, src["b"].fail = 1, lost },
			lost,
			[]string{"a"},
		},
		"fail fast": {
			func(plan *export.Plan, _ *shelf, src schema) {
				plan.FailFast, src["c"].failAt, src["c"].fail = true, 1, errDenied
			},
			errDenied,
			[]string{"a", "b"},
		},
		"fail fast before the first": {
			func(plan *export.Plan, _ *shelf, src schema) { plan.FailFast, src["c"] = true, nil },
			errDenied,
			nil,
		},
		"create": {func(_ *export.Plan, files *shelf, _ schema) { files.noCreate = "b.csv" }, errFull, []string{"a"}},
		"write":  {func(_ *export.Plan, files *shelf, _ schema) { files.noWrite = "b.csv" }, errFull, []string{"a"}},
		"commit": {func(_ *export.Plan, files *shelf, _ schema) { files.noCommit = "a.csv" }, errFull, nil},
		"last commit": {
			func(_ *export.Plan, files *shelf, _ schema) { files.noCommit = "c.csv" },
			errFull,
			[]string{"a", "b"},
		},
		"manifest": {
			func(_ *export.Plan, files *shelf, _ schema) { files.noWrite = manifest.Name },
			errFull,
			[]string{"a", "b", "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := export.Plan{Unencrypted: true, Compression: export.None}
			files, src := newShelf(), schema{"a": {rows: 10}, "b": {rows: 10}, "c": {rows: 10}}
			test.change(&plan, files, src)
			all, err := plan.Tables(t.Context(), files, src, []string{"a", "b", "c"})
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			var complete, names []string
			for _, stats := range all {
				complete, names = append(complete, stats.Name), append(names, stats.File)
			}
			if !slices.Equal(complete, test.complete) || !slices.Equal(files.names(), names) || files.open != 0 {
				t.Errorf("complete %q, want %q; files %q, %d open", complete, test.complete, files.names(), files.open)
			}
		})
	}
}

func TestTablesCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plan := export.Plan{Unencrypted: true}
	files := newShelf()
	src := schema{"a": {rows: 10}, "b": {rows: 10, change: func(_ int, text []byte) []byte { cancel(); return text }}}
	src["b"].failAt = 5 // where it waits for the context
	all, err := plan.Tables(ctx, files, src, []string{"a", "b", "a2"}[:2])
	if !errors.Is(err, context.Canceled) || len(all) != 1 || len(files.files) != 1 || files.open != 0 {
		t.Errorf("%+v, error %v, files %q", all, err, files.names())
	}
}

// TestTablesRefused fails before anything is made.
func TestTablesRefused(t *testing.T) {
	src := schema{"a": {rows: 10}}
	for name, test := range map[string]struct {
		plan  export.Plan
		names []string
	}{
		"unknown":       {export.Plan{Unencrypted: true}, []string{"a", "b"}},
		"twice":         {export.Plan{Unencrypted: true}, []string{"a", "a"}},
		"none":          {export.Plan{Unencrypted: true}, nil},
		"no recipients": {export.Plan{}, []string{"a"}},
		"selection":     {export.Plan{Unencrypted: true, Selection: source.Selection{Limit: 1}}, []string{"a"}},
	} {
		files := newShelf()
		files.noCreate = "a.csv.zst"
		if _, err := test.plan.Tables(t.Context(), files, src, test.names); err == nil || errors.Is(err, errFull) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestTablesRace loses the first name to another export, which takes no others from it.
func TestTablesRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := newShelf()
		files.taken = "a.csv"
		plan := export.Plan{Unencrypted: true, Compression: export.None}
		src := schema{"a": {rows: 10}, "b": {rows: 10}, "c": {rows: 10}}
		_, err := plan.Tables(t.Context(), files, src, []string{"a", "b", "c"})
		if !errors.Is(err, fs.ErrExist) || len(files.files) != 0 {
			t.Errorf("error %v, files %q", err, files.names())
		}
	})
}

// TestTablesOverlap has a commit that ends only when the next table is under way.
func TestTablesOverlap(t *testing.T) {
	files := newShelf()
	files.created = make(chan struct{}, 4)
	plan := export.Plan{Unencrypted: true, Compression: export.None}
	src := schema{"a": {rows: 10}, "b": {rows: 10}, "c": {rows: 10}}
	if _, err := plan.Tables(t.Context(), files, src, []string{"a", "b", "c"}); err != nil || len(files.files) != 4 {
		t.Errorf("error %v, files %q", err, files.names())
	}
}

// TestTablesWaiting has commits that take much longer than the tables, as those to a bucket over a slow line: the files
// that wait for them take a bounded part of the memory, and small ones wait together.
func TestTablesWaiting(t *testing.T) {
	for name, test := range map[string]struct{ rows, least, most int }{
		"Small": {10, 100, 8 << 20}, "Large": {110_000, 8 << 20, 16 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files, src, names := newShelf(), schema{}, []string{}
				files.late = time.Hour
				for i := range 12 {
					names = append(names, fmt.Sprint("t", i))
					src[names[i]] = &generated{rows: test.rows}
				}
				plan := export.Plan{Unencrypted: true, Compression: export.None}
				all, err := plan.Tables(t.Context(), files, src, names)
				if err != nil {
					t.Fatal(err)
				}
				if files.most < test.least || files.most > test.most || files.most < 2*int(all[0].Out) {
					t.Errorf("up to %d bytes have waited in files of %d", files.most, all[0].Out)
				}
			})
		})
	}
}

// TestTablesOfSQLite writes to the tables when the first file is begun. All are exported as they were before.
func TestTablesOfSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	writer, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	err = writer.Exec(`PRAGMA journal_mode = WAL; CREATE TABLE a AS SELECT 1; CREATE TABLE b AS SELECT 1`)
	if err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.OpenSource(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	shelf := newShelf()
	files := createFunc{shelf, func(ctx context.Context, name string) (place.File, error) {
		if err := writer.Exec("INSERT INTO a VALUES (2); INSERT INTO b VALUES (2)"); err != nil {
			t.Error(err)
		}
		return shelf.Create(ctx, name)
	}}
	plan := export.Plan{Unencrypted: true}
	all, err := plan.Tables(t.Context(), files, src, []string{"a", "b"})
	if err != nil || all[0].Rows != 1 || all[1].Rows != 1 {
		t.Errorf("%+v, error %v", all, err)
	}
	m, err := manifest.Read(bytes.NewReader(shelf.files[manifest.Name]))
	if err != nil || !strings.HasPrefix(m.System, "SQLite 3.") || m.Snapshot == "" {
		t.Errorf("manifest %+v, error %v", m, err)
	}
}

// TestTablesOfAnotherExport finds a manifest in the place.
func TestTablesOfAnotherExport(t *testing.T) {
	for _, name := range []string{manifest.Name, manifest.EncryptedName} {
		files := newShelf()
		files.files[name] = []byte("of another")
		plan := export.Plan{Unencrypted: true, Compression: export.None}
		src := schema{"a": {rows: 10}}
		if _, err := plan.Tables(t.Context(), files, src, []string{"a"}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: error %v", name, err)
		}
		if names := files.names(); !slices.Equal(names, []string{name}) {
			t.Errorf("%s: files %q", name, names)
		}
		plan.Overwrite = true
		if _, err := plan.Tables(t.Context(), files, src, []string{"a"}); err != nil {
			t.Errorf("%s: error %v", name, err)
		}
		if names := files.names(); !slices.Equal(names, []string{"a.csv", manifest.Name}) {
			t.Errorf("%s: files %q", name, names)
		}
	}
}
