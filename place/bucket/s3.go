package bucket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"culvert/place"
)

// s3Store is a bucket of S3. Objects are written with the vendor's client: gocloud's writer copies each part, hashes it
// a second time to sign it without TLS, and chooses the size of parts once.
type s3Store struct {
	client    *s3.Client
	bucket    *blob.Bucket
	name      string
	abandoned time.Duration

	// noChecksums: the store has refused a request because of the header for the SHA-256 of the data.
	noChecksums atomic.Bool
}

func openS3(ctx context.Context, a *address, c Config, connections *connections) (store, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(connections.configure)),
		config.WithLogger(logging.Nop{}), // what matters is in errors
	}
	if a.region != "" {
		options = append(options, config.WithRegion(a.region))
	}
	configuration, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("bucket: reading the configuration of AWS: %w", err)
	}
	if configuration.Region == "" {
		if a.endpoint == nil && configuration.BaseEndpoint == nil {
			return nil, errors.New("bucket: the region is unknown: add ?region=REGION to the URL, or set AWS_REGION")
		}
		configuration.Region = "us-east-1"
	}
	client := s3.NewFromConfig(configuration, func(o *s3.Options) {
		o.Retryer = aws.NopRetryer{} // retry does it
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if a.endpoint != nil {
			o.BaseEndpoint = aws.String(a.endpoint.String())
		}
		o.UsePathStyle = o.BaseEndpoint != nil // which AWS_ENDPOINT_URL_S3 also sets
		if a.pathStyle != nil {
			o.UsePathStyle = *a.pathStyle
		}
	})
	blobs, err := s3blob.OpenBucket(ctx, client, a.bucket, &s3blob.Options{
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
	if err != nil {
		return nil, err
	}
	return &s3Store{
		client: client, bucket: blobs, name: a.bucket, abandoned: c.Abandoned,
	}, nil
}

func (s *s3Store) blobs() *blob.Bucket { return s.bucket }

func (s *s3Store) version(a *blob.Attributes) string { return unquoted(a.ETag) }

func (s *s3Store) listed(o *blob.ListObject) string {
	var object types.Object
	if !o.As(&object) {
		return ""
	}
	return unquoted(aws.ToString(object.ETag))
}

func (s *s3Store) pin(version string, as func(any) bool) error {
	var input *s3.GetObjectInput
	if !as(&input) {
		return errors.ErrUnsupported
	}
	if version != "" {
		input.IfMatch = aws.String(quoted(version))
	}
	return nil
}

func (s *s3Store) check(r *blob.Reader, version string, off, n int64) error {
	var output s3.GetObjectOutput
	if !r.As(&output) {
		return errors.ErrUnsupported
	}
	return checkRange(aws.ToString(output.ETag), version, aws.ToString(output.ContentRange), off, n)
}

func (s *s3Store) upload(key string, create bool, mark string) upload {
	u := &s3Upload{store: s, key: aws.String(key), mark: map[string]string{markKey: mark}}
	if create {
		u.condition = aws.String("*")
	}
	return u
}

// s3Upload writes one object.
type s3Upload struct {
	store     *s3Store
	key       *string
	condition *string
	mark      map[string]string
	id        *string // nil before begin

	mu    sync.Mutex
	parts []types.CompletedPart
	cut   bool // a request for a part was cut off, and the store may still process it
}

const contentType = "application/octet-stream"

// signed makes the signature contain a hash that is known already. Otherwise the library would read the data once more,
// or not sign it.
func signed(hash []byte) func(*s3.Options) {
	set := middleware.InitializeMiddlewareFunc("culvertPayloadHash", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(v4.SetPayloadHash(ctx, hex.EncodeToString(hash)), in)
	})
	return func(o *s3.Options) {
		o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], func(stack *middleware.Stack) error {
			return stack.Initialize.Add(set, middleware.After)
		})
	}
}

func (s *s3Store) checksum(hash []byte) *string {
	if s.noChecksums.Load() {
		return nil
	}
	return aws.String(base64.StdEncoding.EncodeToString(hash))
}

// withoutChecksum reports whether a store does not know the header of checksums. It will not be sent to it again.
func (s *s3Store) withoutChecksum(err error) bool {
	a, answered := answerOf(err)
	refused := answered && (a.status == http.StatusNotImplemented || a.status == http.StatusBadRequest) &&
		!contains(damaged, a.code) && strings.Contains(strings.ToLower(a.text), "x-amz-checksum")
	return refused && s.noChecksums.CompareAndSwap(false, true)
}

func (u *s3Upload) put(ctx context.Context, data []byte) error {
	hash := sha256.Sum256(data)
	_, err := u.store.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &u.store.name, Key: u.key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ContentType: aws.String(contentType), Metadata: u.mark, IfNoneMatch: u.condition,
		ChecksumSHA256: u.store.checksum(hash[:]),
	}, signed(hash[:]))
	if u.store.withoutChecksum(err) {
		return u.put(ctx, data)
	}
	return err
}

// begin is not cut off by the end of the context: without the answer, nobody could abort the upload.
func (u *s3Upload) begin(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	input := &s3.CreateMultipartUploadInput{
		Bucket: &u.store.name, Key: u.key, ContentType: aws.String(contentType), Metadata: u.mark,
	}
	if !u.store.noChecksums.Load() {
		input.ChecksumAlgorithm, input.ChecksumType = types.ChecksumAlgorithmSha256, types.ChecksumTypeComposite
	}
	output, err := u.store.client.CreateMultipartUpload(ctx, input)
	if u.store.withoutChecksum(err) {
		return u.begin(ctx)
	}
	if err != nil {
		return err
	}
	u.id = output.UploadId
	u.removeAbandoned(ctx)
	return nil
}

func (u *s3Upload) inOrder() bool { return false }

func (u *s3Upload) part(ctx context.Context, number int, data []byte) error {
	hash := sha256.Sum256(data)
	checksum := u.store.checksum(hash[:])
	output, err := u.store.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.store.name, Key: u.key, UploadId: u.id, PartNumber: aws.Int32(int32(number)),
		Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))), ChecksumSHA256: checksum,
	}, signed(hash[:]))
	switch {
	case err != nil:
		u.mu.Lock()
		defer u.mu.Unlock()
		u.cut = u.cut || isOfConnection(err) || ctx.Err() != nil
		return err
	case aws.ToString(output.ETag) == "":
		return fmt.Errorf("%w: the store has not named part %d", place.ErrIntegrity, number)
	case checksum != nil && output.ChecksumSHA256 != nil && *output.ChecksumSHA256 != *checksum:
		return fmt.Errorf("%w: the store has another checksum of part %d", place.ErrIntegrity, number)
	case output.ChecksumSHA256 == nil:
		checksum = nil // this store does not keep it
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.parts) < number {
		u.parts = append(u.parts, types.CompletedPart{})
	}
	u.parts[number-1] = types.CompletedPart{
		ETag: output.ETag, PartNumber: aws.Int32(int32(number)), ChecksumSHA256: checksum,
	}
	return nil
}

func (u *s3Upload) complete(ctx context.Context, parts int) error {
	input := &s3.CompleteMultipartUploadInput{
		Bucket: &u.store.name, Key: u.key, UploadId: u.id, IfNoneMatch: u.condition,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts[:parts]},
	}
	_, err := u.store.client.CompleteMultipartUpload(ctx, input)
	return err
}

// withoutCondition is for stores that do not know If-None-Match.
func (u *s3Upload) withoutCondition() { u.condition = nil }

func (u *s3Upload) abort(ctx context.Context) error {
	if u.id == nil {
		return nil
	}
	if err := u.store.abort(ctx, u.key, u.id); err != nil || !u.cut {
		return err
	}
	// A part that the store has still processed may have been added after the upload was aborted. Then it has to be
	// aborted again.
	timer := time.NewTimer(firstPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_, err := u.store.client.ListParts(ctx, &s3.ListPartsInput{
		Bucket: &u.store.name, Key: u.key, UploadId: u.id, MaxParts: aws.Int32(1),
	})
	if err != nil {
		return nil // it does not exist, or cannot be looked for
	}
	return errStillThere
}

// errStillThere makes an upload be aborted again.
var errStillThere = fmt.Errorf("%w: the store does not end an upload", place.ErrUnreachable)

// abort ends an upload. One that does not exist has ended.
func (s *s3Store) abort(ctx context.Context, key, id *string) error {
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.name, Key: key, UploadId: id})
	if isNotFound(err) {
		return nil
	}
	return err
}

// removeAbandoned aborts the uploads of the same key that nobody continues. It is no failure of this upload if the
// credentials do not allow that, or if the store cannot list uploads.
func (u *s3Upload) removeAbandoned(ctx context.Context) {
	before := time.Now().Add(-u.store.abandoned)
	pages := s3.NewListMultipartUploadsPaginator(u.store.client, &s3.ListMultipartUploadsInput{
		Bucket: &u.store.name, Prefix: u.key,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return
		}
		for _, other := range page.Uploads {
			if aws.ToString(other.Key) != *u.key {
				return // the keys are sorted, and the shortest with this prefix is the key itself
			}
			if aws.ToString(other.UploadId) == *u.id || !aws.ToTime(other.Initiated).Before(before) {
				continue
			}
			if last, err := u.lastPart(ctx, other.UploadId); err != nil || !last.Before(before) {
				continue
			}
			if u.store.abort(ctx, u.key, other.UploadId) != nil {
				return
			}
		}
	}
}

// lastPart returns when an upload received its last part.
func (u *s3Upload) lastPart(ctx context.Context, id *string) (last time.Time, err error) {
	pages := s3.NewListPartsPaginator(u.store.client, &s3.ListPartsInput{
		Bucket: &u.store.name, Key: u.key, UploadId: id,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return last, err
		}
		for _, part := range page.Parts {
			if modified := aws.ToTime(part.LastModified); modified.After(last) {
				last = modified
			}
		}
	}
	return last, nil
}
