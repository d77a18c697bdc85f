package bucket_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"testing"

	"culvert/internal/testkit/stores"
	"culvert/place"
)

// TestAzureForeignNames lists objects whose names other tools have written with the characters that this package
// escapes: no name leads to them.
func TestAzureForeignNames(t *testing.T) {
	stores.All(t) // sets the environment
	listing := "<EnumerationResults><Blobs>"
	for _, name := range []string{"a", "b__0x23__c", "b#c", "d%20e", "f?g", "h&quot;i", "j__0x23__k#l", "m\x7fn"} {
		listing += "<Blob><Name>p/dir/" + name + "</Name><Properties><Content-Length>1</Content-Length>" +
			"<Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified><Etag>x</Etag></Properties></Blob>"
	}
	for _, name := range []string{"o", "p__0x3f__q", "p?q"} {
		listing += "<BlobPrefix><Name>p/dir/" + name + "/</Name></BlobPrefix>"
	}
	listing += "</Blobs><NextMarker/></EnumerationResults>"
	p := stores.NewProxy(t, nil, func(r *http.Request) *stores.Fault {
		if r.Method == http.MethodHead {
			return &stores.Fault{Status: http.StatusNotFound}
		}
		return &stores.Fault{Status: http.StatusOK, Body: listing}
	})
	b := open(t, fmt.Sprintf("azblob://%s/p/?endpoint=http://%s/account", stores.Bucket, p.Address), small)
	entries, err := fs.ReadDir(b, "dir")
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"a", "b#c", "o", "p?q"}; !slices.Equal(names, want) {
		t.Errorf("%q are listed instead of %q", names, want)
	}
	unnamable, is := errors.AsType[*place.UnnamableError](err)
	if !is || unnamable.Count != 7 || !slices.Equal(unnamable.Names, []string{"dir/b#c", "dir/d%20e", "dir/f?g"}) {
		t.Errorf("%v", err)
	}
}
