package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// setBody replaces the body of an answer.
func setBody(r *http.Response, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

// TestEndlessListing is of a store whose listing of a directory does not end.
func TestEndlessListing(t *testing.T) {
	const limit = 5000
	pages := 0
	list := func(token func() string, names int) func(*http.Response) {
		return func(r *http.Response) {
			body := "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" + token() +
				"</NextContinuationToken>"
			for i := range names {
				body += fmt.Sprintf("<Contents><Key>%s%d-%d</Key><Size>1</Size>"+
					"<LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>",
					r.Request.URL.Query().Get("prefix"), pages, i)
			}
			setBody(r, []byte(body+"</ListBucketResult>"))
			pages++
		}
	}
	same := func() string { return "again" }
	other := func() string { return fmt.Sprint("token", pages) }
	for name, answer := range map[string]func(*http.Response){
		"Same": list(same, 1), "Empty": list(other, 0), "Names": list(other, 1000),
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				mustWrite(t, direct, "dir/file", nil)
				bucket.LimitListing(through, limit, 20)
				// Without a bound, this ends it.
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				p.Set(stores.Always(stores.List.Of, stores.Fault{Answer: answer}))
				entries, err := fs.ReadDir(place.WithContext(ctx, through), "dir")
				wantError(t, err, place.ErrIntegrity, "dir")
				if len(entries) > limit+1000 {
					t.Errorf("%d entries are in memory", len(entries))
				}
			})
		})
	}
}

// TestIncompleteAnswers is of a store whose answers lack what the library for it takes for granted.
func TestIncompleteAnswers(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			p := stores.NewProxy(t, store, nil)
			b := open(t, store.URLThrough(t, p.Address), small)
			mustWrite(t, b, "dir/file", large[:2<<20])
			p.Set(stores.Always(anything, stores.Fault{Answer: func(r *http.Response) {
				if r.Header.Get("Content-Range") != "" {
					r.Header = http.Header{}
					return
				}
				r.Header = http.Header{"Content-Type": r.Header["Content-Type"], "Etag": r.Header["Etag"]}
				if r.Request.Method == http.MethodGet {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					setBody(r, fields.ReplaceAll(body, nil))
				}
			}}))
			for _, call := range []func() error{
				func() error { _, err := fs.ReadDir(b, "dir"); return err },
				func() error { _, err := fs.Stat(b, "dir/file"); return err },
				func() error { _, err := fs.ReadFile(b, "dir/file"); return err },
			} {
				// A store may leave these out without a danger: none of the calls may panic.
				err := call()
				if err != nil && !errors.Is(err, place.ErrIntegrity) && !errors.Is(err, place.ErrChanged) {
					t.Error(err)
				}
			}
		})
	}
}

var fields = regexp.MustCompile(`<(LastModified|Last-Modified|Size|Content-Length)>[^<]*</[A-Za-z-]*>`)

// TestMissingFacts is of a store of S3 that leaves out what is not 0 or the end because of that.
func TestMissingFacts(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		rush(p, through)
		mustWrite(t, direct, "dir/file", large[:100])
		for _, name := range []string{"Content-Length", "Last-Modified"} {
			p.Set(stores.Always(stores.Head.Of, stores.Fault{Answer: func(r *http.Response) { r.Header.Del(name) }}))
			_, err := through.Stat("dir/file")
			wantError(t, err, place.ErrIntegrity, "dir/file")
		}
		truncated := stores.Fault{Answer: func(r *http.Response) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			body = bytes.Replace(body, []byte("<IsTruncated>false"), []byte("<IsTruncated>true"), 1)
			setBody(r, body)
		}}
		p.Set(stores.Always(stores.List.Of, truncated))
		_, err := fs.ReadDir(through, "dir")
		wantError(t, err, place.ErrIntegrity, "dir")
	})
}

// TestEndlessAnswer is of a store whose answers to other requests than those for data do not end.
func TestEndlessAnswer(t *testing.T) {
	for _, store := range stores.All(t) {
		t.Run(store.Name, func(t *testing.T) {
			p := stores.NewProxy(t, store, nil)
			b := open(t, store.URLThrough(t, p.Address), small)
			mustWrite(t, b, "dir/file", nil)
			p.Set(stores.Always(anything, stores.Fault{Answer: func(r *http.Response) {
				r.Header.Del("Content-Length")
				r.ContentLength = -1
				r.Body = io.NopCloser(io.MultiReader(strings.NewReader("<?xml version='1.0'?>"), &spaces{256 << 20}))
				if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
					r.Body = io.NopCloser(&spaces{256 << 20})
				}
			}}))
			_, err := fs.ReadDir(b, "dir")
			wantError(t, err, place.ErrIntegrity, "dir")
		})
	}
}

// blanks are copied, since the race detector looks at each byte of a loop.
var blanks = bytes.Repeat([]byte(" "), 32<<10)

// spaces reads as many spaces.
type spaces struct{ left int }

func (s *spaces) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.left)], blanks)
	s.left -= n
	return n, nil
}

// TestNoVersion is of a store that does not tell the version of an object: its ranges could not be compared.
func TestNoVersion(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		mustWrite(t, direct, "file", large)
		p.Set(stores.Always(anything, stores.Fault{Answer: func(r *http.Response) { r.Header.Del("ETag") }}))
		_, err := through.Open("file")
		wantError(t, err, place.ErrIntegrity, "file")
	})
}

// withoutChecksums removes what the store says of the data.
func withoutChecksums(r *http.Response) {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum-") {
			r.Header.Del(name)
		}
	}
}

// withoutObjectSum is of a store that does not say what it has made of the parts of an object, so that Commit looks at
// the object.
var withoutObjectSum = stores.Fault{Answer: func(r *http.Response) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	setBody(r, objectSum.ReplaceAll(body, nil))
}}

var objectSum = regexp.MustCompile(`<Checksum[A-Z0-9]*>[^<]*</Checksum[A-Z0-9]*>`)

// TestUnverifiedPut is of stores that return no checksum of a small object: Commit looks at the object.
func TestUnverifiedPut(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		p.Set(stores.Always(stores.Put.Of, stores.Fault{Answer: withoutChecksums}))
		mustWrite(t, through, "right", large[:100])
		wantContent(t, direct, "right", large[:100])

		p.Set(stores.Always(stores.Put.Of, stores.Fault{Status: http.StatusOK}))
		wantError(t, write(t.Context(), through, "none", large[:100]), place.ErrIntegrity, "none")

		p.Set(func(r *http.Request) *stores.Fault {
			if stores.Head.Of(r) {
				return &stores.Fault{Answer: func(r *http.Response) {
					if r.StatusCode == http.StatusOK {
						r.Header.Set("Content-Length", "5")
					}
				}}
			}
			return &stores.Fault{Answer: withoutChecksums}
		})
		wantError(t, write(t.Context(), through, "short", large[:100]), place.ErrIntegrity, "short")
		wantNone(t, direct, "short")

		// The store ignores If-None-Match, and answers as if it had replaced the object.
		p.Set(stores.Once(stores.Put.Of, stores.Fault{
			Before: func() { mustWrite(t, direct, "taken", []byte("theirs")) },
			Answer: func(r *http.Response) {
				withoutChecksums(r)
				setBody(r, nil)
				r.StatusCode, r.Status = http.StatusOK, ""
			},
		}))
		wantError(t, write(t.Context(), through, "taken", large[:100]), fs.ErrExist, "taken")
		wantContent(t, direct, "taken", []byte("theirs"))
	})
}

// TestConflictOfPuts refuses a small object once because of another request that was under way.
func TestConflictOfPuts(t *testing.T) {
	conflict := stores.Fault{
		Status: http.StatusConflict, Body: errorBody("ConditionalRequestConflict", "at the same time"),
	}
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		p.Set(stores.Once(stores.Put.Of, conflict))
		mustWrite(t, through, "free", large[:100])
		wantContent(t, direct, "free", large[:100])

		lost := conflict
		lost.Before = func() { mustWrite(t, direct, "taken", []byte("theirs")) }
		p.Set(stores.Once(stores.Put.Of, lost))
		wantError(t, write(t.Context(), through, "taken", large[:100]), fs.ErrExist, "taken")
		wantContent(t, direct, "taken", []byte("theirs"))
	})
}

// TestClockAhead has a clock that is two hours ahead of that of the store: an upload that another writer continues is
// not taken for an old one.
func TestClockAhead(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		now := time.Now().Add(-2 * time.Hour).UTC()
		listed, aborted := false, false
		p.Set(func(r *http.Request) *stores.Fault {
			switch {
			case stores.Begin.Of(r):
				return &stores.Fault{Answer: func(r *http.Response) {
					r.Header.Set("Date", now.Format(http.TimeFormat))
				}}
			case stores.Uploads.Of(r):
				listed = true
				return &stores.Fault{Status: http.StatusOK, Body: "<ListMultipartUploadsResult><Upload><Key>" +
					prefixOf(t) + "/file</Key><UploadId>live</UploadId><Initiated>" + now.Format(time.RFC3339) +
					"</Initiated></Upload></ListMultipartUploadsResult>"}
			case stores.Parts.Of(r):
				return &stores.Fault{Status: http.StatusOK, Body: "<ListPartsResult></ListPartsResult>"}
			case stores.Abort.Of(r):
				aborted = true
			}
			return nil
		})
		mustWrite(t, through, "file", large)
		wantContent(t, direct, "file", large)
		if !listed || aborted {
			t.Errorf("uploads were listed: %v, and one was removed: %v", listed, aborted)
		}
	})
}

// TestUndatedUploads is of a store that does not say when an unfinished upload was begun, or received its parts: it may
// be one that another writer continues.
func TestUndatedUploads(t *testing.T) {
	const old = "2026-01-02T03:04:05.000Z"
	for name, test := range map[string]struct{ initiated, parts string }{
		"Begin": {"", ""},
		"Part":  {old, "<Part><PartNumber>1</PartNumber></Part>"},
		"Parts": {old, "<IsTruncated>true</IsTruncated>" +
			"<Part><PartNumber>1</PartNumber><LastModified>" + old + "</LastModified></Part>"},
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				listed, aborted := false, false
				p.Set(func(r *http.Request) *stores.Fault {
					switch {
					case stores.Uploads.Of(r):
						listed = true
						body := "<ListMultipartUploadsResult><Upload><UploadId>live</UploadId>" +
							"<Key>" + prefixOf(t) + "/file</Key>"
						if test.initiated != "" {
							body += "<Initiated>" + test.initiated + "</Initiated>"
						}
						return &stores.Fault{
							Status: http.StatusOK, Body: body + "</Upload></ListMultipartUploadsResult>",
						}
					case stores.Parts.Of(r):
						return &stores.Fault{
							Status: http.StatusOK, Body: "<ListPartsResult>" + test.parts + "</ListPartsResult>",
						}
					case stores.Abort.Of(r):
						aborted = true
					}
					return nil
				})
				mustWrite(t, through, "file", large)
				wantContent(t, direct, "file", large)
				if !listed || aborted {
					t.Errorf("uploads were listed: %v, and one was removed: %v", listed, aborted)
				}
			})
		})
	}
}
