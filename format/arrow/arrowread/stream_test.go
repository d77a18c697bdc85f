package arrowread

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"culvert/format"
	"culvert/format/internal/typed/typedtest"
	"culvert/internal/testkit"
	"culvert/source"
)

// streamText prints a file that is read once as CSV, but at most so many rows.
func streamText(r io.Reader, most int) ([]byte, error) {
	opened, err := Format{}.OpenStream(r)
	if err != nil {
		return nil, err
	}
	read := opened.(*stream)
	read.f.largest = 1 << 20
	encoder, err := format.CSV{}.Encoder(read.Columns())
	if err != nil {
		return nil, err
	}
	out := encoder.AppendHeader(nil)
	var b source.Batch
	b.SetLimit(typedtest.SmallBatch)
	for {
		rows, _, err := read.Next(make([]format.Field, len(read.Columns())))
		if err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		for err = rows.Next(&b); err == nil && most > 0; err = rows.Next(&b) {
			most -= b.Rows()
			if out, err = encoder.AppendRows(out, &b); err != nil {
				return nil, err
			}
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if err := rows.Close(); err != nil {
			return nil, err
		}
	}
}

// TestStream reads files and streams of all programs as streams, also byte by byte: their rows are those that random
// access finds.
func TestStream(t *testing.T) {
	for name, data := range files(t) {
		want, err := text(data, manyRows)
		if err != nil {
			t.Fatal(name, err)
		}
		if fromEnd(name) {
			if _, err := streamText(bytes.NewReader(data), manyRows); !errors.Is(err, errColumnsAtEnd) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data))} {
			if got, err := streamText(r, manyRows); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
			}
		}
	}
}

// fromEnd reports whether a file has its columns only at its end.
func fromEnd(name string) bool {
	return strings.HasPrefix(name, "polars") && strings.HasSuffix(name, ".arrow")
}

// TestStreamDamaged reads streams that are cut short, that something follows, or that have a wrong byte.
func TestStreamDamaged(t *testing.T) {
	step := 97
	if testkit.Soak() {
		step = 1
	}
	for name, data := range files(t) {
		if fromEnd(name) {
			continue
		}
		for n := 0; n < len(data); n += step {
			if _, err := streamText(bytes.NewReader(data[:n]), manyRows); err == nil {
				t.Errorf("%s: no error after %d bytes", name, n)
			}
			damaged := bytes.Clone(data)
			damaged[n] ^= 0x80
			_, _ = streamText(bytes.NewReader(damaged), 1<<12)
		}
		if _, err := streamText(bytes.NewReader(append(bytes.Clone(data), 0)), manyRows); err == nil {
			t.Errorf("%s: no error with a byte behind it", name)
		}
		failing := io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(io.ErrClosedPipe))
		if _, err := streamText(failing, manyRows); err == nil || !strings.Contains(err.Error(), "closed pipe") {
			t.Errorf("%s: error %v, want that of the reader", name, err)
		}
	}
}

// TestStreamTogether has several goroutines share a stream with dictionaries: together they see each row once.
func TestStreamTogether(t *testing.T) {
	data := files(t)["delta.arrows"]
	want, err := text(data, manyRows)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := Format{}.OpenStream(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := format.CSV{}.Encoder(opened.Columns())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	parts := make([][]byte, 16) // by the row that each begins with
	for range 3 {
		all.Go(func() {
			var b source.Batch
			for {
				rows, before, err := opened.Next(make([]format.Field, len(opened.Columns())))
				if err == io.EOF {
					return
				} else if err != nil {
					t.Error(err)
					return
				}
				if err := rows.Next(&b); err != nil {
					t.Error(err)
				}
				if parts[before], err = encoder.AppendRows(nil, &b); err != nil {
					t.Error(err)
				}
				if err := rows.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := append(encoder.AppendHeader(nil), bytes.Join(parts, nil)...); !bytes.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func FuzzStream(f *testing.F) {
	for _, data := range files(f) {
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = streamText(bytes.NewReader(data), 1<<12) })
}
