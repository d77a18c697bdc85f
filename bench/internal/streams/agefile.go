// Package streams has the workloads of one byte stream: age files, buffers, ciphers, connections and logs.
package streams

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"syscall"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"

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

	encrypt := []harness.Variant{
		{Key: "impl=age", Run: func() (harness.Sample, error) {
			return encryptWith(plaintext, func() (io.WriteCloser, error) { return age.Encrypt(io.Discard, recipient) })
		}},
		{Key: "impl=culvert", Run: func() (harness.Sample, error) {
			return encryptWith(plaintext, func() (io.WriteCloser, error) {
				return agefile.NewWriter(io.Discard, recipient)
			})
		}},
		{Key: "impl=limit", Run: func() (harness.Sample, error) { return limit(size, sealChunk) }},
	}
	decrypt := []harness.Variant{
		{Key: "impl=age", Run: func() (harness.Sample, error) {
			return decryptWith(file, size, func(src io.Reader) (io.Reader, error) { return age.Decrypt(src, identity) })
		}},
		{Key: "impl=culvert", Run: func() (harness.Sample, error) {
			return decryptWith(file, size, func(src io.Reader) (io.Reader, error) {
				return agefile.NewReader(src, identity)
			})
		}},
		{Key: "impl=limit", Run: func() (harness.Sample, error) { return limit(size, openChunk) }},
	}
	cores := runtime.NumCPU()
	return []harness.Benchmark{
		ageBenchmark("encrypt", cores, 3.0, encrypt), ageBenchmark("encrypt", 1, 1.0, encrypt),
		ageBenchmark("decrypt", cores, 8.0, decrypt), ageBenchmark("decrypt", 1, 2.5, decrypt),
	}, nil
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

// ageBenchmark has each variant use so many cores.
func ageBenchmark(op string, procs int, atLeast float64, variants []harness.Variant) harness.Benchmark {
	b := harness.Benchmark{
		Name:  fmt.Sprintf("Age/op=%s/from=memory/procs=%d", op, procs),
		Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=age", Unit: "MB/s", Min: atLeast}},
	}
	for _, v := range variants {
		b.Variants = append(b.Variants, harness.Variant{Key: v.Key, Run: func() (harness.Sample, error) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			return harness.Steady(v.Run)
		}})
	}
	if procs > 1 {
		b.Goals = append(b.Goals, harness.Goal{Variant: "impl=culvert", Peer: "impl=limit", Unit: "MB/s", Min: 0.75})
	}
	return b
}

// encryptWith measures a writer, from its making to its Close.
func encryptWith(plaintext []byte, open func() (io.WriteCloser, error)) (harness.Sample, error) {
	return copied(int64(len(plaintext)), func() (int64, error) {
		w, err := open()
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(w, bytes.NewReader(plaintext))
		if err != nil {
			return 0, err
		}
		return n, w.Close()
	})
}

// decryptWith measures a reader, from its making to its end.
func decryptWith(file []byte, size int64, open func(io.Reader) (io.Reader, error)) (harness.Sample, error) {
	return copied(size, func() (int64, error) {
		r, err := open(bytes.NewReader(file))
		if err != nil {
			return 0, err
		}
		return io.Copy(onlyWriter{}, r)
	})
}

// copied times work that must say that it has moved size bytes of plaintext.
func copied(size int64, work func() (int64, error)) (harness.Sample, error) {
	return harness.Work{Bytes: size}.Here(func() error {
		n, err := work()
		if err == nil && n != size {
			err = fmt.Errorf("moved %d bytes instead of %d", n, size)
		}
		return err
	})
}

// onlyWriter drops what is written to it. Unlike io.Discard it has no ReadFrom, which would read in small pieces.
type onlyWriter struct{}

func (onlyWriter) Write(p []byte) (int, error) { return len(p), nil }

// limit runs one goroutine for each of GOMAXPROCS, which together do chunk for all chunks of size bytes.
func limit(size int64, work func(chunks int) error) (harness.Sample, error) {
	workers := runtime.GOMAXPROCS(0)
	chunks := int(size) / chunkSize
	errs := make([]error, workers)
	return harness.Work{Bytes: size}.Here(func() error {
		var all sync.WaitGroup
		for i := range workers {
			all.Go(func() { errs[i] = work((chunks + i) / workers) })
		}
		all.Wait()
		return errors.Join(errs...)
	})
}

func sealChunk(chunks int) error {
	aead, err := chacha20poly1305.New(make([]byte, chacha20poly1305.KeySize))
	if err != nil {
		return err
	}
	var nonce [chacha20poly1305.NonceSize]byte
	chunk := make([]byte, chunkSize, chunkSize+aead.Overhead())
	sealed := make([]byte, 0, cap(chunk))
	for i := range chunks {
		nonce[0], nonce[1] = byte(i), byte(i>>8)
		aead.Seal(sealed, nonce[:], chunk, nil)
	}
	return nil
}

func openChunk(chunks int) error {
	aead, err := chacha20poly1305.New(make([]byte, chacha20poly1305.KeySize))
	if err != nil {
		return err
	}
	var nonce [chacha20poly1305.NonceSize]byte
	sealed := aead.Seal(nil, nonce[:], make([]byte, chunkSize), nil)
	chunk := make([]byte, 0, len(sealed))
	for range chunks {
		if _, err := aead.Open(chunk, nonce[:], sealed, nil); err != nil {
			return err
		}
	}
	return nil
}
