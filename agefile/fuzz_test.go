package agefile_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"filippo.io/age"

	"culvert/agefile"
)

// fuzzIdentity is fixed, so that the corpus stays useful.
const fuzzIdentity = "AGE-SECRET-KEY-1QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSWPC8QURSKMP32K"

// FuzzReadersAgainstAge reads the same bytes with age and with this package. All must release the same plaintext and
// agree on whether the file is complete.
func FuzzReadersAgainstAge(f *testing.F) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	base := map[int][]byte{}
	for _, size := range []int{0, 1, chunk, chunk + 1, 2 * chunk, span, span + 1} {
		base[size] = encrypt(f, random(size), 1, id.Recipient())
		for _, cut := range []int{0, 1, 16, 17, chunk} {
			f.Add(size, cut, 100, byte(0), []byte(nil))
		}
		f.Add(size, 0, len(base[size])-10, byte(1), []byte(nil))
		f.Add(size, 0, 300, byte(0x80), []byte("x"))
	}
	f.Fuzz(func(t *testing.T, size, cut, at int, flip byte, extra []byte) {
		file, ok := base[size]
		if !ok || cut < 0 || cut > len(file) || at < 0 {
			t.Skip("no such file")
		}
		file = append(bytes.Clone(file[:len(file)-cut]), extra...)
		if at < len(file) {
			file[at] ^= flip
		}

		var want []byte
		ref, wantErr := age.Decrypt(bytes.NewReader(file), id)
		if wantErr == nil {
			want, wantErr = io.ReadAll(ref)
		}
		for _, workers := range []int{1, 2} {
			got, err := decrypt(file, workers, id)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%d workers: error %v, age has %v", workers, err, wantErr)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%d workers: released %d bytes, age %d", workers, len(got), len(want))
			}
			var noMatch *age.NoIdentityMatchError
			if err != nil && errors.As(wantErr, &noMatch) != errors.As(err, &noMatch) {
				t.Fatalf("%d workers: error %v, age has %v", workers, err, wantErr)
			}
		}
		r, err := agefile.NewReaderAt(bytes.NewReader(file), int64(len(file)), id)
		if err != nil {
			if wantErr == nil {
				t.Fatalf("ReaderAt: %v", err)
			}
			return
		}
		got := make([]byte, r.Size())
		n, err := r.ReadAt(got, 0)
		if (err == nil || err == io.EOF) != (wantErr == nil) || !bytes.HasPrefix(want, got[:n]) {
			t.Fatalf("ReaderAt: %d bytes, %v; age has %d, %v", n, err, len(want), wantErr)
		}
	})
}

// FuzzHeader reads invalid headers.
func FuzzHeader(f *testing.F) {
	id, err := age.ParseX25519Identity(fuzzIdentity)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encrypt(f, []byte("hello"), 1, id.Recipient()))
	f.Add([]byte("age-encryption.org/v1\n-> X25519 a\nb\n--- c\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var want []byte
		ref, wantErr := age.Decrypt(bytes.NewReader(file), id)
		if wantErr == nil {
			want, wantErr = io.ReadAll(ref)
		}
		got, err := decrypt(file, 1, id)
		if (err == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v; age has %d, %v", len(got), err, len(want), wantErr)
		}
	})
}

// FuzzWriter writes in pieces of any size and reads the result with age.
func FuzzWriter(f *testing.F) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(span+1, uint16(7), 2, false)
	f.Add(2*span, uint16(60000), 1, true)
	f.Fuzz(func(t *testing.T, size int, step uint16, workers int, readFrom bool) {
		if size < 0 || size > 4*span || step == 0 || size/int(step) > 1<<16 {
			t.Skip("too large")
		}
		plain := random(size)
		var file bytes.Buffer
		w, err := agefile.Config{Workers: workers % 5}.NewWriter(&file, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		for rest := plain; len(rest) > 0; {
			n := min(len(rest), int(step))
			if readFrom {
				_, err = w.ReadFrom(bytes.NewReader(rest[:n]))
			} else {
				_, err = w.Write(rest[:n])
			}
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := age.Decrypt(&file, id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("age reads %d bytes of %d, %v", len(got), size, err)
		}
	})
}
