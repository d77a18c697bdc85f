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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// small has parts of the least size, so that files of several parts are small, and fails soon.
var small = bucket.Config{PartSize: 5 << 20, Parallel: 2, Timeout: 20 * time.Second}

// impatient fails soon. What it opens may also fail if the machine stands still for a moment.
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
	if err != nil && ofRequest.MatchString(err.Error()) {
		t.Errorf("the error contains the URL of a request, its query or its signature: %v", err)
	}
}

// ofRequest matches what only a request has: its URL, its path, its query, and the headers and parameters that sign it.
// An error may name the library, as in "net/http: HTTP/1.x transport connection broken", and addresses.
var ofRequest = regexp.MustCompile(`(?i)https?:/|/` + stores.Bucket + `[/?]|/storage/v1/|/o/|[?&][a-z-]+=|` +
	`\b(partNumber|upload_?id|ifGenerationMatch|blockid|comp|sig)=|x-(amz|goog|ms)-[a-z0-9-]+[=:]|` +
	`Signature[=:]|Credential=|Authorization`)

func TestOfRequest(t *testing.T) {
	for text, is := range map[string]bool{
		`Put "http://127.0.0.1:1/backups/a?partNumber=1&uploadId=x": EOF`: true,
		"/backups/file?x-id=PutObject":                                    true,
		"uploadId=1&x=y":                                                  true,
		"a?sig=abc":                                                       true,
		"X-Amz-Signature=1":                                               true,
		"x-amz-content-sha256: 1":                                         true,
		"https://storage.googleapis.com":                                  true,
		"Authorization: AWS4-HMAC-SHA256 Credential=x":                    true,
		"read tcp 127.0.0.1:36222->127.0.0.1:35767: connection reset by peer":                   false,
		"net/http: HTTP/1.x transport connection broken: write: broken pipe":                    false,
		"bucket: the store answers 403 SignatureDoesNotMatch the signature does not match":      false,
		"bucket: the store answers 400 the 'x-amz-content-sha256' header does not match":        false,
		"bucket: the store answers 400 InvalidRequest the query a?... of the object is invalid": false,
	} {
		if ofRequest.MatchString(text) != is {
			t.Errorf("%q is of a request: %v", text, !is)
		}
	}
}

func anything(*http.Request) bool { return true }

// rush makes a place take no time for giving up the store behind a proxy. What the store answers may take its time.
func rush(p *stores.Proxy, through bucket.Place) {
	bucket.Rush(through, 5*time.Second)
	p.SetHeld(func(client string) { bucket.Silence(through, client) })
}

// openRushed opens a place that takes no time for giving up what fails at once. What the store answers may take its
// time.
func openRushed(t *testing.T, url string) bucket.Place {
	t.Helper()
	b := open(t, url, small)
	bucket.Rush(b, 5*time.Second)
	return b
}

// throughProxy runs a test with each server of S3, behind a proxy. The place direct does not go through it.
func throughProxy(
	t *testing.T, config bucket.Config, run func(t *testing.T, p *stores.Proxy, through, direct bucket.Place),
) {
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			p := stores.NewProxy(t, store, nil)
			through := open(t, store.At(prefixOf(t), p.Address), config)
			run(t, p, through, open(t, store.At(prefixOf(t), store.Address), config))
		})
	}
}

// TestUnnamable adds objects to a listing that no name leads to: they are counted, after all other entries.
func TestUnnamable(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		rush(p, through)
		mustWrite(t, direct, "dir/same", nil)
		prefix := prefixOf(t) + "/dir/"
		p.Set(stores.Always(stores.List.Of, stores.Fault{Answer: func(r *http.Response) {
			addToListing(t, r, prefix, "", "/", "../", "./", "same/", "fine/", `back\slash/`, "a__0x62__/")
		}}))
		entries, err := fs.ReadDir(through, "dir")
		if len(entries) != 2 || entries[0].Name() != "fine" || entries[1].Name() != "same" {
			t.Errorf("%v are listed", entries)
		}
		wantError(t, err, fs.ErrInvalid, "dir")
		unnamable, is := errors.AsType[*place.UnnamableError](err)
		if !is || unnamable.Count != 6 || !slices.Equal(unnamable.Names, []string{"dir/../", "dir/./", "dir//"}) {
			t.Errorf("%v", err)
		}

		dir, err := through.Open("dir")
		if err != nil {
			t.Fatal(err)
		}
		var told []error
		for err = nil; err != io.EOF && len(told) < 10; {
			if _, err = dir.(fs.ReadDirFile).ReadDir(1); err != nil {
				told = append(told, err)
			}
		}
		if len(told) != 2 || !errors.Is(told[0], fs.ErrInvalid) {
			t.Errorf("one by one: %v", told)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestForeignKeys writes objects by another program whose keys have what names cannot have: one that XML cannot hold,
// and one whose beginning would be the name of a directory. The others are listed.
func TestForeignKeys(t *testing.T) {
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			b := open(t, store.At(prefixOf(t), store.Address), small)
			names := []string{"fine", "per%20cent+", "line\nfeed", "up../file"}
			if store.Name != "versitygw" { // it replaces characters that XML cannot hold
				names = append(names, "control\x01", "other\uFFFE")
			}
			for _, name := range names {
				_, err := store.Client(t).PutObject(t.Context(), &s3.PutObjectInput{
					Bucket: aws.String(stores.Bucket), Key: aws.String(prefixOf(t) + "/dir/" + name),
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			entries, err := fs.ReadDir(b, "dir")
			if len(entries) != 2 || entries[0].Name() != "fine" || entries[1].Name() != "per%20cent+" {
				t.Errorf("%v are listed", entries)
			}
			if unnamable, is := errors.AsType[*place.UnnamableError](err); !is || int(unnamable.Count) != len(names)-2 {
				t.Errorf("%v", err)
			}
			if entries, err := fs.ReadDir(b, "dir/up.."); len(entries) != 0 || !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%v are listed, %v", entries, err)
			}
		})
	}
}

// addToListing adds common prefixes of keys, and for "" an empty object, to the answer to a request for a listing.
func addToListing(t *testing.T, r *http.Response, prefix string, names ...string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	more := ""
	for _, name := range names {
		if name == "" {
			more += "<Contents><Key>" + prefix + "</Key><Size>0</Size><ETag>x</ETag>" +
				"<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>"
			continue
		}
		more += "<CommonPrefixes><Prefix>" + prefix + name + "</Prefix></CommonPrefixes>"
	}
	body = bytes.Replace(body, []byte("</ListBucketResult>"), []byte(more+"</ListBucketResult>"), 1)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

// TestLostAnswer loses the answer to the request that has made the object.
func TestLostAnswer(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		p.Set(stores.Once(stores.Complete.Of, stores.Fault{LoseAnswer: true}))
		mustWrite(t, through, "large", large)
		wantContent(t, direct, "large", large)
		p.Set(stores.Once(stores.Put.Of, stores.Fault{LoseAnswer: true}))
		mustWrite(t, through, "small", large[:100])
		wantContent(t, direct, "small", large[:100])
		p.Set(stores.Once(stores.Delete.Of, stores.Fault{LoseAnswer: true}))
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
	noUpload      = errorBody("NoSuchUpload", "It was aborted")
	noCondition   = errorBody("NotImplemented", "A header is not implemented")
	noChecksum    = errorBody("NotImplemented", "Header 'x-amz-checksum-...' is not implemented")
)

// TestBusy refuses each request twice.
func TestBusy(t *testing.T) {
	for name, f := range map[string]stores.Fault{
		"500": {Status: 500, Body: internalError}, "503": {Status: 503, Body: slowDown},
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, _ bucket.Place) {
				tries := map[string]int{}
				p.Set(func(r *http.Request) *stores.Fault {
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

// TestWrongClock has a store whose clock is ten minutes ahead, and that refuses requests for it. The second try has the
// right time, also after an answer to HEAD, which does not say why.
func TestWrongClock(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, _, direct bucket.Place) {
		mustWrite(t, direct, "file", large)
		const ahead = 10 * time.Minute
		refused := 0
		p.Set(func(r *http.Request) *stores.Fault {
			now := time.Now().Add(ahead)
			sent, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
			if err != nil {
				t.Error(err)
			}
			if now.Sub(sent) > ahead/2 {
				refused++
				return &stores.Fault{Status: 403, Body: wrongClock, Date: now}
			}
			return &stores.Fault{Answer: func(r *http.Response) {
				r.Header.Set("Date", now.UTC().Format(http.TimeFormat))
			}}
		})
		through := open(t, p.Store.At(prefixOf(t), p.Address), small)
		if _, err := fs.Stat(through, "file"); err != nil || refused != 1 {
			t.Errorf("stat: %v, after %d refusals", err, refused)
		}
		through = open(t, p.Store.At(prefixOf(t), p.Address), small)
		mustWrite(t, through, "other", large)
		wantContent(t, through, "other", large)
		if refused < 2 {
			t.Error("a write was not refused")
		}

		p.Set(stores.Always(anything, stores.Fault{Status: 403, Date: time.Now().Add(3 * time.Hour)}))
		_, err := fs.Stat(through, "file")
		wantError(t, err, fs.ErrPermission, "file")
		if err == nil || !strings.Contains(err.Error(), "clock of this machine differs from the store's by 3h0m0s") {
			t.Errorf("the error is %v", err)
		}
	})
}

// partsFrom is of the requests for a part and those after it.
func partsFrom(first int) func(*http.Request) bool {
	return func(r *http.Request) bool {
		number, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
		return stores.Part.Of(r) && err == nil && number >= first
	}
}

// TestRefusedParts lets a write fail at its first part, and in its middle.
func TestRefusedParts(t *testing.T) {
	for name, test := range map[string]struct {
		stores.Fault
		want error
	}{
		"Busy":    {stores.Fault{Status: 503, Body: slowDown}, place.ErrUnreachable},
		"Denied":  {stores.Fault{Status: 403, Body: accessDenied}, fs.ErrPermission},
		"Expired": {stores.Fault{Status: 400, Body: expiredToken}, fs.ErrPermission},
		"Clock":   {stores.Fault{Status: 403, Body: wrongClock}, fs.ErrPermission},
		"Corrupt": {stores.Fault{Corrupt: true}, place.ErrIntegrity},
		"Hangs":   {stores.Fault{Hang: true}, place.ErrUnreachable},
		"Cut":     {stores.Fault{CutRequest: 1 << 20}, place.ErrUnreachable},
		"Stalls":  {stores.Fault{CutRequest: 1 << 20, Stall: true}, place.ErrUnreachable},
		"Dropped": {stores.Fault{Status: 404, Body: noUpload}, place.ErrUnreachable},
	} {
		for _, first := range []int{1, 2} {
			if first == 1 && testkit.RaceDetector() {
				continue // only with more parts is there more at once
			}
			t.Run(fmt.Sprint(name, first), func(t *testing.T) {
				throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
					rush(p, through)
					p.Set(stores.Always(partsFrom(first), test.Fault))
					wantError(t, write(t.Context(), through, "file", large), test.want, "file")
					p.Set(nil)
					wantNone(t, direct, "file")
					wantNoUploads(t, p.Store)
				})
			})
		}
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
		stores.Fault
		want error
	}{
		"Busy":   {stores.Fault{Status: 503, Body: slowDown}, place.ErrUnreachable},
		"Denied": {stores.Fault{Status: 403, Body: accessDenied}, fs.ErrPermission},
		"Hangs":  {stores.Fault{Hang: true}, place.ErrUnreachable},
		"Cut":    {stores.Fault{CutResponse: -1}, place.ErrUnreachable},
		"Stalls": {stores.Fault{CutResponse: 1000, Stall: true}, place.ErrUnreachable},
		"Short":  {stores.Fault{Answer: short}, place.ErrIntegrity},
		"Whole":  {stores.Fault{Answer: whole}, place.ErrIntegrity},
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				rush(p, through)
				mustWrite(t, direct, "file", large)
				p.Set(func(r *http.Request) *stores.Fault {
					if stores.Range.Of(r) && !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
						return &test.Fault
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

// TestCorruptPart changes a byte of a part on its way, once and then always. TestGoogleDamaged is of Google's store,
// which verifies objects as a whole.
func TestCorruptPart(t *testing.T) {
	for _, store := range stores.All(t) {
		if store.Name == "fake-gcs-server" {
			continue
		}
		t.Run(store.Name, func(t *testing.T) {
			p := stores.NewProxy(t, store, nil)
			b := open(t, store.URLThrough(t, p.Address), small)
			hasData := func(r *http.Request) bool { return r.Method == http.MethodPut && r.ContentLength >= 100 }
			for name, data := range map[string][]byte{"large": large, "small": large[:100]} {
				p.Set(stores.Once(hasData, stores.Fault{Corrupt: true}))
				mustWrite(t, b, name, data)
				wantContent(t, b, name, data)
				p.Set(stores.Always(hasData, stores.Fault{Corrupt: true}))
				wantError(t, write(t.Context(), b, name+"2", data), place.ErrIntegrity, name+"2")
				wantNone(t, b, name+"2")
			}
		})
	}
}

// TestErrorInAnswer completes an upload with an answer that begins with 200.
func TestErrorInAnswer(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		rush(p, through)
		p.Set(stores.Once(stores.Complete.Of, stores.Fault{Status: 200, Body: internalError}))
		mustWrite(t, through, "file", large)
		wantContent(t, direct, "file", large)
		p.Set(stores.Always(stores.Complete.Of, stores.Fault{Status: 200, Body: internalError}))
		wantError(t, write(t.Context(), through, "other", large), place.ErrUnreachable, "other")
		wantNone(t, direct, "other")
		wantNoUploads(t, p.Store)
	})
}

// TestEmptyAnswer answers the requests around the parts with 200 and nothing else.
func TestEmptyAnswer(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		for _, kind := range []stores.Kind{stores.Begin, stores.Complete} {
			p.Set(stores.Always(kind.Of, stores.Fault{Status: 200}))
			wantError(t, write(t.Context(), through, "file", large), place.ErrIntegrity, "file")
			wantNone(t, direct, "file")
			wantNoUploads(t, p.Store)
		}
	})
}

// TestNoConditions is of a store that does not know If-None-Match.
func TestNoConditions(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		p.Set(func(r *http.Request) *stores.Fault {
			if r.Header.Get("If-None-Match") == "" {
				return nil
			}
			return &stores.Fault{Status: 501, Body: noCondition}
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
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, _ bucket.Place) {
		for _, status := range []int{301, 400} {
			p.Set(stores.Always(anything, stores.Fault{Status: status, Region: "eu-north-1"}))
			if _, err := through.Open("file"); err == nil || !strings.Contains(err.Error(), "region eu-north-1") {
				t.Errorf("the error is %v", err)
			}
		}
	})
}

// TestContext ends the context of a file that is open.
func TestContext(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, _ bucket.Place) {
		mustWrite(t, through, "file", large)
		ctx, cancel := context.WithCancelCause(t.Context())
		f, err := place.WithContext(ctx, through).Open("file")
		if err != nil {
			t.Fatal(err)
		}
		p.Set(stores.Always(stores.Range.Of, stores.Fault{Hang: true}))
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

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			p := stores.NewProxy(t, store, stores.Always(anything, stores.Fault{Hang: true}))
			b := open(t, store.URLThrough(t, p.Address), impatient)
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
