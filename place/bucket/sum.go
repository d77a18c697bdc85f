package bucket

import (
	"context"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"culvert/place"
)

// Sum is called by [place.SumOf].
func (o *object) Sum() (place.Sum, error) {
	if o.info.about.sum == nil {
		return place.Sum{}, nil
	}
	sum, err := o.info.about.sum(func(attempt func(context.Context) error) error {
		return o.bucket.retry(o.ctx, attempt)
	})
	return sum, named("sum", o.name, err)
}

func (u *gcsUpload) isVerified() bool { return u.verified }

// isWhole is the same, since the checksum is that of the object.
func (u *gcsUpload) isWhole() bool { return u.verified }

// sum returns the checksum that is cheapest to compute.
func (s *s3Store) sum(
	key string, about description, head *s3.HeadObjectOutput, try func(func(context.Context) error) error,
) (place.Sum, error) {
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
		sum.Parts, err = s.partSizes(about.size, parts, func(number int) (size int64, err error) {
			err = try(func(ctx context.Context) (err error) {
				size, err = s.partSize(ctx, key, about.version, number)
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
func (s *s3Store) partSize(ctx context.Context, key, version string, number int) (int64, error) {
	head, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &s.name, Key: &key, IfMatch: aws.String(quoted(version)), PartNumber: aws.Int32(int32(number)),
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
