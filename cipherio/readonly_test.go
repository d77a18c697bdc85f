//go:build linux || darwin

package cipherio_test

import (
	"bytes"
	"runtime/debug"
	"syscall"
	"testing"

	"culvert/cipherio"
)

// TestSourceIsNotWrittenTo writes from memory that the system protects, so that not even a change that is undone before
// Write returns goes unnoticed. An io.Writer must not make one.
func TestSourceIsNotWrittenTo(t *testing.T) {
	const size = 4 * scratchSize
	src, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(src); err != nil {
			t.Error(err)
		}
	}()
	copy(src, randomBytes(size))
	if err := syscall.Mprotect(src, syscall.PROT_READ); err != nil {
		t.Fatal(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	if got := outcome(func() (int, error) { src[0]++; return 0, nil }); got == "0, <nil>" {
		t.Fatal("the memory is not protected")
	}
	for _, size := range []int{1, 240, smallSize, smallSize + 1, scratchSize, scratchSize + 1, size} {
		var out bytes.Buffer
		w := cipherio.StreamWriter{S: newStream(), W: &out}
		got := outcome(func() (int, error) { return w.Write(src[:size]) })
		want := outcome(func() (int, error) { return size, nil })
		if got != want || !bytes.Equal(out.Bytes(), encrypted(src[:size])) {
			t.Errorf("write of %d protected bytes: %s, or they differ", size, got)
		}
	}
}
