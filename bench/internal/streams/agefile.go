// Package streams has the workloads of one byte stream: age files, buffers, ciphers, connections and logs.
package streams

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"syscall"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/sync/errgroup"

	"culvert/agefile"
	"culvert/bench/internal/harness"
)

const chunkSize = 64 << 10 // of an age file

// PrepareAgefile compares package agefile with filippo.io/age in memory, and with goroutines that do nothing but seal
// or open chunks, each in its own small buffer: the limit of the machine.
//
// Both are driven by io.Copy from a bytes.Reader, with all its methods, to a writer that drops what it gets. The bytes
// lie outside the Go heap, which with half a gigabyte in it would be collected much less often than that of a program
// that streams.
func PrepareAgefile(s *harness.Session) ([]harness.Benchmark, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	plaintext, err := memory(s, s.Size(256<<20, 8<<20))
	if err != nil {
		return nil, err
	}
	if _, err := rand.NewChaCha8([32]byte{}).Read(plaintext); err != nil {
		return nil, err
	}
	size := int64(len(plaintext))
	space, err := memory(s, len(plaintext)+len(plaintext)/64)
	if err != nil {
		return nil, err
	}
	recipient := identity.Recipient()
	encrypted := bytes.NewBuffer(space[:0])
	w, err := age.Encrypt(encrypted, recipient)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plaintext); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	file := encrypted.Bytes()

	var benchmarks []harness.Benchmark
	for _, procs := range []int{runtime.NumCPU(), 1} {
		atLeast := [2]float64{1.0, 2.5} // times the speed of filippo.io/age
		if procs > 1 {
			atLeast = [2]float64{3.0, 8.0}
		}
		benchmarks = append(benchmarks,
			ageBenchmark("encrypt", procs, atLeast[0], size, sealChunk,
				encrypting(plaintext, func() (io.WriteCloser, error) { return age.Encrypt(io.Discard, recipient) }),
				encrypting(plaintext, func() (io.WriteCloser, error) {
					return agefile.NewWriter(io.Discard, recipient)
				})),
			ageBenchmark("decrypt", procs, atLeast[1], size, openChunk,
				decrypting(file, func(src io.Reader) (io.Reader, error) { return age.Decrypt(src, identity) }),
				decrypting(file, func(src io.Reader) (io.Reader, error) { return agefile.NewReader(src, identity) })))
	}
	return benchmarks, nil
}

// memory gives so many bytes outside the Go heap.
func memory(s *harness.Session, size int) ([]byte, error) {
	p, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("memory for the input: %w", err)
	}
	s.Cleanup(func() error { return syscall.Munmap(p) })
	return p, nil
}

// ageBenchmark has each variant move size bytes of plaintext with so many cores.
func ageBenchmark(
	op string, procs int, atLeast float64, size int64, chunk func(chunks int) error, age, culvert func() (int64, error),
) harness.Benchmark {
	b := harness.Benchmark{
		Name:  fmt.Sprintf("Age/op=%s/from=memory/procs=%d", op, procs),
		Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=age", Unit: "MB/s", Min: atLeast}},
	}
	if procs > 1 {
		b.Goals = append(b.Goals, harness.Goal{Variant: "impl=culvert", Peer: "impl=limit", Unit: "MB/s", Min: 0.75})
	}
	add := func(impl string, move func() (int64, error)) {
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + impl, Run: func() (harness.Sample, error) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			return harness.Steady(func() (harness.Sample, error) {
				return harness.Work{Bytes: size}.Here(func() error {
					n, err := move()
					if err == nil && n != size {
						err = fmt.Errorf("moved %d bytes instead of %d", n, size)
					}
					return err
				})
			})
		}})
	}
	add("age", age)
	add("culvert", culvert)
	add("limit", func() (int64, error) { return size, inParallel(int(size/chunkSize), chunk) })
	return b
}

// encrypting runs a writer, from its making to its Close.
func encrypting(plaintext []byte, open func() (io.WriteCloser, error)) func() (int64, error) {
	return func() (int64, error) {
		w, err := open()
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(w, bytes.NewReader(plaintext))
		return n, errors.Join(err, w.Close())
	}
}

// decrypting runs a reader, from its making to its end.
func decrypting(file []byte, open func(io.Reader) (io.Reader, error)) func() (int64, error) {
	return func() (int64, error) {
		r, err := open(bytes.NewReader(file))
		if err != nil {
			return 0, err
		}
		return io.Copy(onlyWriter{}, r)
	}
}

// onlyWriter drops what is written to it. Unlike io.Discard it has no ReadFrom, which would read in small pieces.
type onlyWriter struct{}

func (onlyWriter) Write(p []byte) (int, error) { return len(p), nil }

// inParallel has one goroutine for each of GOMAXPROCS, which together do work for so many chunks.
func inParallel(chunks int, work func(chunks int) error) error {
	workers := runtime.GOMAXPROCS(0)
	var all errgroup.Group
	for i := range workers {
		all.Go(func() error { return work((chunks + i) / workers) })
	}
	return all.Wait()
}

func sealChunk(chunks int) error {
	aead, err := chacha20poly1305.New(make([]byte, chacha20poly1305.KeySize))
	nonce, chunk := make([]byte, chacha20poly1305.NonceSize), make([]byte, chunkSize)
	sealed := make([]byte, 0, chunkSize+chacha20poly1305.Overhead)
	for range chunks {
		aead.Seal(sealed, nonce, chunk, nil)
	}
	return err
}

func openChunk(chunks int) error {
	aead, err := chacha20poly1305.New(make([]byte, chacha20poly1305.KeySize))
	nonce := make([]byte, chacha20poly1305.NonceSize)
	sealed := aead.Seal(nil, nonce, make([]byte, chunkSize), nil)
	chunk := make([]byte, 0, len(sealed))
	for i := 0; i < chunks && err == nil; i++ {
		_, err = aead.Open(chunk, nonce, sealed, nil)
	}
	return err
}
