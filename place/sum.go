package place

import (
	"crypto/md5"
	"crypto/sha256"
	"hash"
	"hash/crc32"
	"io/fs"

	"github.com/minio/crc64nvme"
)

// Sum is a checksum of a whole file, which its place has kept since the file was written. The zero Sum means that there
// is none.
type Sum struct {
	Algorithm Algorithm

	// Value is the checksum. A CRC has its most significant byte first.
	Value []byte

	// Parts is empty if Value is the checksum of the file's bytes. Otherwise the file was written in parts of these
	// sizes, in bytes, and Value is the checksum of the concatenated checksums of the parts.
	Parts []int64
}

// Algorithm names the algorithm of a [Sum].
type Algorithm string

// Algorithms of checksums. Only SHA-256 also detects deliberate changes.
const (
	CRC32     Algorithm = "CRC-32" // of IEEE 802.3
	CRC32C    Algorithm = "CRC-32C"
	CRC64NVME Algorithm = "CRC-64/NVME"
	MD5       Algorithm = "MD5"
	SHA256    Algorithm = "SHA-256"
)

// New returns a hash that computes this checksum, or nil if the algorithm is unknown.
func (a Algorithm) New() hash.Hash {
	switch a {
	case CRC32:
		return crc32.NewIEEE()
	case CRC32C:
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case CRC64NVME:
		return crc64nvme.New()
	case MD5:
		return md5.New()
	case SHA256:
		return sha256.New()
	}
	return nil
}

// SumOf returns the checksum of an open file, for the version that was opened. It returns the zero Sum if the place
// keeps no checksum. It may send requests to the place.
//
// Files that have checksums implement a method Sum() (Sum, error).
func SumOf(f fs.File) (Sum, error) {
	if with, has := f.(interface{ Sum() (Sum, error) }); has {
		return with.Sum()
	}
	return Sum{}, nil
}

// IsVerified reports whether the place has confirmed, by checksums, that it received all of a committed file as it was
// written.
//
// Files that can tell implement a method IsVerified() bool.
func IsVerified(f File) bool {
	with, can := f.(interface{ IsVerified() bool })
	return can && with.IsVerified()
}
