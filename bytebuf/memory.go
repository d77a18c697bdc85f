package bytebuf

import (
	"math/bits"
	"sync"
)

// The free lists have arrays of 2^6 to 2^30 bytes, and of three sizes between each power of two and the next. So the
// arrays for what is a little more than a power of two, such as a block with its header, are not twice as large. Larger
// ones are left to the collector.
const (
	minShift   = 6
	maxShift   = 30
	stepsShift = 2
	steps      = 1 << stepsShift // from a power of two to the next
)

var freeLists [1 + steps*(maxShift-minShift)]sync.Pool

// sizeFor gives the least size of the free lists that is n or more, and the index of its list; or n and a negative
// index if there is none.
func sizeFor(n int) (size, index int) {
	if n <= 1<<minShift {
		return 1 << minShift, 0
	}
	shift := bits.Len(uint(n - 1)) // n is more than 2^(shift-1), and 2^shift at most
	if shift > maxShift {
		return n, -1
	}
	stepShift := shift - 1 - stepsShift
	count := (n-1)>>stepShift + 1 // steps+1 to 2*steps
	return count << stepShift, steps*(shift-1-minShift) + count - steps
}

// obtain gives an array of at least n bytes as a slice of its full size. What it holds is left from earlier use. It
// panics with ErrTooLarge if there is no such array.
func obtain(n int) []byte {
	size, index := sizeFor(n)
	if index >= 0 {
		if kept := freeLists[index].Get(); kept != nil {
			return unpack(kept, size)
		}
	}
	return allocate(size)
}

// release puts the array of a slice of obtain on its list.
func release(buf []byte) {
	buf = buf[:cap(buf)]
	poison(buf)
	if _, index := sizeFor(len(buf)); index >= 0 && !debug {
		freeLists[index].Put(pack(buf))
	}
}

// allocate makes a slice of n bytes. It must not be inlined: what it makes has to be on the heap.
//
//go:noinline
func allocate(n int) []byte {
	defer func() {
		if recover() != nil {
			panic(ErrTooLarge)
		}
	}()
	return make([]byte, n)
}
