package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// cuttable is a schema that can be cut into parts, each of so many rows.
type cuttable struct {
	schema
	failing map[string]int // the number of the part of a table that fails, from 1
	opened  atomic.Int64   // sessions that have joined
	closed  atomic.Int64
	most    int64           // sessions that may join
	locked  map[string]bool // tables of which those that have joined do not get the lock, and others only if true
}

func (c *cuttable) Parts(ctx context.Context, table string, s source.Selection, size int64) ([]source.Part, error) {
	rows, err := c.Table(ctx, table)
	if err != nil {
		return nil, err
	}
	of := c.schema[table]
	part := source.Part{
		Table: table, Columns: rows.Columns(), Selection: s, Snapshot: source.Snapshot{Token: "7"}, Bytes: size,
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	var parts []source.Part
	for from := 0; from == 0 || from < of.rows; from += int(size) {
		part.Range = source.Range{By: "id", From: strconv.Itoa(from), To: strconv.Itoa(min(of.rows, from+int(size)))}
		parts = append(parts, part)
	}
	return parts, nil
}

func (c *cuttable) Part(ctx context.Context, p source.Part) (source.Rows, error) {
	from, err := strconv.Atoi(p.Range.From)
	if err != nil {
		return nil, err
	}
	table := *c.schema[p.Table]
	if free, locked := c.locked[p.Table]; locked && !free {
		return nil, source.ErrLocked
	}
	if table.rows, err = strconv.Atoi(p.Range.To); err != nil {
		return nil, err
	}
	if n := c.failing[p.Table]; n > 0 && table.rows >= n {
		return nil, errFull
	}
	return &generatedRows{generated: &table, ctx: ctx, row: from}, nil
}

// shared is a cuttable schema whose snapshot others can join.
type shared struct{ *cuttable }

func (s shared) Share(context.Context) (source.Snapshot, error) {
	return source.Snapshot{Token: "7"}, nil
}

func (s shared) Join(_ context.Context, snapshot source.Snapshot) (source.Source, error) {
	if snapshot.Token != "7" || s.opened.Add(1) > s.most {
		return nil, fmt.Errorf("%w: too many connections", source.ErrUnavailable)
	}
	return joinedSession(s), nil
}

type joinedSession struct{ *cuttable }

func (s joinedSession) Part(ctx context.Context, p source.Part) (source.Rows, error) {
	if _, locked := s.locked[p.Table]; locked {
		return nil, source.ErrLocked
	}
	return s.cuttable.Part(ctx, p)
}

func (s joinedSession) Close() error {
	s.closed.Add(1)
	return nil
}

func filesOf(to *shelf) fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range to.files {
		files[name] = &fstest.MapFile{Data: content}
	}
	return files
}

// inParts returns a plan that writes parts of about size bytes.
func inParts(plan export.Plan, size int64) *export.Plan {
	plan.PartSize = size
	return &plan
}

// TestParts exports tables in parts and compares them, as one, with the tables.
func TestParts(t *testing.T) {
	identity := newIdentity(t)
	tables := schema{"orders": {rows: 50_000}, "empty": {}, "Orders": {rows: 1}}
	names := []string{"orders", "empty", "Orders"}
	compressions := sumCompressions
	if testkit.RaceDetector() { // the goroutines are the same for all of them
		compressions = compressions[:1]
	}
	for _, f := range []format.Format{format.CSV{}, format.JSONL{}} {
		want := map[string]parted{}
		for _, name := range names {
			text, _ := encodeAlone(t, tables, name, f)
			want[name] = parted{text, naiveSum(t, tables, name), tables[name].rows}
		}
		for _, c := range compressions {
			for sessions := range int64(3) {
				db := &cuttable{schema: tables, most: sessions}
				var src source.Source = db
				if sessions > 0 {
					src = shared{db}
				}
				to := newShelf()
				plan := export.Plan{
					Format: f, Compression: c, Jobs: 3, Recipients: []age.Recipient{identity.Recipient()},
					Progress: new(export.Progress),
				}
				all, err := inParts(plan, 7000).Tables(t.Context(), to, src, names)
				if err != nil {
					t.Fatal(err)
				}
				if db.opened.Load() < sessions || db.closed.Load() != sessions || plan.Progress.Done() != 1 {
					t.Errorf("%d sessions, %d closed, %v done", db.opened.Load(), db.closed.Load(),
						plan.Progress.Done())
				}
				checkParted(t, to, &plan, identity, want, all)
			}
		}
	}
}

// parted is what an export in parts must have of a table.
type parted struct {
	text []byte
	sum  export.Sum
	rows int
}

// checkParted reads an export in parts of 7,000 rows.
func checkParted(
	t *testing.T, to *shelf, plan *export.Plan, identity age.Identity, tables map[string]parted,
	all []export.TableStats,
) {
	t.Helper()
	d, err := export.OpenDirectory(filesOf(to), identity)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if names, more, err := d.Unlisted(10); len(names) > 0 || more > 0 || err != nil {
		t.Errorf("unlisted are %q and %d more, error %v", names, more, err)
	}
	for i := range d.Manifest.Tables {
		entry, stats := &d.Manifest.Tables[i], all[i]
		want, rows := tables[entry.Name].text, tables[entry.Name].rows
		if parts := max(1, (rows+6999)/7000); len(entry.Parts) != parts || len(stats.Parts) != parts ||
			entry.Parts[0].File != stats.File+"/000001"+plan.Extension() || entry.File() != stats.File ||
			!entry.Parted() || d.Table(stats.File) != entry {
			t.Errorf("%s: %d parts, the first %q", entry.Name, len(entry.Parts), entry.Parts[0].File)
		}
		if sum := tables[entry.Name].sum; entry.Rows != int64(rows) || entry.Sum != sum.String() ||
			stats.Sum != sum || entry.TextBytes != int64(len(want)) || stats.Text != entry.TextBytes {
			t.Errorf("%s: %+v, want %d rows with the sum %s and %d bytes", entry.Name, stats, rows, sum, len(want))
		}
		r, err := d.Open(entry)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) || !r.Complete() || !r.Encrypted() ||
			r.Compression() != plan.Compression {
			t.Errorf("%s: %d bytes, want %d, error %v", entry.Name, len(got), len(want), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		checkPartedAt(t, d, entry, plan.Compression, want)
	}
}

// checkPartedAt reads a table in parts at random.
func checkPartedAt(t *testing.T, d *export.Directory, table *manifest.Table, c export.Compression, want []byte) {
	t.Helper()
	at, err := d.ReaderAt(table)
	if c == export.Gzip {
		if !errors.Is(err, export.ErrSequential) {
			t.Errorf("gzip at random: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if at.Size() != int64(len(want)) {
		t.Errorf("size %d, want %d", at.Size(), len(want))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		off, most := r.IntN(len(want)+10), len(want)/50
		if i < 2 {
			most = len(want) // several parts
		}
		p := make([]byte, 1+r.IntN(most+20))
		n, err := at.ReadAt(p, int64(off))
		rest := want[min(off, len(want)):]
		if !bytes.Equal(p[:n], rest[:min(len(p), len(rest))]) || (err == io.EOF) != (len(p) > len(rest)) ||
			err != nil && err != io.EOF {
			t.Errorf("at %d: %d bytes of %d, error %v", off, n, len(p), err)
		}
	}
	if _, err := at.ReadAt(nil, -1); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("before the beginning: %v", err)
	}
	if err := at.Close(); err != nil {
		t.Error(err)
	}
	if _, err := at.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) && len(want) > 0 {
		t.Errorf("after Close: %v", err)
	}
}

// TestPartsFail has a part of one table fail. The other table is complete, and nothing is left of the first.
func TestPartsFail(t *testing.T) {
	db := &cuttable{
		schema: schema{"a": {rows: 90}, "b": {rows: 90}, "denied": nil}, failing: map[string]int{"a": 50}, most: 9,
	}
	plan := export.Plan{Unencrypted: true, Jobs: 4, Progress: new(export.Progress)}
	to := newShelf()
	all, err := inParts(plan, 10).Tables(t.Context(), to, shared{db}, []string{"a", "denied", "b"})
	partial, ok := errors.AsType[*export.PartialError](err)
	if !ok || partial.Failed != 2 || !errors.Is(all[0].Err, errFull) || !errors.Is(all[1].Err, errDenied) {
		t.Fatalf("%+v, error %v", all, err)
	}
	for _, name := range to.names() {
		if !strings.HasPrefix(name, "b/") && name != manifest.Name {
			t.Errorf("%s is left", name)
		}
	}
	d, err := export.OpenDirectory(filesOf(to))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(t.Context(), nil); !errors.As(err, &partial) || d.Manifest.Tables[2].Rows != 90 {
		t.Errorf("%+v, error %v", d.Manifest.Tables, err)
	}

	plan.FailFast = true
	to = newShelf()
	all, err = inParts(plan, 10).Tables(t.Context(), to, db, []string{"b", "a"})
	if !errors.Is(err, errFull) || len(all) != 1 || all[0].Name != "b" ||
		slices.Contains(to.names(), manifest.Name) {
		t.Errorf("fail fast: %+v, error %v, files %q", all, err, to.names())
	}
}

// TestPartsStopped has the place fail, and the export be canceled. There is no manifest.
func TestPartsStopped(t *testing.T) {
	db := shared{&cuttable{schema: schema{"a": {rows: 90}}, most: 9}}
	plan := export.Plan{Unencrypted: true, Compression: export.None, Jobs: 2}
	for what, fail := range map[string]func(*shelf){
		"create": func(s *shelf) { s.noCreate = "a/000004.csv" },
		"write":  func(s *shelf) { s.noWrite = "a/000004.csv" },
		"commit": func(s *shelf) { s.noCommit = "a/000004.csv" },
	} {
		to := newShelf()
		fail(to)
		_, err := inParts(plan, 10).Tables(t.Context(), to, db, []string{"a"})
		if _, partial := errors.AsType[*export.PartialError](err); !errors.Is(err, errFull) || partial ||
			slices.Contains(to.names(), manifest.Name) {
			t.Errorf("%s: error %v, files %q", what, err, to.names())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inParts(plan, 10).Tables(ctx, newShelf(), db, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestPartsRefused(t *testing.T) {
	db := &cuttable{schema: schema{"a": {}, "b": {}}}
	to := newShelf()
	for what, test := range map[string]struct {
		plan  export.Plan
		src   source.Source
		names []string
	}{
		"no parter":  {export.Plan{Unencrypted: true}, db.schema, []string{"a"}},
		"no table":   {export.Plan{Unencrypted: true}, db, nil},
		"twice":      {export.Plan{Unencrypted: true}, db, []string{"a", "a"}},
		"unknown":    {export.Plan{Unencrypted: true}, db, []string{"a", "x"}},
		"recipients": {export.Plan{}, db, []string{"a"}},
		"limit":      {export.Plan{Unencrypted: true, Selection: source.Selection{Limit: 1}}, db, []string{"a"}},
		"selection": {
			export.Plan{Unencrypted: true, Selection: source.Selection{Where: "x"}}, db, []string{"a", "b"},
		},
	} {
		if _, err := inParts(test.plan, 10).Tables(t.Context(), to, test.src, test.names); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	plan := export.Plan{Unencrypted: true}
	if _, err := plan.Part(t.Context(), to, "x", db.schema, source.Part{}); err == nil {
		t.Error("a part of a source without parts: no error")
	}
	if len(to.files) > 0 {
		t.Errorf("files %q", to.names())
	}
	to.files[manifest.EncryptedName] = nil
	if _, err := inParts(plan, 10).Tables(t.Context(), to, db, []string{"a"}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside a manifest: %v", err)
	}
	plan.Overwrite = true
	if _, err := inParts(plan, 10).Tables(t.Context(), to, db, []string{"a"}); err != nil {
		t.Errorf("over a manifest: %v", err)
	}
}

// TestPartsDamaged takes away, cuts and exchanges parts.
func TestPartsDamaged(t *testing.T) {
	db := &cuttable{schema: schema{"a": {rows: 2000}, "b": {rows: 2000}}}
	to := newShelf()
	plan := export.Plan{Unencrypted: true}
	if _, err := inParts(plan, 1000).Tables(t.Context(), to, db, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	const second = "a/000002.csv.zst"
	for what, damage := range map[string]func(fstest.MapFS){
		"missing":   func(files fstest.MapFS) { delete(files, second) },
		"flipped":   func(files fstest.MapFS) { files[second].Data[300] ^= 1 },
		"cut":       func(files fstest.MapFS) { files[second].Data = files[second].Data[:3000] },
		"empty":     func(files fstest.MapFS) { files[second].Data = nil },
		"exchanged": func(files fstest.MapFS) { files[second] = files["a/000001.csv.zst"] },
		"all":       func(files fstest.MapFS) { delete(files, second); delete(files, "a/000001.csv.zst") },
	} {
		files := filesOf(to)
		for _, file := range files {
			file.Data = bytes.Clone(file.Data)
		}
		damage(files)
		d, err := export.OpenDirectory(files)
		if err != nil {
			t.Fatal(err)
		}
		err = d.VerifyTable(t.Context(), &d.Manifest.Tables[0])
		if at, is := errors.AsType[*fs.PathError](err); err == nil || !is || !strings.HasPrefix(at.Path, "a/") {
			t.Errorf("%s: verified with error %v", what, err)
		}
		if damaged, is := errors.AsType[*export.DamagedError](d.Verify(t.Context(), nil)); !is || damaged.Damaged != 1 {
			t.Errorf("%s: %v", what, damaged)
		}
		if what == "exchanged" {
			continue // only its hash shows that
		}
		r, err := d.Open(&d.Manifest.Tables[0])
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			err = errors.Join(err, r.Close())
		}
		if err == nil {
			t.Errorf("%s: read without an error", what)
		}
		if lost := what == "missing" || what == "all"; lost && !errors.Is(err, export.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestPartsMemory holds an export in parts to the formula of Tables, beyond what the process had before.
func TestPartsMemory(t *testing.T) {
	const sessions = 4
	rows := testkit.Fewer(1_000_000)
	identity := newIdentity(t)
	program := testkit.PeakMemory(t, func() {})
	testkit.MemoryCeiling(t, program+sessions*15<<20, func() {
		db := shared{&cuttable{schema: schema{"a": {rows: rows}}, most: sessions}}
		plan := export.Plan{Recipients: []age.Recipient{identity.Recipient()}, Jobs: sessions}
		all, err := inParts(plan, int64(rows/50)).Tables(t.Context(), discards{newShelf()}, db, []string{"a"})
		if err != nil || all[0].Rows != int64(rows) || all[0].Readers != sessions {
			t.Errorf("%+v, error %v", all, err)
		}
	})
}

// discards is a place that keeps nothing.
type discards struct{ *shelf }

func (d discards) Create(context.Context, string) (place.File, error) { return discarded{}, nil }

type discarded struct{}

func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) Commit() error               { return nil }
func (discarded) Discard() error              { return nil }
