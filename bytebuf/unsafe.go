//go:build !purego

package bytebuf

import (
	"runtime"
	"unsafe"
)

// pack returns the address of an array, which an interface holds without allocating.
func pack(buf []byte) any { return unescaped(buf) }

// unpack returns the slice that was packed.
func unpack(packed any, size int) []byte { return unsafe.Slice(packed.(*byte), size) }

// inPlace is whether stringOf avoids a copy.
const inPlace = true

// stringOf returns a string of bytes that will not change.
func stringOf(buf []byte) string { return unsafe.String(unescaped(buf), len(buf)) }

// unescaped returns the address of an array of allocate and hides its origin from escape analysis. Otherwise every
// array of a Buffer would escape, including the array of New.
func unescaped(buf []byte) *byte {
	data := unsafe.SliceData(buf)
	address := uintptr(unsafe.Pointer(data))
	hidden := *(**byte)(unsafe.Pointer(&address))
	runtime.KeepAlive(data)
	return hidden
}
