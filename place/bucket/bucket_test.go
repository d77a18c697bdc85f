package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
	"culvert/place/placetest"
)

func verifyLeaks(m *testing.M) { goleak.VerifyTestMain(runner{m}) }

// runner runs the tests, and closes the connections of those clients that the tests themselves use.
type runner struct{ *testing.M }

func (r runner) Run() int {
	defer http.DefaultClient.CloseIdleConnections()
	return r.M.Run()
}

func Example() {
	path, err := os.MkdirTemp("", "backup")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(path) }() // it is a temporary one
	// With s3://backups/orders/?region=eu-central-1 it is the same.
	b, err := bucket.Open(context.Background(), "file://"+path, bucket.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	write := func() error {
		f, err := b.Create(context.Background(), "2026/notes.txt")
		if err != nil {
			return err
		}
		_, err = io.WriteString(f, "hello")
		if err != nil {
			return errors.Join(err, f.Discard())
		}
		return f.Commit()
	}
	fmt.Println(write())
	text, err := fs.ReadFile(b, "2026/notes.txt")
	fmt.Println(string(text), err, b.Close())
	// Output:
	// <nil>
	// hello <nil> <nil>
}

func open(t testing.TB, url string, config bucket.Config) bucket.Place {
	t.Helper()
	b, err := bucket.Open(t.Context(), url, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestPlace(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			placetest.Run(t, func(t *testing.T) place.Place { return open(t, store.URL(t), bucket.Config{}) })
		})
	}
	t.Run("file", func(t *testing.T) {
		placetest.Run(t, func(t *testing.T) place.Place { return open(t, "file://"+t.TempDir(), bucket.Config{}) })
	})
}

// TestParts writes and reads files around the borders of parts and ranges.
func TestParts(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := open(t, store.URL(t), small)
			for _, size := range []int{1 << 20, 5 << 20, 5<<20 + 1, 10 << 20, len(large)} {
				name := fmt.Sprint("file", size)
				mustWrite(t, b, name, large[:size])
				wantContent(t, b, name, large[:size])
				if err := write(t.Context(), b, name, large); !errors.Is(err, fs.ErrExist) {
					t.Errorf("writing it again: %v", err)
				}
			}
		})
	}
}

// TestVersions compares the versions of listings with those of open files, and of two contents. Each file keeps the
// time that it is told, whether it has one part or several.
func TestVersions(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := open(t, store.URL(t), small)
			seen := map[place.Version]bool{}
			for _, size := range []int{1, 2, len(large)} {
				f, err := b.Replace(t.Context(), "dir/file")
				if err != nil {
					t.Fatal(err)
				}
				modified := time.Unix(1_600_000_000, int64(size)*100)
				place.SetSourceTime(f, modified)
				if _, err := f.Write(large[:size]); err != nil {
					t.Fatal(err)
				}
				if err := f.Commit(); err != nil {
					t.Fatal(err)
				}
				wantSourceTime(t, b, "dir/file", modified)
				info, err := b.Stat("dir/file")
				if err != nil {
					t.Fatal(err)
				}
				entries, err := fs.ReadDir(b, "dir")
				if err != nil || len(entries) != 1 {
					t.Fatal(entries, err)
				}
				listed, err := entries[0].Info()
				if err != nil || listed.Sys() != info.Sys() || listed.ModTime() != info.ModTime() {
					t.Errorf("listed as %v of %v, %v; but is %v of %v",
						listed.Sys(), listed.ModTime(), err, info.Sys(), info.ModTime())
				}
				seen[info.Sys().(place.Version)] = true
			}
			if len(seen) != 3 || seen[""] {
				t.Errorf("three contents have the versions %v", seen)
			}
			mustWrite(t, b, "timeless", large[:1])
			wantSourceTime(t, b, "timeless", time.Time{})
		})
	}
}

func wantSourceTime(t *testing.T, b bucket.Place, name string, want time.Time) {
	t.Helper()
	f, err := b.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := place.SourceTimeOf(f); !got.Equal(want) {
		t.Errorf("%s has the time %v, and not %v", name, got, want)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestRace commits large files of one name at once.
func TestRace(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := open(t, store.URL(t), small)
			errs := make(chan error)
			for range 4 {
				go func() { errs <- write(t.Context(), b, "file", large) }()
			}
			won := 0
			for range 4 {
				switch err := <-errs; {
				case err == nil:
					won++
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			}
			most := 1
			if store.Name == "SeaweedFS" {
				most = 4 // it looks for the name before it takes it
			}
			if won < 1 || won > most {
				t.Errorf("%d files were created under one name", won)
			}
			wantContent(t, b, "file", large)
		})
	}
}

// TestNames writes names that have a meaning in URLs, and refuses those of which stores make others.
func TestNames(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := open(t, store.URL(t), small)
			names := []string{"a#b", "a%20b", "a?b", `a"b`, "a+b", "a&b=c", "~a", "a b/c d", "日本/x", "a:b", "a*b"}
			for i, name := range names {
				data := large[:10]
				if i < 3 {
					data = large
				}
				mustWrite(t, b, name, data)
				wantContent(t, b, name, data)
			}
			var listed []string
			err := fs.WalkDir(b, ".", func(name string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					listed = append(listed, name)
				}
				return err
			})
			if err != nil || len(listed) != len(names) {
				t.Errorf("%q are listed, %v", listed, err)
			}
			for _, name := range []string{`a\b`, "a\nb", "a\uFFFEb", "a\uFFFFb", "a../b", "a__0x2f__b"} {
				_, err := b.Create(t.Context(), name)
				wantError(t, err, fs.ErrInvalid, name)
				_, err = b.Open(name)
				wantError(t, err, fs.ErrInvalid, name)
			}
		})
	}
}

// TestNoBucket is of a bucket that does not exist.
func TestNoBucket(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := openRushed(t, strings.Replace(store.URL(t), "/"+stores.Bucket+"/", "/no-such-bucket/", 1))
			if err := write(t.Context(), b, "file", nil); err == nil {
				t.Error("a file is written into a bucket that does not exist")
			}
			if _, err := b.Open("file"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Open: %v", err)
			}
		})
	}
}

// TestWrongKey is of credentials that the store refuses.
func TestWrongKey(t *testing.T) {
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
			b := open(t, store.URL(t), small)
			_, err := b.Open("file")
			wantError(t, err, fs.ErrPermission, "file")
			wantError(t, write(t.Context(), b, "file", nil), fs.ErrPermission, "file")
		})
	}
}

func TestNoCredentials(t *testing.T) {
	stores.All(t) // sets the environment
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	b := open(t, "s3://bucket/?endpoint=http://127.0.0.1:1", small)
	_, err := b.Open("file")
	wantError(t, err, fs.ErrPermission, "file")
	if err == nil || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("the error is %v", err)
	}
}

// TestMemory writes and reads an object that is larger than the bound.
func TestMemory(t *testing.T) {
	store := stores.All(t)[0]
	b := open(t, store.URL(t), small)
	piece := content(1 << 20)
	pieces := testkit.Fewer(160)
	// The bound of the package comment is 15 MiB for writing and 12 MiB for reading. The rest is the test's binary, and
	// what the collector leaves until its next cycle.
	testkit.MemoryCeiling(t, 128<<20, func() {
		f, err := b.Create(t.Context(), "file")
		if err != nil {
			t.Fatal(err)
		}
		for range pieces {
			if _, err := f.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		opened, err := b.Open("file")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, opened); n != int64(pieces)<<20 || err != nil {
			t.Error(n, err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
}
