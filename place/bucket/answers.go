package bucket

import (
	"fmt"
	"io"
	"net/http"

	"culvert/place"
)

// maxAnswer bounds an answer that is not a range of an object. The longest is a page of a listing, whose names have at
// most 1 KiB each, or three times as much if the store escapes them.
const maxAnswer = 16 << 20

// errEndless ends what a store could otherwise continue for ever.
var errEndless = fmt.Errorf("%w: an answer of the store, or a listing, does not end", place.ErrIntegrity)

// bounded bounds the answers that come through a transport. The libraries read some into memory as a whole.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	return bound(b.RoundTripper.RoundTrip(request))
}

// client is what the library for S3 sends requests with.
type client interface {
	Do(*http.Request) (*http.Response, error)
}

type boundedClient struct{ client }

func (b boundedClient) Do(request *http.Request) (*http.Response, error) {
	return bound(b.client.Do(request))
}

func bound(response *http.Response, err error) (*http.Response, error) {
	if err == nil && response.Header.Get("Content-Range") == "" {
		response.Body = &boundedBody{response.Body, maxAnswer}
	}
	return response, err
}

// boundedBody fails after left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errEndless
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// errIncomplete is of an answer without what every answer should have.
var errIncomplete = fmt.Errorf("%w: an answer of the store lacks something", place.ErrIntegrity)
