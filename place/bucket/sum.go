package bucket

import (
	"context"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	"gocloud.dev/blob"

	"culvert/place"
)

// summing is a store that keeps other checksums than the MD5 which gocloud tells.
type summing interface {
	// sum returns the checksum of an object with these attributes, or none. It sends requests through try, perhaps
	// several at the same time.
	sum(key string, a *blob.Attributes, try func(func(context.Context) error) error) (place.Sum, error)
}

// Sum is called by [place.SumOf].
func (o *object) Sum() (sum place.Sum, err error) {
	attributes := o.info.attributes
	store, is := o.bucket.store.(summing)
	switch {
	case is:
		sum, err = store.sum(o.key, attributes, func(attempt func(context.Context) error) error {
			return o.bucket.retry(o.ctx, attempt)
		})
	case len(attributes.MD5) > 0:
		sum = place.Sum{Algorithm: place.MD5, Value: attributes.MD5}
	}
	return sum, named("sum", o.name, err)
}

type checksumKey struct{}

// withChecksum makes requests for attributes ask for the checksum too. Those of writers do not: with a key of KMS,
// the answer needs the permission to decrypt.
func withChecksum(ctx context.Context) context.Context {
	return context.WithValue(ctx, checksumKey{}, true)
}

// askForChecksum is an option of the client of S3.
func askForChecksum(stack *middleware.Stack) error {
	ask := middleware.InitializeMiddlewareFunc("culvertChecksumMode", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if head, is := in.Parameters.(*s3.HeadObjectInput); is && ctx.Value(checksumKey{}) != nil {
			head.ChecksumMode = types.ChecksumModeEnabled
		}
		return next.HandleInitialize(ctx, in)
	})
	return stack.Initialize.Add(ask, middleware.After)
}

func (s *gcsStore) sum(_ string, a *blob.Attributes, _ func(func(context.Context) error) error) (place.Sum, error) {
	var object *gcsObject
	if !a.As(&object) || object.CRC32C == "" {
		return place.Sum{}, nil
	}
	value, err := base64.StdEncoding.DecodeString(object.CRC32C)
	if err != nil || len(value) != crc32.Size {
		return place.Sum{}, fmt.Errorf("%w: the checksum of the object is malformed", place.ErrIntegrity)
	}
	return place.Sum{Algorithm: place.CRC32C, Value: value}, nil
}

func (u *gcsUpload) isVerified() bool { return u.verified }

// sum returns the checksum that is cheapest to compute.
func (s *s3Store) sum(
	key string, a *blob.Attributes, try func(func(context.Context) error) error,
) (place.Sum, error) {
	var head s3.HeadObjectOutput
	if !a.As(&head) {
		return place.Sum{}, nil
	}
	for _, kept := range []struct {
		algorithm place.Algorithm
		text      *string
	}{
		{place.CRC64NVME, head.ChecksumCRC64NVME},
		{place.CRC32C, head.ChecksumCRC32C},
		{place.CRC32, head.ChecksumCRC32},
		{place.SHA256, head.ChecksumSHA256},
	} {
		// The checksum of checksums ends with the number of parts.
		text, count, composite := strings.Cut(aws.ToString(kept.text), "-")
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(value) != kept.algorithm.New().Size() {
			continue
		}
		sum := place.Sum{Algorithm: kept.algorithm, Value: value}
		if !composite && head.ChecksumType != types.ChecksumTypeComposite {
			return sum, nil
		}
		parts, err := strconv.Atoi(count)
		if err != nil {
			continue
		}
		sum.Parts, err = s.partSizes(a.Size, parts, func(number int) (size int64, err error) {
			err = try(func(ctx context.Context) (err error) {
				size, err = s.partSize(ctx, key, a, number)
				return err
			})
			return size, err
		})
		if err != nil || sum.Parts != nil {
			return sum, err
		}
	}
	return place.Sum{}, nil
}

// maxParts is how many parts an object of S3 has at most.
const maxParts = 10_000

// partSizes returns the sizes of the parts of an object, or nil if the store does not tell them. It tells one with each
// request, and all are requested: a guess that is wrong would make a whole object seem damaged.
func (s *s3Store) partSizes(size int64, count int, sizeOf func(number int) (int64, error)) ([]int64, error) {
	if count < 1 || count > maxParts {
		return nil, nil
	}
	sizes := make([]int64, count)
	last := count - 1 // has the rest
	if last > 0 {
		var err error
		if sizes[0], err = sizeOf(1); err != nil || sizes[0] <= 0 || sizes[0] >= size {
			return nil, err // a store that does not know parts tells the size of the object
		}
	}
	var next atomic.Int64
	var failed atomic.Pointer[error]
	next.Store(1)
	var workers sync.WaitGroup
	for range s.parallel {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < last && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				var err error
				if sizes[i], err = sizeOf(i + 1); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	left := size
	for _, part := range sizes[:last] {
		if left -= part; part <= 0 || left <= 0 {
			return nil, nil
		}
	}
	sizes[last] = left
	return sizes, nil
}

// partSize returns the size of a part, or 0 if the store does not tell it.
func (s *s3Store) partSize(ctx context.Context, key string, a *blob.Attributes, number int) (int64, error) {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &s.name, Key: &key, IfMatch: aws.String(quoted(s.version(a))), PartNumber: aws.Int32(int32(number)),
	})
	if err == nil {
		return aws.ToInt64(head.ContentLength), nil
	}
	switch answer, answered := answerOf(err); {
	case !answered || isRetryable(err):
		return 0, err
	case answer.status == http.StatusPreconditionFailed, answer.status == http.StatusNotFound:
		return 0, place.ErrChanged
	}
	return 0, nil
}
