package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"

	"culvert/place"
)

// s3Store is a bucket of S3.
type s3Store struct {
	client    *s3.Client
	name      string
	abandoned time.Duration
	timeout   time.Duration
	parallel  int

	refused atomic.Int32 // how many of the s3Sums the store has refused

	prefix     string // of the keys of the place
	unfinished unfinished
}

func openS3(ctx context.Context, a *address, c Config, connections *connections) (store, error) {
	sender := awshttp.NewBuildableClient().WithTransportOptions(connections.configure)
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(sender),
		// By itself, the library waits for the server of a container's role for ever.
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = sender }),
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
		o.Retryer = aws.NopRetryer{}               // retry does it
		o.HTTPClient = boundedClient{o.HTTPClient} // and not in the configuration, which changes its transport
		o.Credentials = &awsCredentials{o.Credentials, issuer{scheme: a.scheme}, connections.patience}
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
	return &s3Store{
		client: client, name: a.bucket, abandoned: c.Abandoned, timeout: c.Timeout, parallel: c.Parallel,
		prefix: a.prefix, unfinished: unfinished{turn: make(chan struct{}, 1)},
	}, nil
}

func (s *s3Store) describe(ctx context.Context, key string, withSum bool) (description, error) {
	input := &s3.HeadObjectInput{Bucket: &s.name, Key: &key}
	if withSum {
		input.ChecksumMode = types.ChecksumModeEnabled
	}
	head, err := s.client.HeadObject(ctx, input)
	if err != nil {
		return description{}, err
	}
	if head.ContentLength == nil || head.LastModified == nil {
		return description{}, errIncomplete
	}
	about := description{
		size: *head.ContentLength, modified: *head.LastModified,
		version: unquoted(aws.ToString(head.ETag)), metadata: map[string]string{},
	}
	for name, value := range head.Metadata {
		about.metadata[strings.ToLower(name)] = value
	}
	about.sum = func(try func(func(context.Context) error) error) (place.Sum, error) {
		return s.sum(key, about, head, try)
	}
	return about, nil
}

func (s *s3Store) list(ctx context.Context, request listRequest) (listPage, error) {
	input := &s3.ListObjectsV2Input{
		Bucket: &s.name, Prefix: &request.prefix, MaxKeys: aws.Int32(int32(request.most)),
		EncodingType: types.EncodingTypeUrl, // XML cannot hold all keys
	}
	if request.delimiter != "" {
		input.Delimiter = &request.delimiter
	}
	if request.token != "" {
		input.ContinuationToken = &request.token
	}
	answer, err := s.client.ListObjectsV2(ctx, input)
	if err != nil {
		return listPage{}, err
	}
	page := listPage{next: aws.ToString(answer.NextContinuationToken)}
	if aws.ToBool(answer.IsTruncated) && page.next == "" {
		return listPage{}, errIncomplete
	}
	for _, object := range answer.Contents {
		key, err := listedKey(object.Key, answer.EncodingType)
		if err != nil || object.Size == nil || object.LastModified == nil {
			return listPage{}, errIncomplete
		}
		page.entries = append(page.entries, listEntry{
			key: key, size: *object.Size, modified: *object.LastModified,
			version: unquoted(aws.ToString(object.ETag)),
		})
	}
	for _, prefix := range answer.CommonPrefixes {
		key, err := listedKey(prefix.Prefix, answer.EncodingType)
		if err != nil {
			return listPage{}, errIncomplete
		}
		page.entries = append(page.entries, listEntry{key: key, isPrefix: true})
	}
	page.entries = inOrder(page.entries)
	return page, nil
}

// listedKey returns a key of a listing, which is escaped if the listing says so: not every store knows how.
func listedKey(text *string, encoding types.EncodingType) (string, error) {
	switch {
	case text == nil:
		return "", errIncomplete
	case encoding == types.EncodingTypeUrl:
		return url.QueryUnescape(*text)
	}
	return *text, nil
}

func (s *s3Store) read(ctx context.Context, key, version string, off, n int64) (rangeAnswer, error) {
	output, err := s.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &s.name, Key: &key, Range: aws.String(rangeHeader(off, n)), IfMatch: aws.String(quoted(version)),
	})
	if err != nil {
		return rangeAnswer{}, err
	}
	return rangeAnswer{output.Body, unquoted(aws.ToString(output.ETag)), aws.ToString(output.ContentRange)}, nil
}

func (s *s3Store) remove(ctx context.Context, key, version string) error {
	input := &s3.DeleteObjectInput{Bucket: &s.name, Key: &key}
	if version == "" {
		// S3 removes what does not exist without a word.
		if _, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.name, Key: &key}); err != nil {
			return err
		}
		_, err := s.client.DeleteObject(ctx, input)
		return err
	}
	input.IfMatch = aws.String(quoted(version))
	_, err := s.client.DeleteObject(ctx, input)
	if a, answered := answerOf(err); answered && a.status == http.StatusNotImplemented {
		input.IfMatch = nil
		_, err = s.client.DeleteObject(ctx, input)
	}
	return repeatable(err)
}

func (s *s3Store) upload(key string, create bool, metadata map[string]string) upload {
	u := &s3Upload{store: s, key: aws.String(key), metadata: metadata}
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
	metadata  map[string]string
	id        *string // nil before begin

	mu       sync.Mutex
	sum      s3Sum // with which the upload was begun
	parts    []s3Part
	verified int  // of how many requests with data the store has returned the checksum
	whole    bool // the store has returned the checksum of the object
	cut      bool // a request for a part was cut off, and the store may still process it
}

// s3Part is a part that the store has.
type s3Part struct {
	types.CompletedPart
	size int64
	sum  []byte // that was sent, if any
}

const contentType = "application/octet-stream"

// begin is not cut off by the end of the context: without the answer, nobody could abort the upload.
func (u *s3Upload) begin(ctx context.Context) error {
	var output *s3.CreateMultipartUploadOutput
	err := u.store.withSum(func(sum s3Sum) (err error) {
		input := &s3.CreateMultipartUploadInput{
			Bucket: &u.store.name, Key: u.key, ContentType: aws.String(contentType), Metadata: u.metadata,
		}
		input.ChecksumAlgorithm, input.ChecksumType = sum.algorithm()
		u.sum = sum
		output, err = u.store.client.CreateMultipartUpload(context.WithoutCancel(ctx), input)
		return err
	})
	if err != nil {
		return err
	}
	if aws.ToString(output.UploadId) == "" {
		return fmt.Errorf("%w: the store has not named the upload", place.ErrIntegrity)
	}
	u.id = output.UploadId
	// There may be many, and each takes several requests. What is left is removed by a later upload.
	ctx, cancel := context.WithTimeout(ctx, u.store.timeout)
	defer cancel()
	now := time.Now()
	if told, has := awsmiddleware.GetServerTime(output.ResultMetadata); has { // with which it dates uploads
		now = told // in whole seconds
	}
	u.removeAbandoned(ctx, now)
	return nil
}

func (u *s3Upload) inOrder() bool { return false }

func (u *s3Upload) put(ctx context.Context, data []byte) error {
	return u.store.withSum(func(sum s3Sum) error {
		sent := sum.of(data)
		input := &s3.PutObjectInput{
			Bucket: &u.store.name, Key: u.key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
			ContentType: aws.String(contentType), Metadata: u.metadata, IfNoneMatch: u.condition,
		}
		input.ChecksumCRC64NVME, input.ChecksumSHA256 = sent.headers()
		output, err := u.store.client.PutObject(ctx, input, sent.sign)
		if err != nil {
			return repeatable(err)
		}
		u.whole, err = sent.compare(output.ChecksumCRC64NVME, output.ChecksumSHA256)
		return err
	})
}

func (u *s3Upload) part(ctx context.Context, number int, data []byte) error {
	return u.withSum(func(sum s3Sum) error {
		sent := sum.of(data)
		input := &s3.UploadPartInput{
			Bucket: &u.store.name, Key: u.key, UploadId: u.id, PartNumber: aws.Int32(int32(number)),
			Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		}
		input.ChecksumCRC64NVME, input.ChecksumSHA256 = sent.headers()
		output, err := u.store.client.UploadPart(ctx, input, sent.sign)
		switch {
		case err != nil:
			u.mu.Lock()
			defer u.mu.Unlock()
			u.cut = u.cut || isOfConnection(err) || ctx.Err() != nil
			return err
		case aws.ToString(output.ETag) == "":
			return fmt.Errorf("%w: the store has not named part %d", place.ErrIntegrity, number)
		}
		part := s3Part{size: int64(len(data)), sum: sent.value}
		part.ETag, part.PartNumber = output.ETag, aws.Int32(int32(number))
		verified, err := sent.compare(output.ChecksumCRC64NVME, output.ChecksumSHA256)
		if err != nil {
			return fmt.Errorf("part %d: %w", number, err)
		}
		if verified { // or else this store does not keep it
			part.ChecksumCRC64NVME, part.ChecksumSHA256 = sent.headers()
		}
		u.add(number, part, verified)
		return nil
	})
}

// add notes a part that the store has confirmed.
func (u *s3Upload) add(number int, part s3Part, verified bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.parts) < number {
		u.parts = append(u.parts, s3Part{})
	}
	u.parts[number-1] = part
	if verified {
		u.verified++
	}
}

func (u *s3Upload) complete(ctx context.Context, parts int) error {
	return u.withSum(func(sum s3Sum) error {
		object := sum.joined(u.parts[:parts])
		input := &s3.CompleteMultipartUploadInput{
			Bucket: &u.store.name, Key: u.key, UploadId: u.id, IfNoneMatch: u.condition,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: completed(u.parts[:parts])},
		}
		input.ChecksumCRC64NVME, _ = object.headers()
		if input.ChecksumCRC64NVME != nil {
			input.ChecksumType = types.ChecksumTypeFullObject
		}
		output, err := u.store.client.CompleteMultipartUpload(ctx, input)
		if err != nil {
			return err
		}
		u.whole, err = object.compare(output.ChecksumCRC64NVME, nil)
		return err
	})
}

// isVerified reports whether the store has returned the checksum of the object, or of each part.
func (u *s3Upload) isVerified() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.whole || len(u.parts) > 0 && u.verified == len(u.parts)
}

// isWhole reports whether the store has returned the checksum of the object.
func (u *s3Upload) isWhole() bool { return u.whole }

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
