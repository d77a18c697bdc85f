// Package bytebuf has buffers whose memory is handed on instead of left to the garbage collector: [Buffer], which takes
// the place of [bytes.Buffer], and [Pool], which lends a bounded number of buffers of fixed sizes.
//
// # In place of bytes.Buffer
//
// Buffer has every method of bytes.Buffer, with the same results, errors and panics. [ErrTooLarge] is
// [bytes.ErrTooLarge]; in the texts of other errors and panics, the prefix is bytebuf instead of bytes. So a
// program changes its import and its constructors:
//
//	b := bytebuf.New() // was: var b bytes.Buffer
//	defer b.Free()     // new, and optional
//	b.WriteString("…")
//	return b.String()
//
// New gives a pointer, so that &b becomes b. Where the program returns b.Bytes(), it must not Free: the slice would be
// handed on with the memory. Where it passes the Buffer to others, as fmt.Fprintf, "var b bytebuf.Buffer" is the better
// constructor.
//
// What asks for a *bytes.Buffer by its type sees another io.Reader: net/http, for one, then has to be told the
// ContentLength and GetBody of a request.
//
// The zero Buffer, [NewBuffer] and [NewBufferString] work as those of package bytes do. Four things are new:
//
//   - [New] begins with 64 bytes on the stack of its caller. As long as the content fits there, and the Buffer itself
//     stays on that stack, only the result of String is allocated. A Buffer leaves the stack, as any variable, when it
//     is returned, kept, or passed as an interface such as io.Writer; its bytes do with WriteTo and ReadFrom. Then
//     there are two allocations, one for the Buffer and one for the 64 bytes.
//   - [Buffer.Free] hands the memory back for the next Buffer of any goroutine. Where buffers come and go, nothing but
//     results is allocated then, whatever their size, but for a little after each collection.
//   - [Buffer.TakeString] gives the content as a string that the memory of the Buffer goes over to.
//   - [Buffer.Extend] gives room to read into, as io.ReadFull wants it.
//
// # Whose memory
//
// A Buffer that needs memory takes an array from free lists that the process shares, one for each of 97 sizes from 64
// bytes to 1 GiB: the least one with room for the content and, where it grows, for twice as much. Free puts it there.
// Each list is a [sync.Pool]: each core has its own, and what lies unused through two collections is given up, so a
// burst of large buffers does not hold memory for ever.
//
// When a Buffer grows it puts the array that it has outgrown on its list at once, unless slices of it may still be in
// use: [Buffer.Bytes], [Buffer.Next], [Buffer.Peek], [Buffer.AvailableBuffer] and [Buffer.Extend] hand them out. Such
// an array is left to the collector, like all of bytes.Buffer's. So nothing but Free can change bytes that somebody
// holds, and a program that never calls Free runs no risk that bytes.Buffer has not, with two exceptions: a copy of a
// Buffer must not be used beside it, not even to read what it had; and readers and writers must not use a slice after
// they have returned, as package io demands.
//
// A [sync.Pool] of bytes.Buffers saves as many allocations. But it is one more thing to declare and to keep right, it
// has nothing on the stack, it lets a small content hold a large array for good, and what its buffers outgrow is lost.
//
// After Free no slice of the Buffer may be used. The arrays are not cleared: overwrite secrets before Free, and expect
// bytes of other Buffers, not zeros, in the room that Extend, AvailableBuffer and ReadFrom give. With the build tag
// bytebufdebug freed memory is filled with 0xDB and not used again, which shows at once who still reads it.
//
// An array that a caller passed to NewBuffer is never put on a list.
//
// # Unsafe
//
// Three things have no counterpart in Go, and unsafe.go has no others: to keep a slice in a sync.Pool without its
// header, which would be copied to the heap each time; to put memory on a free list in a way that does not make every
// array that a Buffer can have, those of New included, one that outlives it; and to make a string of bytes in place.
// The build tag purego replaces them. Then the array of New is on the heap, Free allocates the header, and TakeString
// copies: a Write of 5 bytes, String and Free make 2 allocations instead of 1, and of 128 bytes 3.
package bytebuf
