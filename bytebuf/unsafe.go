//go:build !purego

package bytebuf

import (
	"runtime"
	"unsafe"
)

// pack gives an array the shape of a pointer, which an interface holds without allocating.
func pack(buf []byte) any { return unescaped(buf) }

// unpack gives the slice of pack back.
func unpack(packed any, size int) []byte { return unsafe.Slice(packed.(*byte), size) }

// inPlace says that stringOf does not copy.
const inPlace = true

// stringOf makes a string of bytes that nobody will change.
func stringOf(buf []byte) string { return unsafe.String(unescaped(buf), len(buf)) }

// unescaped gives the address of an array of allocate, which is on the heap, and hides from the compiler where it is
// from. Otherwise each array that a Buffer can have would count as one that outlives the Buffer, and that of New could
// not be on the stack.
func unescaped(buf []byte) *byte {
	data := unsafe.SliceData(buf)
	address := uintptr(unsafe.Pointer(data))
	hidden := *(**byte)(unsafe.Pointer(&address))
	runtime.KeepAlive(data)
	return hidden
}
