package bucket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"culvert/place"
)

const (
	googleServer = "https://storage.googleapis.com"
	googleScope  = "https://www.googleapis.com/auth/devstorage.read_write"
)

// gcsStore is a bucket of Google Cloud Storage, to which it speaks by the JSON API
// (https://cloud.google.com/storage/docs/json_api/v1). The vendor's library would take more memory than all else in a
// program that uses no bucket.
type gcsStore struct {
	client  *http.Client
	server  string // a URL without a slash at its end
	name    string
	objects *blob.Bucket
}

func openGCS(ctx context.Context, a *address, _ Config, connections *connections) (store, error) {
	server := &url.URL{}
	var err error
	switch emulator := os.Getenv("STORAGE_EMULATOR_HOST"); {
	case a.endpoint != nil:
		server = a.endpoint
	case emulator != "":
		if !strings.Contains(emulator, "://") {
			emulator = "http://" + emulator
		}
		if server, err = parseEndpoint("gs", emulator); err != nil {
			return nil, fmt.Errorf("%w, but is that of STORAGE_EMULATOR_HOST", err)
		}
	}
	var transport http.RoundTripper = bounded{connections.transport()}
	if server.Host == "" || a.endpoint != nil && a.endpoint.Scheme == "https" {
		// Tokens are fetched for as long as the place is open.
		tokens := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Transport: transport})
		credentials, err := google.FindDefaultCredentials(tokens, googleScope)
		if err != nil {
			return nil, fmt.Errorf("bucket: there are no credentials of Google (%s): %w",
				innermost(err), noCredentials("gs"))
		}
		source := &googleCredentials{credentials.TokenSource, issuer{scheme: a.scheme}}
		transport = &oauth2.Transport{Source: source, Base: transport}
	}
	s := &gcsStore{
		// The status 308 is the answer to a part, and does not redirect.
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		server: strings.TrimSuffix(server.String(), "/"), name: url.PathEscape(a.bucket),
	}
	if s.server == "" {
		s.server = googleServer
	}
	s.objects = blob.NewBucket(gcsDriver{store: s})
	return s, nil
}

func (s *gcsStore) blobs() *blob.Bucket { return s.objects }

func (s *gcsStore) version(a *blob.Attributes) string { return generationOf(a.As) }

func (s *gcsStore) listed(o *blob.ListObject) string { return generationOf(o.As) }

func generationOf(as func(any) bool) string {
	var object *gcsObject
	if !as(&object) {
		return ""
	}
	return object.Generation
}

func (s *gcsStore) pin(version string, as func(any) bool) error {
	var request *http.Request
	if !as(&request) {
		return errors.ErrUnsupported
	}
	request.URL.RawQuery += "&generation=" + url.QueryEscape(version)
	return nil
}

func (s *gcsStore) check(r *blob.Reader, version string, off, n int64) error {
	var response *http.Response
	if !r.As(&response) {
		return errors.ErrUnsupported
	}
	return checkRange(response.Header.Get("X-Goog-Generation"), version, response.Header.Get("Content-Range"), off, n)
}

// gcsObject is what the API tells of an object.
type gcsObject struct {
	Name       string            `json:"name"`
	Size       int64             `json:"size,string"`
	Updated    time.Time         `json:"updated"`
	Generation string            `json:"generation"`
	CRC32C     string            `json:"crc32c"`
	Metadata   map[string]string `json:"metadata"`
}

func (o *gcsObject) as(target any) bool {
	object, is := target.(**gcsObject)
	if is {
		*object = o
	}
	return is
}

func (s *gcsStore) listURL(query url.Values) string {
	return s.server + "/storage/v1/b/" + s.name + "/o?" + query.Encode()
}

func (s *gcsStore) objectURL(key string, query url.Values) string {
	return s.server + "/storage/v1/b/" + s.name + "/o/" + url.PathEscape(key) + "?" + query.Encode()
}

// get fetches a part of the API's answer about something, which the parameter fields names.
func (s *gcsStore) get(ctx context.Context, address string, result any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	return s.call(request, result)
}

// remove removes a generation of an object, or the object if generation is "".
func (s *gcsStore) remove(ctx context.Context, key, generation string) error {
	query := url.Values{}
	if generation != "" {
		query.Set("generation", generation)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.objectURL(key, query), nil)
	if err != nil {
		return err
	}
	return s.call(request, nil)
}

// call sends a request, and stores its answer in what result points to, unless that is nil.
func (s *gcsStore) call(request *http.Request, result any) error {
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	return readAnswer(response, result)
}

// readAnswer closes an answer. It returns an error if the status of the answer is not in the 200s.
func readAnswer(response *http.Response, result any) error {
	defer func() { _ = response.Body.Close() }() // all of it has arrived, or another error has
	switch {
	case response.StatusCode/100 != 2:
		return refusalOf(response)
	case result == nil:
		_, err := io.Copy(io.Discard, response.Body) // so that the connection can be used again
		return err
	}
	err := json.NewDecoder(response.Body).Decode(result)
	_, isSyntax := errors.AsType[*json.SyntaxError](err)
	_, isType := errors.AsType[*json.UnmarshalTypeError](err)
	if isSyntax || isType {
		return fmt.Errorf("%w: the answer of the store is malformed", place.ErrIntegrity)
	}
	return err
}

// gcsError is an answer that is not in the 200s.
type gcsError struct{ answer }

func (e *gcsError) Error() string { return e.String() }

func refusalOf(response *http.Response) error {
	const longest = 64 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, longest))
	if err != nil {
		return err
	}
	var body struct {
		Error struct {
			Message string                    `json:"message"`
			Errors  []struct{ Reason string } `json:"errors"`
		} `json:"error"`
	}
	refusal := &gcsError{answer{status: response.StatusCode}}
	if json.Unmarshal(text, &body) == nil {
		refusal.text = body.Error.Message
		if len(body.Error.Errors) > 0 {
			refusal.code = body.Error.Errors[0].Reason
		}
	} else {
		refusal.text, _, _ = strings.Cut(strings.TrimSpace(string(text)), "\n") // a refused read is plain text
	}
	// The API has one reason for each status, so that only the text says more.
	switch {
	case refusal.status == http.StatusNotFound && strings.Contains(refusal.text, "bucket does not exist"):
		refusal.code = "NoSuchBucket"
	case refusal.status == http.StatusBadRequest && strings.Contains(refusal.text, "CRC32C"):
		refusal.code = "BadDigest"
	}
	return refusal
}

// inBucket makes of a refusal that something does not exist one that the bucket does not, where nothing else is meant.
func inBucket(err error) error {
	if refusal, is := errors.AsType[*gcsError](err); is && refusal.status == http.StatusNotFound {
		refusal.code = "NoSuchBucket"
	}
	return err
}

// gcsDriver is a bucket in the form in which gocloud uses it.
type gcsDriver struct {
	driver.Bucket // nil: this package calls no other method
	store         *gcsStore
}

func (d gcsDriver) Close() error { return nil }

func (d gcsDriver) ErrorCode(err error) gcerrors.ErrorCode {
	if isNotFound(err) {
		return gcerrors.NotFound
	}
	return gcerrors.Unknown
}

func (d gcsDriver) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	object := &gcsObject{}
	query := url.Values{"fields": {"size,updated,generation,crc32c,metadata"}}
	if err := d.store.get(ctx, d.store.objectURL(key, query), object); err != nil {
		return nil, err
	}
	return &driver.Attributes{
		Size: object.Size, ModTime: object.Updated, Metadata: object.Metadata, AsFunc: object.as,
	}, nil
}

func (d gcsDriver) ListPaged(ctx context.Context, options *driver.ListOptions) (*driver.ListPage, error) {
	if options.BeforeList != nil {
		if err := options.BeforeList(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	query := url.Values{
		"prefix": {options.Prefix}, "delimiter": {options.Delimiter}, "pageToken": {string(options.PageToken)},
		"maxResults": {strconv.Itoa(options.PageSize)},
		"fields":     {"nextPageToken,prefixes,items(name,size,updated,generation)"},
	}
	for name, values := range query {
		if values[0] == "" {
			query.Del(name)
		}
	}
	var answer struct {
		NextPageToken string       `json:"nextPageToken"`
		Prefixes      []string     `json:"prefixes"`
		Items         []*gcsObject `json:"items"`
	}
	if err := d.store.get(ctx, d.store.listURL(query), &answer); err != nil {
		return nil, inBucket(err)
	}
	page := &driver.ListPage{NextPageToken: []byte(answer.NextPageToken)}
	for _, object := range answer.Items {
		page.Objects = append(page.Objects, &driver.ListObject{
			Key: object.Name, Size: object.Size, ModTime: object.Updated, AsFunc: object.as,
		})
	}
	for _, prefix := range answer.Prefixes {
		page.Objects = append(page.Objects, &driver.ListObject{Key: prefix, IsDir: true})
	}
	slices.SortFunc(page.Objects, func(a, b *driver.ListObject) int { return cmp.Compare(a.Key, b.Key) })
	return page, nil
}

func (d gcsDriver) NewRangeReader(
	ctx context.Context, key string, offset, length int64, options *driver.ReaderOptions,
) (driver.Reader, error) {
	address := d.store.objectURL(key, url.Values{"alt": {"media"}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	// Without this header, the store would send the text of an object whose encoding is gzip, and all of it.
	request.Header.Set("Accept-Encoding", "gzip")
	if err := options.BeforeRead(asPointer(&request)); err != nil {
		return nil, err
	}
	response, err := d.store.client.Do(request)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode/100 != 2:
		return nil, readAnswer(response, nil)
	}
	return &gcsReader{response.Body, response}, nil
}

func asPointer[T any](value *T) func(any) bool {
	return func(target any) bool {
		pointer, is := target.(*T)
		if is {
			*pointer = *value
		}
		return is
	}
}

func (d gcsDriver) Delete(ctx context.Context, key string, _ *driver.DeleteOptions) error {
	return d.store.remove(ctx, key, "")
}

// gcsReader is the answer to a request for a range.
type gcsReader struct {
	io.ReadCloser
	response *http.Response
}

func (r *gcsReader) Attributes() *driver.ReaderAttributes { return &driver.ReaderAttributes{} }

func (r *gcsReader) As(target any) bool { return asPointer(&r.response)(target) }
