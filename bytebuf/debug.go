//go:build bytebufdebug

package bytebuf

const debug = true

// poison overwrites memory that is freed, so that those who still use it see it.
func poison(buf []byte) {
	for i := range buf {
		buf[i] = 0xDB
	}
}
