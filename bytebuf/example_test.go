package bytebuf_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"culvert/bytebuf"
)

// A program that used bytes.Buffer changes the import and how the Buffer is made, and frees it at the end.
func Example() {
	greet := func(name string) string {
		b := bytebuf.New() // was: var b bytes.Buffer
		defer b.Free()     // new, and optional
		b.WriteString("Hello, ")
		b.WriteString(name)
		b.WriteByte('!')
		return b.String()
	}
	fmt.Println(greet("world"))
	// Output: Hello, world!
}

// The zero Buffer works as that of package bytes does.
func ExampleBuffer() {
	var b bytebuf.Buffer
	b.Write([]byte("Hello, "))
	b.WriteString("world!\n")
	if _, err := b.WriteTo(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: Hello, world!
}

// The content fits into the 64 bytes that are on the stack: only the string is allocated.
func ExampleNew() {
	b := bytebuf.New()
	b.WriteString("id=")
	b.Write(strconv.AppendInt(b.AvailableBuffer(), 42, 10))
	fmt.Println(b.String(), b.Cap())
	// Output: id=42 64
}

// Data that exists is read through a Buffer.
func ExampleNewBuffer() {
	b := bytebuf.NewBuffer([]byte("first line\nsecond line\n"))
	line, err := b.ReadString('\n')
	fmt.Printf("%q %v\n", line, err)
	fmt.Println(b.Len(), "bytes are left")
	// Output:
	// "first line\n" <nil>
	// 12 bytes are left
}

func ExampleNewBufferString() {
	b := bytebuf.NewBufferString("äö")
	r, size, err := b.ReadRune()
	fmt.Println(string(r), size, err)
	// Output: ä 2 <nil>
}

// The second message is made in the memory of the first.
func ExampleBuffer_Free() {
	message := func(size int) string {
		var b bytebuf.Buffer
		defer b.Free() // after the string was made; no slice of b may be used any more
		for b.Len() < size {
			b.WriteString("0123456789")
		}
		return b.String()
	}
	first := message(1000)
	second := message(500)
	fmt.Println(len(first), len(second))
	// Output: 1000 500
}

// The string is the memory of the Buffer, which goes on with other memory.
func ExampleBuffer_TakeString() {
	var b bytebuf.Buffer
	defer b.Free()
	for _, word := range []string{"one", "two"} {
		b.WriteString(strings.Repeat(word, 20))
		s := b.TakeString()
		fmt.Println(len(s), s[:6], b.Len())
	}
	// Output:
	// 60 oneone 0
	// 60 twotwo 0
}

// Numbers are formatted where they will be.
func ExampleBuffer_AvailableBuffer() {
	var b bytebuf.Buffer
	defer b.Free()
	for i := range 4 {
		b.Write(append(strconv.AppendInt(b.AvailableBuffer(), int64(i), 10), ' '))
	}
	fmt.Println(b.String())
	// Output: 0 1 2 3
}

// Exactly the next bytes of a stream are read into the Buffer.
func ExampleBuffer_Extend() {
	stream := strings.NewReader("headbody")
	var b bytebuf.Buffer
	defer b.Free()
	n, err := io.ReadFull(stream, b.Extend(4))
	b.Truncate(n) // if it was less
	fmt.Println(n, err, b.String())
	// Output: 4 <nil> head
}

// A Pool with two sizes holds 2 × 1 KiB and 64 KiB at most.
func ExampleNewPool() {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 1 << 10, Count: 2}, bytebuf.Class{Size: 64 << 10, Count: 1})
	b := pool.TryGet(100)
	fmt.Println(b.Available())
	b.Free()

	_, err := pool.Get(context.Background(), 1<<20)
	fmt.Println(errors.Is(err, bytebuf.ErrTooLarge), err)
	// Output:
	// 1024
	// true bytebuf: 1048576 bytes from a pool whose buffers have at most 65536
}

// Get waits until a Buffer is freed, or until the context is done.
func ExamplePool_Get() {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 4096, Count: 1})
	first, err := pool.Get(context.Background(), 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	first.WriteString("all that the Pool has")

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = pool.Get(ctx, 1000)
	fmt.Println(err)

	first.Free()
	second, err := pool.Get(context.Background(), 1000)
	fmt.Println(second.Len(), err)
	// Output:
	// bytebuf: waiting for a buffer of 4096 bytes: context deadline exceeded
	// 0 <nil>
}

func ExamplePool_TryGet() {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 4096, Count: 1})
	first, second := pool.TryGet(1), pool.TryGet(1)
	fmt.Println(first != nil, second != nil)
	// Output: true false
}

// Put says whether the Pool has lent the Buffer; who knows that calls Free.
func ExamplePool_Put() {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 4096, Count: 1})
	fmt.Println(pool.Put(pool.TryGet(1)), pool.Put(new(bytebuf.Buffer)))
	// Output: true false
}
