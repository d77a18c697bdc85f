package bucket_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// TestShortObject is of stores that have made an object of another size than what was written. It is removed, but not
// what has replaced it meanwhile.
func TestShortObject(t *testing.T) {
	for _, store := range stores.All(t) {
		if store.Name == "fake-gcs-server" {
			continue // Google's answer has a checksum of the object instead: TestGoogleDamaged
		}
		t.Run(store.Name, func(t *testing.T) {
			p := stores.NewProxy(t, store, nil)
			through := open(t, store.At(prefixOf(t), p.Address), small)
			direct := open(t, store.At(prefixOf(t), store.Address), small)
			removes := func(r *http.Request) bool {
				return r.Method == http.MethodDelete && !r.URL.Query().Has("uploadId")
			}
			shorten := func(r *http.Response) {
				if r.StatusCode == http.StatusOK {
					r.Header.Set("Content-Length", "5")
				}
			}
			deleted := ""
			p.Set(func(r *http.Request) *stores.Fault {
				switch {
				case stores.Complete.Of(r):
					return &withoutObjectSum
				case r.Method == http.MethodHead:
					return &stores.Fault{Answer: shorten}
				case removes(r):
					deleted = r.Header.Get("If-Match")
				}
				return nil
			})
			err := write(t.Context(), through, "file", large)
			wantError(t, err, place.ErrIntegrity, "file")
			wantNone(t, direct, "file")
			if deleted == "" {
				t.Error("it was removed whatever its version")
			}

			p.Set(func(r *http.Request) *stores.Fault {
				switch {
				case stores.Complete.Of(r):
					return &withoutObjectSum
				case r.Method == http.MethodHead:
					return &stores.Fault{Answer: shorten}
				case removes(r):
					return &stores.Fault{Status: http.StatusPreconditionFailed}
				}
				return nil
			})
			err = write(t.Context(), through, "replaced", large)
			wantError(t, err, place.ErrIntegrity, "replaced")
			if err != nil && strings.Contains(err.Error(), "removed") {
				t.Errorf("what was replaced could not be removed: %v", err)
			}

			p.Set(func(r *http.Request) *stores.Fault {
				switch {
				case stores.Complete.Of(r):
					return &withoutObjectSum
				case r.Method == http.MethodHead:
					return &stores.Fault{Answer: shorten}
				case removes(r): // such as of an object that a policy keeps
					return &stores.Fault{Status: http.StatusConflict, Body: errorBody("ObjectImmutable", "it is kept")}
				}
				return nil
			})
			err = write(t.Context(), through, "kept", large)
			wantError(t, err, place.ErrIntegrity, "kept")
			if err == nil || !strings.Contains(err.Error(), "could not be removed") {
				t.Errorf("the object is still there, and the error is %v", err)
			}
		})
	}
}

// TestConflictOfRemoval is of another request that is under way when a damaged object is removed: it is sent again.
func TestConflictOfRemoval(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		rush(p, through)
		conflict := stores.Once(stores.Delete.Of, stores.Fault{
			Status: http.StatusConflict, Body: errorBody("ConditionalRequestConflict", "at the same time"),
		})
		p.Set(func(r *http.Request) *stores.Fault {
			switch {
			case stores.Complete.Of(r):
				return &withoutObjectSum
			case stores.Head.Of(r):
				return &stores.Fault{Answer: func(r *http.Response) {
					if r.StatusCode == http.StatusOK {
						r.Header.Set("Content-Length", "5")
					}
				}}
			}
			return conflict(r)
		})
		wantError(t, write(t.Context(), through, "file", large), place.ErrIntegrity, "file")
		wantNone(t, direct, "file")
	})
}

// TestDamagedPut is of a store that returns another checksum of an object than the one that it was sent.
func TestDamagedPut(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		damage := func(r *http.Response) {
			for name := range r.Header {
				if strings.HasPrefix(name, "X-Amz-Checksum-") && !strings.HasSuffix(name, "-Type") {
					r.Header.Set(name, "AAAAAAAAAAA=")
				}
			}
		}
		p.Set(stores.Once(stores.Put.Of, stores.Fault{Answer: damage}))
		mustWrite(t, through, "once", large[:100])
		wantContent(t, direct, "once", large[:100])
		p.Set(stores.Always(stores.Put.Of, stores.Fault{Answer: damage}))
		wantError(t, write(t.Context(), through, "always", large[:100]), place.ErrIntegrity, "always")
		wantNone(t, direct, "always")

		p.Set(func(r *http.Request) *stores.Fault {
			switch {
			case stores.Put.Of(r):
				return &stores.Fault{Answer: damage}
			case stores.Delete.Of(r):
				return &stores.Fault{Status: http.StatusForbidden, Body: accessDenied}
			}
			return nil
		})
		err := write(t.Context(), through, "kept", large[:100])
		wantError(t, err, place.ErrIntegrity, "kept")
		if errors.Is(err, place.ErrRefused) || err == nil || !strings.Contains(err.Error(), "could not be removed") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestConditionalRemoval is of a store that does not know If-Match of a removal.
func TestConditionalRemoval(t *testing.T) {
	throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
		p.Set(func(r *http.Request) *stores.Fault {
			switch {
			case stores.Delete.Of(r) && r.Header.Get("If-Match") != "":
				return &stores.Fault{Status: http.StatusNotImplemented, Body: noCondition}
			case stores.Complete.Of(r):
				return &withoutObjectSum
			case stores.Head.Of(r):
				return &stores.Fault{Answer: func(r *http.Response) {
					if r.StatusCode == http.StatusOK {
						r.Header.Set("Content-Length", "5")
					}
				}}
			}
			return nil
		})
		wantError(t, write(t.Context(), through, "file", large), place.ErrIntegrity, "file")
		wantNone(t, direct, "file")
	})
}
