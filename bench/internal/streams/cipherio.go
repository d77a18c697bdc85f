package streams

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"

	"culvert/bench/internal/harness"
	"culvert/cipherio"
	"culvert/export"
)

// envelopes writes rows as CSV, compressed and encrypted, in several ways.
type envelopes struct {
	ctx      context.Context
	people   harness.People
	owner    *rsa.PrivateKey
	identity *age.X25519Identity
}

// way is one of them.
type way struct {
	impl  string
	write func(dst io.Writer, rows int) error
	open  func(src io.Reader) (csv io.Reader, err error) // what write has written
}

// encrypter puts a stream cipher before a writer.
type encrypter func(cipher.Stream, io.Writer) io.WriteCloser

// PrepareCipherio reproduces https://github.com/geovanisouza92/go-cipher-writer-example: encoding/csv → compress/gzip →
// AES-256-CTR → nothing, where the key goes first, wrapped by RSA-OAEP-SHA256, and then the IV. It has crypto/cipher,
// its fix by a map of buffers, one for each length of a write, both behind a bufio.Writer, and no cipher at all. Ours
// are package cipherio in the same places, and an export of the same rows, whose gzip is another one.
func PrepareCipherio(s *harness.Session) ([]harness.Benchmark, error) {
	e := &envelopes{ctx: s.Ctx, people: harness.NewPeople()}
	var err error
	if e.owner, err = rsa.GenerateKey(rand.Reader, s.Size(4096, 2048)); err != nil {
		return nil, err
	}
	if e.identity, err = age.GenerateX25519Identity(); err != nil {
		return nil, err
	}
	ways := e.ways()
	for _, w := range ways {
		if err := e.check(w, 3*len(e.people.Records)/2); err != nil {
			return nil, fmt.Errorf("impl=%s: %w", w.impl, err)
		}
	}
	s.Say("what each has written opens to the same rows")

	goals, err := e.goals(ways, s.Size(1_000, 100))
	if err != nil {
		return nil, err
	}
	var benchmarks []harness.Benchmark
	for _, size := range []struct {
		name          string
		rows, quickly int
		runs          int // of a sample, for a fifth of a second at least
		rounds        int
	}{
		{"1k", 1_000, 100, 100, 0},
		{"10k", 10_000, 200, 10, 0},
		{"100k", 100_000, 300, 1, 0},
		{"1m", 1_000_000, 400, 1, 6},
		{"10m", 10_000_000, 500, 1, 1},
	} {
		b := harness.Benchmark{Name: "Cipher/rows=" + size.name, Rounds: size.rounds, Goals: goals}
		rows := s.Size(size.rows, size.quickly)
		text := e.people.Size(rows)
		for _, w := range ways {
			b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + w.impl, Run: func() (harness.Sample, error) {
				return w.sample(rows, s.Size(size.runs, 1), text)
			}})
		}
		if size.rows >= 1_000_000 {
			parallel := harness.Goal{Variant: "impl=culvert", Peer: "impl=cipher", Unit: "ns/op", Max: 0.25}
			b.Goals = append(slices.Clip(b.Goals), parallel)
		}
		benchmarks = append(benchmarks, b)
	}
	return benchmarks, nil
}

// ways are all of them, the one that others are compared with first, and the limit last.
func (e *envelopes) ways() []way {
	envelope := func(impl string, encrypt encrypter) way {
		return way{impl, func(dst io.Writer, rows int) error { return e.write(dst, rows, encrypt) }, e.open}
	}
	return []way{
		envelope("cipher", withCipher), envelope("map", withMap),
		envelope("cipher-bufio", buffered(withCipher)), envelope("map-bufio", buffered(withMap)),
		envelope("cipherio", withCipherio), envelope("cipherio-bufio", buffered(withCipherio)),
		{"culvert", e.export, e.openExport},
		{"none", e.writeGzip, func(src io.Reader) (io.Reader, error) { return gzip.NewReader(src) }},
	}
}

// sample is that of so many runs, after a small one, not counted: pools are filled, and cores awake. The rows have size
// bytes of CSV.
func (w way) sample(rows, runs int, size int64) (harness.Sample, error) {
	if err := w.write(io.Discard, min(rows, 1_000)); err != nil {
		return nil, err
	}
	work := harness.Work{Bytes: size * int64(runs)}
	return work.Repeated(runs, func() error { return w.write(onlyWriter{}, rows) })
}

// check opens what a way has written, by other means, and compares.
func (e *envelopes) check(w way, rows int) error {
	var file, want bytes.Buffer
	if err := w.write(&file, rows); err != nil {
		return err
	}
	text, err := w.open(&file)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(text)
	if err != nil {
		return err
	}
	if err := e.people.WriteCSV(&want, rows); err != nil {
		return err
	}
	if !bytes.Equal(got, want.Bytes()) {
		return errors.New("its output does not open to the rows")
	}
	return nil
}

// goals are those for any number of rows. What may be allocated is measured with few, since more of them may not take
// more. For its own sake, package crypto/rsa may allocate what it does.
func (e *envelopes) goals(ways []way, rows int) ([]harness.Goal, error) {
	few := map[string]harness.Sample{}
	for _, w := range ways {
		var err error
		if few[w.impl], err = w.sample(rows, 20, e.people.Size(rows)); err != nil {
			return nil, err
		}
	}
	wrapping, err := harness.Repeated(20, func() error {
		_, err := e.wrap(make([]byte, 32))
		return err
	})
	goals := []harness.Goal{
		{Variant: "impl=cipherio", Unit: "allocs/op", Max: few["none"]["allocs/op"] + wrapping["allocs/op"] + 61},
		{Variant: "impl=cipherio", Unit: "allocs/op", Max: few["cipherio"]["allocs/op"] * 1.05},
		{Variant: "impl=cipherio", Unit: "B/op", Max: few["cipherio"]["B/op"] * 1.05},
	}
	for _, peer := range []string{"cipher", "map", "cipher-bufio", "map-bufio"} {
		// Nearly all the time is gzip's. What is left for a difference is less than that between two runs of the same.
		goals = append(goals, harness.Goal{Variant: "impl=cipherio", Peer: "impl=" + peer, Unit: "ns/op", Max: 1.02})
	}
	return goals, err
}

// write writes RSA-OAEP-SHA256(key) || IV || AES-256-CTR(gzip(CSV)).
func (e *envelopes) write(dst io.Writer, rows int, encrypt encrypter) error {
	key, iv := make([]byte, 32), make([]byte, aes.BlockSize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	wrapped, err := e.wrap(key)
	if err != nil {
		return err
	}
	if _, err := dst.Write(wrapped); err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	if _, err := rand.Read(iv); err != nil {
		return err
	}
	if _, err := dst.Write(iv); err != nil {
		return err
	}
	encrypted := encrypt(cipher.NewCTR(block, iv), dst)
	if err := e.writeGzip(encrypted, rows); err != nil {
		return err
	}
	return encrypted.Close()
}

func (e *envelopes) wrap(key []byte) ([]byte, error) {
	return rsa.EncryptOAEP(sha256.New(), rand.Reader, &e.owner.PublicKey, key, nil)
}

// writeGzip writes gzip(CSV), at the default level.
func (e *envelopes) writeGzip(dst io.Writer, rows int) error {
	compressed := gzip.NewWriter(dst)
	if err := e.people.WriteCSV(compressed, rows); err != nil {
		return err
	}
	return compressed.Close()
}

// open gives the CSV of an envelope, with nothing but the standard library.
func (e *envelopes) open(src io.Reader) (io.Reader, error) {
	head := make([]byte, e.owner.Size()+aes.BlockSize)
	if _, err := io.ReadFull(src, head); err != nil {
		return nil, err
	}
	wrapped, iv := head[:e.owner.Size()], head[e.owner.Size():]
	key, err := rsa.DecryptOAEP(sha256.New(), nil, e.owner, wrapped, nil)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(cipher.StreamReader{S: cipher.NewCTR(block, iv), R: src})
}

// export writes an age file, on all cores.
func (e *envelopes) export(dst io.Writer, rows int) error {
	plan := export.Plan{Compression: export.Gzip, Recipients: []age.Recipient{e.identity.Recipient()}}
	_, err := plan.Table(e.ctx, dst, &harness.PeopleSource{People: e.people, Rows: rows}, "people")
	return err
}

// openExport leaves out the line with the names of the columns, which the others do not write.
func (e *envelopes) openExport(src io.Reader) (io.Reader, error) {
	decrypted, err := age.Decrypt(src, e.identity)
	if err != nil {
		return nil, err
	}
	decompressed, err := gzip.NewReader(decrypted)
	if err != nil {
		return nil, err
	}
	text := bufio.NewReader(decompressed)
	_, err = text.ReadString('\n')
	return text, err
}

func withCipher(s cipher.Stream, w io.Writer) io.WriteCloser { return cipher.StreamWriter{S: s, W: w} }

func withCipherio(s cipher.Stream, w io.Writer) io.WriteCloser {
	return cipherio.StreamWriter{S: s, W: w}
}

func withMap(s cipher.Stream, w io.Writer) io.WriteCloser { return &mapWriter{s, w, map[int][]byte{}} }

// mapWriter is the fix: it keeps a buffer for each length that was ever written.
type mapWriter struct {
	stream  cipher.Stream
	dst     io.Writer
	buffers map[int][]byte
}

func (w *mapWriter) Write(p []byte) (int, error) {
	buffer, ok := w.buffers[len(p)]
	if !ok {
		buffer = make([]byte, len(p))
		w.buffers[len(p)] = buffer
	}
	w.stream.XORKeyStream(buffer, p)
	return w.dst.Write(buffer)
}

func (*mapWriter) Close() error { return nil }

// buffered collects what is encrypted in a bufio.Writer.
func buffered(encrypt encrypter) encrypter {
	return func(s cipher.Stream, w io.Writer) io.WriteCloser {
		encrypted := encrypt(s, w)
		return bufferedWriter{bufio.NewWriter(encrypted), encrypted}
	}
}

type bufferedWriter struct {
	*bufio.Writer
	dst io.Closer
}

func (w bufferedWriter) Close() error { return errors.Join(w.Flush(), w.dst.Close()) }
