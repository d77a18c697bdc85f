//go:build linux || darwin

package fileservice

import (
	"encoding/binary"
	"hash/fnv"
)

// makeTag hashes, so that clients do not come to rely on what it is made of.
func makeTag(inode uint64, changed int64) uint64 {
	hash := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], inode)
	binary.LittleEndian.PutUint64(b[8:], uint64(changed))
	hash.Write(b[:])
	return hash.Sum64()
}
