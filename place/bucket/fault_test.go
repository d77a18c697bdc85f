package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// small has parts of the least size, so that files of several parts are small, and fails soon.
var small = bucket.Config{PartSize: 5 << 20, Parallel: 2, Timeout: 20 * time.Second}

// impatient fails soon.
var impatient = bucket.Config{PartSize: 5 << 20, Parallel: 2, Timeout: time.Second}

// content returns bytes that do not repeat.
func content(size int) []byte {
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{2})
	_, _ = random.Read(data) // never fails
	return data
}

// large has three parts.
var large = content(12<<20 + 5)

func write(ctx context.Context, p place.Place, name string, data []byte) error {
	f, err := p.Create(ctx, name)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

func mustWrite(t *testing.T, p place.Place, name string, data []byte) {
	t.Helper()
	if err := write(t.Context(), p, name, data); err != nil {
		t.Fatalf("writing %s: %v", name, err)
	}
}

func wantContent(t *testing.T, p place.Place, name string, want []byte) {
	t.Helper()
	got, err := fs.ReadFile(p, name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, %v; want %d bytes", name, len(got), err, len(want))
	}
}

func wantNone(t *testing.T, p place.Place, name string) {
	t.Helper()
	if _, err := fs.Stat(p, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of %s: %v, want fs.ErrNotExist", name, err)
	}
}

// wantError also holds an error to its form.
func wantError(t *testing.T, err error, want error, name string) {
	t.Helper()
	pathError, is := errors.AsType[*fs.PathError](err)
	if !errors.Is(err, want) || !is || pathError.Path != name {
		t.Errorf("the error is %v; want a PathError of %s that wraps %q", err, name, want)
	}
	if err != nil && (strings.Contains(err.Error(), "http") || strings.Contains(err.Error(), "X-Amz")) {
		t.Errorf("the error contains the URL of a request: %v", err)
	}
}

// throughProxy runs a test with each server of S3, behind a proxy. The place direct does not go through it.
func throughProxy(t *testing.T, config bucket.Config, run func(t *testing.T, p *proxy, through, direct bucket.Place)) {
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			p := newProxy(t, store, nil)
			p.store = store
			through := open(t, store.At(prefixOf(t), p.address), config)
			run(t, p, through, open(t, store.At(prefixOf(t), store.Address), config))
		})
	}
}

// TestCutRange cuts the answer to the first request for data after each MiB.
func TestCutRange(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *proxy, through, direct bucket.Place) {
		mustWrite(t, direct, "file", large)
		for cut := int64(-1); cut <= 4<<20; cut += 1 << 20 {
			p.set(once(isRange, fault{cutResponse: cut}))
			f, err := through.Open("file")
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 5<<20)
			n, err := f.(io.ReaderAt).ReadAt(got, 3)
			if n != len(got) || err != nil || !bytes.Equal(got, large[3:3+n]) {
				t.Errorf("cut after %d: %d, %v", cut, n, err)
			}
			p.set(once(isRange, fault{cutResponse: cut}))
			wantContent(t, through, "file", large)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestCutPart cuts a part after each MiB.
func TestCutPart(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *proxy, through, direct bucket.Place) {
		for cut := int64(1); cut <= 5<<20; cut += 1 << 20 {
			name := fmt.Sprint("file", cut)
			p.set(once(isPart, fault{cutRequest: cut}))
			mustWrite(t, through, name, large)
			wantContent(t, direct, name, large)
		}
	})
}

// TestLostAnswer loses the answer to the request that has made the object.
func TestLostAnswer(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *proxy, through, direct bucket.Place) {
		p.set(once(isComplete, fault{loseAnswer: true}))
		mustWrite(t, through, "large", large)
		wantContent(t, direct, "large", large)
		p.set(once(isPut, fault{loseAnswer: true}))
		mustWrite(t, through, "small", large[:100])
		wantContent(t, direct, "small", large[:100])
		p.set(once(func(r *http.Request) bool { return r.Method == http.MethodDelete }, fault{loseAnswer: true}))
		if err := through.Remove(t.Context(), "small"); err != nil {
			t.Error(err)
		}
	})
}

// errorBody returns the body of an answer of S3.
func errorBody(code, message string) string {
	return `<?xml version="1.0"?><Error><Code>` + code + `</Code><Message>` + message + `</Message></Error>`
}

var (
	slowDown      = errorBody("SlowDown", "Please reduce your request rate")
	internalError = errorBody("InternalError", "try again")
	accessDenied  = errorBody("AccessDenied", "Access Denied")
	expiredToken  = errorBody("ExpiredToken", "The token has expired")
	wrongClock    = errorBody("RequestTimeTooSkewed", "The clock is wrong")
	noCondition   = errorBody("NotImplemented", "A header is not implemented")
	noChecksum    = errorBody("NotImplemented", "Header 'x-amz-checksum-sha256' is not implemented")
)

// TestBusy refuses each request twice.
func TestBusy(t *testing.T) {
	for name, f := range map[string]fault{
		"500": {status: 500, body: internalError}, "503": {status: 503, body: slowDown},
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *proxy, through, _ bucket.Place) {
				tries := map[string]int{}
				p.set(func(r *http.Request) *fault {
					request := r.Method + r.URL.String() + r.Header.Get("Range")
					if tries[request]++; tries[request] > 2 {
						return nil
					}
					return &f
				})
				mustWrite(t, through, "file", large)
				clear(tries)
				wantContent(t, through, "file", large)
			})
		})
	}
}

// TestRefusedParts lets a write fail in its middle.
func TestRefusedParts(t *testing.T) {
	for name, test := range map[string]struct {
		fault
		want error
	}{
		"Busy":    {fault{status: 503, body: slowDown}, place.ErrUnreachable},
		"Denied":  {fault{status: 403, body: accessDenied}, fs.ErrPermission},
		"Expired": {fault{status: 400, body: expiredToken}, fs.ErrPermission},
		"Clock":   {fault{status: 403, body: wrongClock}, fs.ErrPermission},
		"Corrupt": {fault{corrupt: true}, place.ErrIntegrity},
		"Hangs":   {fault{hang: true}, place.ErrUnreachable},
		"Cut":     {fault{cutRequest: 1 << 20}, place.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, impatient, func(t *testing.T, p *proxy, through, direct bucket.Place) {
				p.set(always(isPart, test.fault))
				wantError(t, write(t.Context(), through, "file", large), test.want, "file")
				p.set(nil)
				wantNone(t, direct, "file")
				wantNoUploads(t, p.store)
			})
		})
	}
}

// TestRefusedReads lets a read fail in its middle.
func TestRefusedReads(t *testing.T) {
	short := func(r *http.Response) {
		r.Body = io.NopCloser(io.LimitReader(r.Body, 1000))
		r.ContentLength = 1000
		r.Header.Set("Content-Length", "1000")
		r.Header.Set("Content-Range", "bytes 0-999/12582917")
	}
	whole := func(r *http.Response) { r.Header.Del("Content-Range") }
	for name, test := range map[string]struct {
		fault
		want error
	}{
		"Busy":   {fault{status: 503, body: slowDown}, place.ErrUnreachable},
		"Denied": {fault{status: 403, body: accessDenied}, fs.ErrPermission},
		"Hangs":  {fault{hang: true}, place.ErrUnreachable},
		"Cut":    {fault{cutResponse: -1}, place.ErrUnreachable},
		"Short":  {fault{answer: short}, place.ErrIntegrity},
		"Whole":  {fault{answer: whole}, place.ErrIntegrity},
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, impatient, func(t *testing.T, p *proxy, through, direct bucket.Place) {
				mustWrite(t, direct, "file", large)
				p.set(func(r *http.Request) *fault {
					if isRange(r) && !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
						return &test.fault
					}
					return nil
				})
				got, err := fs.ReadFile(through, "file")
				wantError(t, err, test.want, "file")
				if !bytes.HasPrefix(large, got) || len(got) == 0 {
					t.Errorf("%d bytes were read before the error", len(got))
				}
			})
		})
	}
}

// TestCorruptPart changes a byte of a part on its way, once and then always. The emulator of Google's store does not
// verify checksums.
func TestCorruptPart(t *testing.T) {
	for _, store := range stores.All(t) {
		if store.Name == "fake-gcs-server" {
			continue
		}
		t.Run(store.Name, func(t *testing.T) {
			p := newProxy(t, store, nil)
			b := open(t, store.URLThrough(t, p.address), small)
			hasData := func(r *http.Request) bool { return r.Method == http.MethodPut && r.ContentLength >= 100 }
			for name, data := range map[string][]byte{"large": large, "small": large[:100]} {
				p.set(once(hasData, fault{corrupt: true}))
				mustWrite(t, b, name, data)
				wantContent(t, b, name, data)
				p.set(always(hasData, fault{corrupt: true}))
				wantError(t, write(t.Context(), b, name+"2", data), place.ErrIntegrity, name+"2")
				wantNone(t, b, name+"2")
			}
		})
	}
}

// TestErrorInAnswer completes an upload with an answer that begins with 200.
func TestErrorInAnswer(t *testing.T) {
	throughProxy(t, impatient, func(t *testing.T, p *proxy, through, direct bucket.Place) {
		p.set(once(isComplete, fault{status: 200, body: internalError}))
		mustWrite(t, through, "file", large)
		wantContent(t, direct, "file", large)
		p.set(always(isComplete, fault{status: 200, body: internalError}))
		wantError(t, write(t.Context(), through, "other", large), place.ErrUnreachable, "other")
		wantNone(t, direct, "other")
		wantNoUploads(t, p.store)
	})
}

// TestNoConditions is of a store that does not know If-None-Match.
func TestNoConditions(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *proxy, through, direct bucket.Place) {
		p.set(func(r *http.Request) *fault {
			if r.Header.Get("If-None-Match") == "" {
				return nil
			}
			return &fault{status: 501, body: noCondition}
		})
		for name, data := range map[string][]byte{"large": large, "small": large[:100]} {
			mustWrite(t, through, name, data)
			wantContent(t, direct, name, data)
			f, err := through.Create(t.Context(), name+"2")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(data); err != nil {
				t.Fatal(err)
			}
			mustWrite(t, direct, name+"2", []byte("theirs"))
			wantError(t, f.Commit(), fs.ErrExist, name+"2")
			wantContent(t, direct, name+"2", []byte("theirs"))
		}
	})
}

// TestWrongRegion wants the error to name the right one.
func TestWrongRegion(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *proxy, through, _ bucket.Place) {
		for _, status := range []int{301, 400} {
			p.set(always(func(*http.Request) bool { return true }, fault{status: status, region: "eu-north-1"}))
			if _, err := through.Open("file"); err == nil || !strings.Contains(err.Error(), "region eu-north-1") {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

// TestContext ends the context of a file that is open.
func TestContext(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *proxy, through, _ bucket.Place) {
		mustWrite(t, through, "file", large)
		ctx, cancel := context.WithCancelCause(t.Context())
		f, err := place.WithContext(ctx, through).Open("file")
		if err != nil {
			t.Fatal(err)
		}
		p.set(always(isRange, fault{hang: true}))
		ended := errors.New("the context has ended")
		go cancel(ended)
		_, err = f.Read(make([]byte, 100))
		wantError(t, err, ended, "file")
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		_, err = place.WithContext(ctx, through).Open("file")
		wantError(t, err, ended, "file")
	})
}

// TestNoChecksums is of a store that refuses the header of checksums.
func TestNoChecksums(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *proxy, through, direct bucket.Place) {
		refused := 0
		p.set(func(r *http.Request) *fault {
			for name := range r.Header {
				if strings.HasPrefix(name, "X-Amz-Checksum") || strings.HasPrefix(name, "X-Amz-Sdk-Checksum") {
					refused++
					return &fault{status: 501, body: noChecksum}
				}
			}
			return nil
		})
		mustWrite(t, through, "large", large)
		mustWrite(t, through, "small", large[:100])
		wantContent(t, direct, "large", large)
		wantContent(t, direct, "small", large[:100])
		if refused != 1 {
			t.Errorf("%d requests had the header", refused)
		}
	})
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			p := newProxy(t, store, always(func(*http.Request) bool { return true }, fault{hang: true}))
			b := open(t, store.URLThrough(t, p.address), impatient)
			_, err := b.Open("file")
			wantError(t, err, place.ErrUnreachable, "file")
			wantError(t, write(t.Context(), b, "file", nil), place.ErrUnreachable, "file")
		})
	}
}

// TestReplacedDuringRead replaces an object that is open.
func TestReplacedDuringRead(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := open(t, store.URL(t), small)
			mustWrite(t, b, "file", large)
			mustWrite(t, b, "removed", large)
			for name, change := range map[string]func() error{
				"file": func() error {
					f, err := b.Replace(t.Context(), "file")
					if err != nil {
						return err
					}
					_, err = f.Write(large[1:])
					return errors.Join(err, f.Commit())
				},
				"removed": func() error { return b.Remove(t.Context(), "removed") },
			} {
				f, err := b.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				head := make([]byte, 100)
				if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, large[:100]) {
					t.Error(err)
				}
				if err := change(); err != nil {
					t.Fatal(err)
				}
				rest, err := io.ReadAll(f)
				wantError(t, err, place.ErrChanged, name)
				if !bytes.HasPrefix(large[100:], rest) {
					t.Error("data of two versions was mixed")
				}
				_, err = f.(io.ReaderAt).ReadAt(head, 200)
				wantError(t, err, place.ErrChanged, name)
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
