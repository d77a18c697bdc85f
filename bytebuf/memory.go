package bytebuf

import (
	"math/bits"
	"sync"
)

// The free lists have arrays of 2^6 to 2^30 bytes, with three sizes between two powers of two, so that data a little
// larger than a power of two, such as a block with its header, does not take twice the memory. Larger arrays are left
// to the collector.
const (
	minShift   = 6
	maxShift   = 30
	stepsShift = 2
	steps      = 1 << stepsShift // from a power of two to the next
)

var freeLists [1 + steps*(maxShift-minShift)]sync.Pool

// sizeFor returns the smallest size that holds n bytes and the index of its free list, or n and a negative index if n
// is too large for the lists.
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

// obtain returns at least n bytes, not cleared. It panics with ErrTooLarge if they cannot be allocated.
func obtain(n int) []byte {
	size, index := sizeFor(n)
	if index >= 0 {
		if kept := freeLists[index].Get(); kept != nil {
			return unpack(kept, size)
		}
	}
	return allocate(size)
}

// release puts an array of obtain on its free list.
func release(buf []byte) {
	buf = buf[:cap(buf)]
	poison(buf)
	if _, index := sizeFor(len(buf)); index >= 0 && !debug {
		freeLists[index].Put(pack(buf))
	}
}

// allocate returns n bytes. It must not be inlined, since the memory must be on the heap.
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
