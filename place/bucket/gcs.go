//go:build gcs

package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"culvert/place"
)

// gcsStore is a bucket of Google Cloud Storage.
type gcsStore struct {
	client   *storage.Client
	bucket   *blob.Bucket
	timeouts Config
}

func openGCS(ctx context.Context, a *address, c Config, connections *connections) (store, error) {
	var transport http.RoundTripper = connections.transport()
	var options []option.ClientOption
	switch {
	case os.Getenv("STORAGE_EMULATOR_HOST") != "" && a.endpoint == nil:
		// The library takes the address from there, and no credentials.
	case a.endpoint != nil && a.endpoint.Scheme == "http":
		options = append(options, option.WithoutAuthentication())
	default:
		// Tokens are fetched over connections of their own kind, and for as long as the place is open.
		tokens := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Transport: transport})
		credentials, err := google.FindDefaultCredentials(tokens, storage.ScopeReadWrite)
		if err != nil {
			return nil, fmt.Errorf("bucket: there are no credentials of Google: %w", noCredentials("gs"))
		}
		transport = &oauth2.Transport{Source: credentials.TokenSource, Base: transport}
	}
	if a.endpoint != nil {
		options = append(options, option.WithEndpoint(a.endpoint.JoinPath("storage/v1/").String()))
	}
	options = append(options, option.WithHTTPClient(&http.Client{Transport: transport}), storage.WithJSONReads())
	client, err := storage.NewClient(ctx, options...)
	if err != nil {
		return nil, errors.New("bucket: " + innermost(err))
	}
	client.SetRetry(storage.WithPolicy(storage.RetryNever)) // retry does it
	blobs, err := gcsblob.OpenBucket(ctx, nil, a.bucket, &gcsblob.Options{Client: client})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &gcsStore{client, blobs, c}, nil
}

func (s *gcsStore) blobs() *blob.Bucket { return s.bucket }

func (s *gcsStore) version(a *blob.Attributes) string {
	var attributes storage.ObjectAttrs
	if !a.As(&attributes) {
		return ""
	}
	return strconv.FormatInt(attributes.Generation, 10)
}

func (s *gcsStore) listed(o *blob.ListObject) string {
	var attributes storage.ObjectAttrs
	if !o.As(&attributes) {
		return ""
	}
	return strconv.FormatInt(attributes.Generation, 10)
}

func (s *gcsStore) pin(version string, as func(any) bool) error {
	var object **storage.ObjectHandle
	if !as(&object) {
		return errors.ErrUnsupported
	}
	generation, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return err
	}
	*object = (*object).Generation(generation)
	return nil
}

func (s *gcsStore) check(r *blob.Reader, version string, off, n int64) error {
	var reader *storage.Reader
	if !r.As(&reader) {
		return errors.ErrUnsupported
	}
	switch {
	case strconv.FormatInt(reader.Attrs.Generation, 10) != version:
		return place.ErrChanged
	case reader.Attrs.StartOffset != off || reader.Remain() != n:
		return fmt.Errorf("%w: the store has sent another range", place.ErrIntegrity)
	}
	return nil
}

func (s *gcsStore) upload(key string, create bool, mark string) upload {
	return &gcsUpload{store: s, key: key, create: create, mark: mark}
}

// gcsUpload writes one object with a resumable upload, which is one stream.
type gcsUpload struct {
	store  *gcsStore
	key    string
	create bool
	mark   string
	writer *blob.Writer
	cancel context.CancelFunc
}

// open begins a stream that is sent in chunks of this size, or with one request if chunk is negative.
func (u *gcsUpload) open(ctx context.Context, chunk int) (*blob.Writer, error) {
	return u.store.bucket.NewWriter(ctx, u.key, &blob.WriterOptions{
		BufferSize: chunk, ContentType: contentType, Metadata: map[string]string{markKey: u.mark}, IfNotExist: u.create,
		BeforeWrite: func(as func(any) bool) error {
			var object **storage.ObjectHandle
			if !as(&object) {
				return errors.ErrUnsupported
			}
			if chunk > 0 {
				// Only the library can repeat a chunk, and the mark makes any repetition safe.
				*object = (*object).Retryer(storage.WithPolicy(storage.RetryAlways))
			}
			var writer *storage.Writer
			if !as(&writer) {
				return errors.ErrUnsupported
			}
			writer.ChunkRetryDeadline = u.store.timeouts.Timeout
			return nil
		},
	})
}

func (u *gcsUpload) put(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := u.open(ctx, -1)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		cancel() // so that Close does not complete it
		return errors.Join(err, ignored(w.Close()))
	}
	return w.Close()
}

// ignored says that an error is the consequence of another one.
func ignored(error) error { return nil }

func (u *gcsUpload) begin(ctx context.Context) (err error) {
	ctx, u.cancel = context.WithCancel(ctx)
	u.writer, err = u.open(ctx, int(u.store.timeouts.PartSize))
	return err
}

func (u *gcsUpload) inOrder() bool { return true }

func (u *gcsUpload) part(_ context.Context, _ int, data []byte) error {
	_, err := u.writer.Write(data)
	return err
}

func (u *gcsUpload) complete(context.Context, int) error {
	defer u.cancel()
	return u.writer.Close()
}

func (u *gcsUpload) abort(context.Context) error {
	if u.writer == nil {
		return nil
	}
	u.cancel()
	_ = u.writer.Close() // it reports that it was cancelled
	return nil
}

// answerOfGoogle is answerOf for the library of Google Cloud Storage.
func answerOfGoogle(err error) (a answer, answered bool) {
	if api, is := errors.AsType[*googleapi.Error](err); is {
		a, answered = answer{api.Code, "", api.Message}, true
		if len(api.Errors) > 0 {
			a.code = api.Errors[0].Reason
		}
	}
	if !answered && errors.Is(err, storage.ErrObjectNotExist) {
		a, answered = answer{http.StatusNotFound, "", "no such object"}, true
	}
	if !answered && errors.Is(err, storage.ErrBucketNotExist) {
		a, answered = answer{http.StatusNotFound, "NoSuchBucket", "no such bucket"}, true
	}
	return a, answered
}
