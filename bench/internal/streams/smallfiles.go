package streams

import (
	"bytes"
	"fmt"
	"io"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/bench/internal/harness"
)

// smallFiles compares package agefile with filippo.io/age where there are many small files, one after the other: the
// memory that each of them takes is then as much of the work as the cipher.
func smallFiles(s *harness.Session, identity *age.X25519Identity, plaintext []byte) ([]harness.Benchmark, error) {
	var benchmarks []harness.Benchmark
	for _, c := range []struct {
		name  string
		bytes int
		runs  int // of a sample, for a few tenths of a second
	}{
		{"1k", 1_000, 1000},
		{"100k", 100_000, 500},
		{"2M", 2_000_000, 100},
	} {
		plain := plaintext[:c.bytes]
		var file bytes.Buffer
		if err := copyThrough(age.Encrypt(&file, identity.Recipient()))(plain); err != nil {
			return nil, err
		}
		compared := func(op string, theirs, ours func() error) harness.Benchmark {
			measured := func(run func() error) (harness.Sample, error) {
				runs := s.Size(c.runs, 1)
				return harness.Work{Bytes: int64(runs * c.bytes), Ops: runs}.Repeated(runs, run)
			}
			return harness.Benchmark{
				Name: fmt.Sprintf("AgeSmall/op=%s/bytes=%s", op, c.name),
				Variants: []harness.Variant{
					{Key: "impl=age", Run: func() (harness.Sample, error) { return measured(theirs) }},
					{Key: "impl=culvert", Run: func() (harness.Sample, error) { return measured(ours) }},
				},
				Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=age", Unit: "ns/op", Max: 1}},
			}
		}
		benchmarks = append(benchmarks,
			compared("encrypt", func() error {
				return copyThrough(age.Encrypt(io.Discard, identity.Recipient()))(plain)
			}, func() error {
				return copyThrough(agefile.NewWriter(io.Discard, identity.Recipient()))(plain)
			}),
			compared("decrypt", func() error {
				r, err := age.Decrypt(bytes.NewReader(file.Bytes()), identity)
				return drain(r, err, len(plain))
			}, func() error {
				r, err := agefile.NewReader(bytes.NewReader(file.Bytes()), identity)
				return drain(r, err, len(plain))
			}))
	}
	return benchmarks, nil
}

// copyThrough gives what writes a whole file to a writer that has just been made.
func copyThrough[W io.WriteCloser](w W, err error) func(plain []byte) error {
	return func(plain []byte) error {
		if err != nil {
			return err
		}
		if _, err := w.Write(plain); err != nil {
			return err
		}
		return w.Close()
	}
}

// drain reads a file to its end, if it could be opened.
func drain(r io.Reader, err error, size int) error {
	if err != nil {
		return err
	}
	n, err := io.Copy(onlyWriter{}, r)
	if err == nil && n != int64(size) {
		err = fmt.Errorf("moved %d bytes instead of %d", n, size)
	}
	return err
}
