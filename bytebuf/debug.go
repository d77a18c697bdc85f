//go:build bytebufdebug

package bytebuf

const debug = true

// poison overwrites freed memory, so that a use of it is noticed.
func poison(buf []byte) {
	for i := range buf {
		buf[i] = 0xDB
	}
}
