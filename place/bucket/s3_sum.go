package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/minio/crc64nvme"

	"culvert/internal/crc"
	"culvert/place"
)

// s3Sum is by what a store verifies what it receives. The first that it does not refuse is used.
type s3Sum int32

const (
	sumCRC64  s3Sum = iota // of each part, and of the object, which the store keeps
	sumSHA256              // of each part; the store keeps the checksum of them all
	sumNone
)

// algorithm returns with what an upload is begun.
func (k s3Sum) algorithm() (types.ChecksumAlgorithm, types.ChecksumType) {
	switch k {
	case sumCRC64:
		return types.ChecksumAlgorithmCrc64nvme, types.ChecksumTypeFullObject
	case sumSHA256:
		return types.ChecksumAlgorithmSha256, types.ChecksumTypeComposite
	}
	return "", ""
}

// of returns what is sent with data.
func (k s3Sum) of(data []byte) s3Checksum {
	c := s3Checksum{kind: k}
	if k == sumCRC64 {
		c.value = binary.BigEndian.AppendUint64(nil, crc64nvme.Checksum(data))
		return c
	}
	hash := sha256.Sum256(data)
	c.payload = hash[:]
	if k == sumSHA256 {
		c.value = c.payload
	}
	return c
}

// joined returns the checksum of an object, if it can be made of those of its parts.
func (k s3Sum) joined(parts []s3Part) s3Checksum {
	if k != sumCRC64 {
		return s3Checksum{kind: k}
	}
	whole := crc.NVME.Join()
	for _, part := range parts {
		whole.Append(part.sum, part.size)
	}
	return s3Checksum{kind: k, value: whole.Sum(nil)}
}

// completed returns the parts as the request that completes the upload has them: with the checksums of all, or none.
func completed(parts []s3Part) []types.CompletedPart {
	list := make([]types.CompletedPart, len(parts))
	all := true
	for i, part := range parts {
		list[i] = part.CompletedPart
		all = all && (part.ChecksumCRC64NVME != nil || part.ChecksumSHA256 != nil)
	}
	for i := range list {
		if !all {
			list[i].ChecksumCRC64NVME, list[i].ChecksumSHA256 = nil, nil
		}
	}
	return list
}

// s3Checksum is what is sent with a request.
type s3Checksum struct {
	kind    s3Sum
	value   []byte // nil if none is sent
	payload []byte // the SHA-256 for the signature; nil if the library chooses
}

// headers returns the values of the headers, at most one of which is not nil.
func (c s3Checksum) headers() (crc64, sha256 *string) {
	if c.value == nil {
		return nil, nil
	}
	text := base64.StdEncoding.EncodeToString(c.value)
	if c.kind == sumCRC64 {
		return &text, nil
	}
	return nil, &text
}

// compare compares what was sent with what the store returns, if it does. It reports whether it does.
func (c s3Checksum) compare(crc64, sha256 *string) (verified bool, err error) {
	returned := sha256
	if c.kind == sumCRC64 {
		returned = crc64
	}
	if c.value == nil || returned == nil || strings.Contains(*returned, "-") { // of checksums, and not of the data
		return false, nil
	}
	if *returned != base64.StdEncoding.EncodeToString(c.value) {
		return false, fmt.Errorf("%w: the store has another checksum", place.ErrIntegrity)
	}
	return true, nil
}

// sign is an option of a request. By itself, the library would hash the data for the signature even if it is known, and
// with TLS too. With TLS, the checksum that is sent is signed, and so stands for the data. Without a checksum, the hash
// in the signature is all that a store can verify.
func (c s3Checksum) sign(o *s3.Options) {
	change := v4.UseDynamicPayloadSigningMiddleware
	if c.payload != nil {
		change = func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("culvertPayloadHash", func(
				ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
			) (middleware.InitializeOutput, middleware.Metadata, error) {
				return next.HandleInitialize(v4.SetPayloadHash(ctx, hex.EncodeToString(c.payload)), in)
			}), middleware.After)
		}
	}
	o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], change)
}

// withSum sends a request, again with the next checksum if the store refuses this one. It will not be sent to it again.
func (s *s3Store) withSum(send func(s3Sum) error) error {
	for {
		sum := s3Sum(s.refused.Load())
		if err := send(sum); !s.refuses(sum, err) {
			return err
		}
	}
}

// withSum is the same for the parts of an upload. The upload was begun with one checksum and takes no other.
func (u *s3Upload) withSum(send func(s3Sum) error) error {
	for {
		u.mu.Lock()
		sum := u.sum
		u.mu.Unlock()
		if err := send(sum); !u.store.refuses(sum, err) {
			return err
		}
		u.mu.Lock()
		u.sum = sumNone
		u.mu.Unlock()
	}
}

// refuses reports whether a store does not know a checksum. Several requests may be refused at the same time.
func (s *s3Store) refuses(sum s3Sum, err error) bool {
	a, answered := answerOf(err)
	if sum == sumNone || !answered || contains(damaged, a.code) ||
		a.status != http.StatusNotImplemented && a.status != http.StatusBadRequest {
		return false
	}
	// There is no code of its own for it. A checksum that does not match is no reason to go without.
	text := strings.ToLower(a.text)
	if !strings.Contains(text, "checksum") || strings.Contains(text, "match") {
		return false
	}
	s.refused.CompareAndSwap(int32(sum), int32(sum)+1)
	return true
}
