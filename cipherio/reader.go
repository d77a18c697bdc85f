package cipherio

import (
	"crypto/cipher"
	"io"
)

// StreamReader is an [io.Reader] that passes what it reads through a cipher. It is [cipher.StreamReader], which has
// never allocated, and like it does not authenticate: what it gives may have been changed or cut short by anyone who
// could write to R. See the package comment, and prefer [culvert/agefile].
//
// It has no state but that of S and R, so that it may be copied. It must be used by one goroutine at a time. A nil S or
// R panics on the first Read.
type StreamReader struct {
	S cipher.Stream // decrypts or encrypts, in order and from where it stands
	R io.Reader     // where the bytes come from
}

// Read reads from R into dst, once, and passes what it got through S in place. It returns what R returns, also 0 bytes
// without an error, and panics if R claims a number of bytes that is negative or beyond the capacity of dst. It
// allocates nothing, and does not retain dst.
func (r StreamReader) Read(dst []byte) (n int, err error) {
	n, err = r.R.Read(dst)
	r.S.XORKeyStream(dst[:n], dst[:n])
	return n, err
}
