package bucket

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

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
	client *http.Client
	server string // a URL without a slash at its end
	name   string
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
	return s, nil
}

// gcsObject is what the API tells of an object.
type gcsObject struct {
	Name       string            `json:"name"`
	Size       *int64            `json:"size,string"`
	Updated    time.Time         `json:"updated"`
	Generation string            `json:"generation"`
	CRC32C     string            `json:"crc32c"`
	Metadata   map[string]string `json:"metadata"`
}

// isComplete reports whether the API has told what every object has.
func (o gcsObject) isComplete() bool { return o.Size != nil && !o.Updated.IsZero() }

// sum returns the checksum of an object, or none.
func (o gcsObject) sum(func(func(context.Context) error) error) (place.Sum, error) {
	if o.CRC32C == "" {
		return place.Sum{}, nil
	}
	value, err := base64.StdEncoding.DecodeString(o.CRC32C)
	if err != nil || len(value) != crc32.Size {
		return place.Sum{}, fmt.Errorf("%w: the checksum of the object is malformed", place.ErrIntegrity)
	}
	return place.Sum{Algorithm: place.CRC32C, Value: value}, nil
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

func (s *gcsStore) describe(ctx context.Context, key string, _ bool) (description, error) {
	var object gcsObject
	query := url.Values{"fields": {"size,updated,generation,crc32c,metadata"}}
	if err := s.get(ctx, s.objectURL(key, query), &object); err != nil {
		return description{}, err
	}
	if !object.isComplete() {
		return description{}, errIncomplete
	}
	about := description{
		size: *object.Size, modified: object.Updated, version: object.Generation, metadata: map[string]string{},
		sum: object.sum,
	}
	for name, value := range object.Metadata {
		about.metadata[strings.ToLower(name)] = value
	}
	return about, nil
}

func (s *gcsStore) list(ctx context.Context, request listRequest) (listPage, error) {
	query := url.Values{
		"prefix": {request.prefix}, "delimiter": {request.delimiter}, "pageToken": {request.token},
		"maxResults": {strconv.Itoa(request.most)},
		"fields":     {"nextPageToken,prefixes,items(name,size,updated,generation)"},
	}
	for name, values := range query {
		if values[0] == "" {
			query.Del(name)
		}
	}
	var answer struct {
		NextPageToken string      `json:"nextPageToken"`
		Prefixes      []string    `json:"prefixes"`
		Items         []gcsObject `json:"items"`
	}
	if err := s.get(ctx, s.listURL(query), &answer); err != nil {
		return listPage{}, inBucket(err)
	}
	page := listPage{next: answer.NextPageToken}
	for _, object := range answer.Items {
		if object.Name == "" || !object.isComplete() {
			return listPage{}, errIncomplete
		}
		page.entries = append(page.entries, listEntry{
			key: object.Name, size: *object.Size, modified: object.Updated, version: object.Generation,
		})
	}
	for _, prefix := range answer.Prefixes {
		page.entries = append(page.entries, listEntry{key: prefix, isPrefix: true})
	}
	page.entries = inOrder(page.entries)
	return page, nil
}

func (s *gcsStore) read(ctx context.Context, key, version string, off, n int64) (rangeAnswer, error) {
	address := s.objectURL(key, url.Values{"alt": {"media"}, "generation": {version}})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return rangeAnswer{}, err
	}
	request.Header.Set("Range", rangeHeader(off, n))
	// Without this header, the store would send the text of an object whose encoding is gzip, and all of it.
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := s.client.Do(request)
	switch {
	case err != nil:
		return rangeAnswer{}, err
	case response.StatusCode/100 != 2:
		return rangeAnswer{}, readAnswer(response, nil)
	}
	return rangeAnswer{
		response.Body, response.Header.Get("X-Goog-Generation"), response.Header.Get("Content-Range"),
	}, nil
}
