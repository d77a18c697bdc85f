package bytebuf

import (
	"math/bits"
	"sync"
)

// The free lists have arrays of 1<<minShift to 1<<maxShift bytes. Larger ones are left to the collector.
const (
	minShift = 6
	maxShift = 30
)

var freeLists [maxShift - minShift + 1]sync.Pool

// obtain gives an array of at least n bytes, n > 0, as a slice of its full size. What it holds is left from earlier
// use. It panics with ErrTooLarge if there is no such array.
func obtain(n int) []byte {
	shift := max(bits.Len(uint(n-1)), minShift)
	if shift > maxShift {
		return allocate(n)
	}
	if kept := freeLists[shift-minShift].Get(); kept != nil {
		return unpack(kept, 1<<shift)
	}
	return allocate(1 << shift)
}

// release puts the array of a slice of obtain on its list.
func release(buf []byte) {
	buf = buf[:cap(buf)]
	poison(buf)
	if shift := bits.Len(uint(len(buf))) - 1; shift <= maxShift && !debug {
		freeLists[shift-minShift].Put(pack(buf))
	}
}

// allocate makes a slice of n bytes.
func allocate(n int) []byte {
	defer func() {
		if recover() != nil {
			panic(ErrTooLarge)
		}
	}()
	return make([]byte, n)
}
