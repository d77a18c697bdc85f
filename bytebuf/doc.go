// Package bytebuf provides buffers that reuse their memory instead of leaving it to the garbage collector: [Buffer]
// replaces [bytes.Buffer], and [Pool] lends a bounded number of buffers of fixed sizes.
//
// # Replacing bytes.Buffer
//
// Buffer has all methods of bytes.Buffer, with the same results, errors and panics. [ErrTooLarge] is
// [bytes.ErrTooLarge]; the texts of other errors and panics begin with bytebuf instead of bytes. A program changes only
// its import and its constructors:
//
//	b := bytebuf.New() // instead of: var b bytes.Buffer
//	defer b.Free()     // new, and optional
//	b.WriteString("…")
//	return b.String()
//
// New returns a pointer, so &b becomes b. A function that returns b.Bytes() must not call Free, which would reuse the
// memory of the slice. If the Buffer is passed to other functions, such as fmt.Fprintf, "var b bytebuf.Buffer" is the
// better constructor.
//
// Code that checks for the type *bytes.Buffer sees only an io.Reader. For example, a request of net/http then needs its
// ContentLength and GetBody set.
//
// The zero Buffer, [NewBuffer] and [NewBufferString] work like their counterparts. Four things are new:
//
//   - [New] starts with 64 bytes on its caller's stack. While the content fits and the Buffer does not escape, only the
//     result of String is allocated. A Buffer escapes, like any variable, if it is returned, stored, or passed as an
//     interface such as io.Writer; its bytes escape with WriteTo and ReadFrom. Then there are two allocations: the
//     Buffer and the 64 bytes.
//   - [Buffer.Free] releases the memory to the next Buffer of any goroutine. Programs that free their buffers allocate
//     only results, of any size, and a little more after each collection.
//   - [Buffer.TakeString] returns the content as a string that takes over the Buffer's memory.
//   - [Buffer.Extend] returns space to read into, as for io.ReadFull.
//
// # Memory
//
// A Buffer takes its memory from free lists that the process shares, and Free returns it. There is one list for each of
// 97 sizes from 64 bytes to 1 GiB. A Buffer takes the smallest size that holds its content and, if it grows, twice its
// old size. Each list is a [sync.Pool]: cores have separate lists, and memory that stays unused for two collections is
// released, so a burst of large buffers has no lasting effect.
//
// A Buffer that grows frees its old array at once, unless slices of it may still be in use: those returned by
// [Buffer.Bytes], [Buffer.Next], [Buffer.Peek], [Buffer.AvailableBuffer] and [Buffer.Extend]. Such an array is left to
// the collector, as with bytes.Buffer. So only Free can change bytes that a caller holds, and a program that never
// calls Free is as safe as with bytes.Buffer, with two exceptions: a copy of a Buffer must not be used beside the
// original, not even to read; and readers and writers must not retain a slice, as package io demands.
//
// A [sync.Pool] of bytes.Buffers saves as many allocations. But it must be declared and used correctly, has nothing on
// the stack, keeps large arrays for small content, and loses the arrays that its buffers outgrow.
//
// After Free no slice of the Buffer may be used. Memory is not cleared: overwrite secrets before Free, and expect bytes
// of other Buffers in the space that Extend, AvailableBuffer and ReadFrom provide. The build tag bytebufdebug finds
// uses after Free: freed memory is filled with 0xDB and not reused.
//
// An array that was passed to NewBuffer is never put on a list.
//
// # Unsafe
//
// The file unsafe.go does three things that Go cannot do otherwise: keep a slice in a sync.Pool without allocating its
// header; put memory on a free list without moving the array of every New to the heap; and convert bytes to a string in
// place.
package bytebuf
