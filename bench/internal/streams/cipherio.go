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
// package cipherio in its place, and an export of the same rows.
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

	goals, err := e.goals(ways[1], s.Size(1_000, 100))
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

// ways are crypto/cipher, cipherio and an export.
func (e *envelopes) ways() []way {
	envelope := func(impl string, encrypt encrypter) way {
		return way{impl, func(dst io.Writer, rows int) error { return e.write(dst, rows, encrypt) }, e.open}
	}
	return []way{
		envelope("cipher", func(s cipher.Stream, w io.Writer) io.WriteCloser {
			return cipher.StreamWriter{S: s, W: w}
		}),
		envelope("cipherio", func(s cipher.Stream, w io.Writer) io.WriteCloser {
			return cipherio.StreamWriter{S: s, W: w}
		}),
		{"culvert", e.export, e.openExport},
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
// more.
func (e *envelopes) goals(cipherio way, rows int) ([]harness.Goal, error) {
	few, err := cipherio.sample(rows, 20, e.people.Size(rows))
	return []harness.Goal{
		{Variant: "impl=cipherio", Unit: "allocs/op", Max: few["allocs/op"] * 1.05},
		{Variant: "impl=cipherio", Unit: "B/op", Max: few["B/op"] * 1.05},
		// Nearly all the time is gzip's. What is left for a difference is less than that between two runs of the same.
		{Variant: "impl=cipherio", Peer: "impl=cipher", Unit: "ns/op", Max: 1.02},
	}, err
}

// write writes RSA-OAEP-SHA256(key) || IV || AES-256-CTR(gzip(CSV)).
func (e *envelopes) write(dst io.Writer, rows int, encrypt encrypter) error {
	key, iv := make([]byte, 32), make([]byte, aes.BlockSize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, &e.owner.PublicKey, key, nil)
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
	compressed := gzip.NewWriter(encrypted) // at its default level
	if err := e.people.WriteCSV(compressed, rows); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return encrypted.Close()
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
