package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// wantNoUploads wants none below the prefix of the running test.
func wantNoUploads(t *testing.T, store *stores.Server) {
	t.Helper()
	if left := store.Unfinished(t, prefixOf(t)); len(left) > 0 {
		t.Errorf("there are unfinished uploads: %q", left)
	}
}

// TestSlowRemoval has many unfinished uploads in a store that takes long to list them: a writer does not wait until all
// are removed.
func TestSlowRemoval(t *testing.T) {
	eager := small
	eager.Abandoned = 1
	const limit = time.Second / 10
	throughProxy(t, eager, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		const abandoned = 4
		for range abandoned {
			_, err := p.Store.Client(t).CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{
				Bucket: aws.String(stores.Bucket), Key: aws.String(prefixOf(t) + "/file"),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		bucket.LimitRemoval(through, limit)
		removing := 0
		p.Set(func(r *http.Request) *stores.Fault {
			if !stores.Uploads.Of(r) && !stores.Parts.Of(r) && !stores.Abort.Of(r) {
				return nil
			}
			removing++
			return &stores.Fault{Late: limit * 2 / 5}
		})
		mustWrite(t, through, "file", large)
		p.Set(nil)
		if removing == 0 || removing >= 1+2*abandoned {
			t.Errorf("the writer has waited for %d requests", removing)
		}
		wantContent(t, direct, "file", large)
	})
}

// TestRequests looks whether a name is free before it sends a file, since some stores ignore If-None-Match: a small
// file takes two requests, and one whose name is taken is never sent.
func TestRequests(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		mustWrite(t, direct, "taken", []byte("first"))
		var methods []string
		p.Set(func(r *http.Request) *stores.Fault {
			methods = append(methods, r.Method)
			return nil
		})
		mustWrite(t, through, "free", []byte("second"))
		if want := []string{http.MethodHead, http.MethodPut}; !slices.Equal(methods, want) {
			t.Errorf("the requests are %q, want %q", methods, want)
		}
		methods = nil
		wantError(t, write(t.Context(), through, "taken", []byte("second")), fs.ErrExist, "taken")
		if slices.Contains(methods, http.MethodPut) {
			t.Errorf("the requests are %q", methods)
		}
		p.Set(nil)
		wantContent(t, direct, "free", []byte("second"))
		wantContent(t, direct, "taken", []byte("first"))
	})
}

// TestRequestsOfParts counts the requests for large files: the store is asked once what is left of others, and says by
// the checksum in its last answer that it has the object. If it does not, Commit looks.
func TestRequestsOfParts(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		var mu sync.Mutex
		counts := map[stores.Kind]int{}
		count := func(r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			for _, kind := range []stores.Kind{
				stores.Head, stores.Begin, stores.Uploads, stores.Part, stores.Complete, stores.Put, stores.List,
			} {
				if kind.Of(r) {
					counts[kind]++
				}
			}
		}
		want := func(when string, want map[stores.Kind]int) {
			t.Helper()
			if !maps.Equal(counts, want) {
				t.Errorf("%s, the requests are %v, want %v", when, counts, want)
			}
			clear(counts)
		}
		p.Set(func(r *http.Request) *stores.Fault { count(r); return nil })
		file := func(name string) {
			mustWrite(t, through, name, large)
			wantContent(t, direct, name, large)
		}
		file("dir/first")
		want("at first", map[stores.Kind]int{
			stores.Head: 1, stores.Begin: 1, stores.Uploads: 1, stores.Part: 3, stores.Complete: 1,
		})
		file("dir/second")
		want("then", map[stores.Kind]int{stores.Head: 1, stores.Begin: 1, stores.Part: 3, stores.Complete: 1})
		p.Set(func(r *http.Request) *stores.Fault {
			count(r)
			return stores.Always(stores.Complete.Of, withoutObjectSum)(r)
		})
		file("dir/third")
		want("without a checksum", map[stores.Kind]int{
			stores.Head: 2, stores.Begin: 1, stores.Part: 3, stores.Complete: 1,
		})
		if entries, err := fs.ReadDir(through, "dir"); err != nil || len(entries) != 3 {
			t.Errorf("the directory has %v: %v", entries, err)
		}
		want("for a directory", map[stores.Kind]int{stores.List: 1})
	})
}

// TestUploadsOfKey is of stores that list unfinished uploads only of a key that they are told in full, or more than fit
// into one answer: those of each key are asked for.
func TestUploadsOfKey(t *testing.T) {
	for name, answer := range map[string]string{
		"None": "<ListMultipartUploadsResult></ListMultipartUploadsResult>",
		"Some": "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>",
	} {
		t.Run(name, func(t *testing.T) {
			eager := small
			eager.Abandoned = 1
			throughProxy(t, eager, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				_, err := p.Store.Client(t).CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{
					Bucket: aws.String(stores.Bucket), Key: aws.String(prefixOf(t) + "/file"),
				})
				if err != nil {
					t.Fatal(err)
				}
				p.Set(func(r *http.Request) *stores.Fault {
					if !stores.Uploads.Of(r) || strings.HasSuffix(r.URL.Query().Get("prefix"), "/file") {
						return nil
					}
					return &stores.Fault{Status: http.StatusOK, Body: answer}
				})
				mustWrite(t, through, "file", large)
				p.Set(nil)
				wantContent(t, direct, "file", large)
				wantNoUploads(t, p.Store)
			})
		})
	}
}

// TestLargePuts commits many files of one part at once: as many are sent as parts may be, and small files beside them.
func TestLargePuts(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		var mu sync.Mutex
		sending, most := 0, 0
		enough := make(chan struct{}) // closed when as many are sent as may be
		p.Set(func(r *http.Request) *stores.Fault {
			if !stores.Put.Of(r) || r.ContentLength < 1<<20 {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if sending++; sending == small.Parallel && most < sending {
				close(enough)
			}
			most = max(most, sending)
			// One more would come while these are late.
			return &stores.Fault{Before: func() { <-enough }, Late: time.Second / 20, Answer: func(*http.Response) {
				mu.Lock()
				defer mu.Unlock()
				sending--
			}}
		})
		var files sync.WaitGroup
		for i := range 8 {
			files.Go(func() {
				size := []int{2 << 20, 100}[i%2]
				if err := write(t.Context(), through, fmt.Sprint("file", i), large[:size]); err != nil {
					t.Error(err)
				}
			})
		}
		files.Wait()
		p.Set(nil)
		if most != small.Parallel {
			t.Errorf("%d large files were sent at once, want %d", most, small.Parallel)
		}
		wantContent(t, direct, "file0", large[:2<<20])
	})
}

// prefixOf returns the prefix of a test in a bucket that other tests and other processes use at the same time.
func prefixOf(t *testing.T) string {
	prefix, known := prefixes.LoadOrStore(t, fmt.Sprintf("bucket%s-%d-%s", testkit.ProcessMark, prefixCount.Add(1),
		strings.ReplaceAll(t.Name(), "/", "-")))
	if !known {
		t.Cleanup(func() { prefixes.Delete(t) }) // with the test all places that it has opened would be kept
	}
	return prefix.(string)
}

var (
	prefixes    sync.Map // by *testing.T
	prefixCount atomic.Int64
)

func TestAborted(t *testing.T) {
	for _, store := range stores.S3(t) {
		for name, end := range map[string]func(context.CancelFunc, place.File) error{
			"Discard": func(_ context.CancelFunc, f place.File) error { return f.Discard() },
			"Cancel": func(cancel context.CancelFunc, f place.File) error {
				cancel()
				if err := f.Commit(); !errors.Is(err, context.Canceled) {
					return fmt.Errorf("Commit returns %w", err)
				}
				return nil
			},
			// The writer hangs, and calls nothing any more.
			"Hangs": func(cancel context.CancelFunc, _ place.File) error { cancel(); return nil },
		} {
			t.Run(store.Name+name, func(t *testing.T) {
				b := open(t, store.At(prefixOf(t), store.Address), small)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f, err := b.Create(ctx, "file")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write(large); err != nil {
					t.Fatal(err)
				}
				if len(store.Unfinished(t, prefixOf(t))) != 1 {
					t.Error("there is no upload of several parts")
				}
				if err := end(cancel, f); err != nil {
					t.Error(err)
				}
				if name == "Hangs" {
					testkit.WaitFor(t, "the end of the upload", func() bool {
						return len(store.Unfinished(t, prefixOf(t))) == 0
					})
					// It may have to be aborted more than once: Discard waits for that.
					if err := f.Discard(); err != nil {
						t.Error(err)
					}
				}
				wantNoUploads(t, store)
				wantNone(t, b, "file")
			})
		}
	}
}

const killedURL = "CULVERT_TEST_KILLED_URL"

// TestMain is also the writer that TestKilled kills.
func TestMain(m *testing.M) {
	if url := os.Getenv(killedURL); url != "" {
		if err := writeForever(url, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	testkit.AtOnce(6)
	verifyLeaks(m)
}

// writeForever writes a file of five parts, and prints how much it has written. It waits before Commit.
func writeForever(url string, out io.Writer) error {
	b, err := bucket.Open(context.Background(), url, small)
	if err != nil {
		return err
	}
	f, err := b.Create(context.Background(), "file")
	if err != nil {
		return err
	}
	piece := make([]byte, 1<<20)
	for i := range 26 {
		if _, err := fmt.Fprintln(out, i); err != nil {
			return err
		}
		if _, err := f.Write(piece); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, "written"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, f.Commit())
}

// TestKilled kills a writer at several points. There is no object after it, and the next writer removes what it left.
func TestKilled(t *testing.T) {
	for _, store := range stores.All(t) {
		for _, point := range []string{"0", "6", "16", "written"} {
			t.Run(store.Name+"-"+point, func(t *testing.T) {
				url := store.At(prefixOf(t), store.Address)
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), killedURL+"="+url)
				_, stdout := testkit.StartPiped(t, cmd)
				for line := ""; line != point; {
					if _, err := fmt.Fscanln(stdout, &line); err != nil {
						t.Fatal(err, line)
					}
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // it was killed

				b := open(t, url, small)
				wantNone(t, b, "file")
				if store.IsS3() && point == "written" && len(store.Unfinished(t, prefixOf(t))) != 1 {
					t.Error("nothing is left of the upload: the next part of the test tests nothing")
				}
				mustWrite(t, b, "file", large) // what is left is too young
				wantContent(t, b, "file", large)
				if !store.IsS3() {
					return
				}
				eager := small
				eager.Abandoned = 1
				mustWrite(t, open(t, url, eager), "file2", large)
				if err := b.Remove(t.Context(), "file"); err != nil {
					t.Fatal(err)
				}
				if point == "written" && len(store.Unfinished(t, prefixOf(t))) != 1 {
					t.Error("an upload of another key, or a young one, was removed")
				}
				mustWrite(t, open(t, url, eager), "file", large)
				wantNoUploads(t, store)
			})
		}
	}
}
