package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"culvert/format"
	"culvert/internal/testkit"
)

// split reads all blocks of a stream with buffers of a size, and checks the counts.
func split(t *testing.T, r io.Reader, f format.Readable, size int) (blocks []string, err error) {
	t.Helper()
	s := format.NewSplitter(r, f, 0)
	buf := make([]byte, 0, size)
	for {
		block, rows, err := s.Next(buf)
		if err != nil {
			if _, _, again := s.Next(buf); again != err {
				t.Fatalf("the error %v becomes %v", err, again)
			}
			if err == io.EOF {
				err = nil
			}
			return blocks, err
		}
		if n, want := f.Cut(block); n != len(block) || rows != want || n == 0 {
			t.Fatalf("a block %q of %d rows; Cut returns %d and %d", block, rows, n, want)
		}
		blocks = append(blocks, string(block))
		buf = block[:0]
	}
}

// TestSplitter cuts random rows, some of them longer than a block, from readers that return text in parts.
func TestSplitter(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range 60 {
		fields := textFields(2)
		rows := append([][]cell{{text("first"), null()}}, randomRows(r, fields, r.IntN(300))...)
		for i := range rows {
			if r.IntN(100) == 0 {
				rows[i][0] = text(strings.Repeat("\"\n,", 1+r.IntN(5000)))
			}
		}
		for name, f := range readable {
			out, err := encoder(t, f, "a", "b").AppendRows(nil, fill(2, rows...))
			if err != nil {
				t.Fatal(err)
			}
			in := io.Reader(bytes.NewReader(out))
			switch r.IntN(4) {
			case 0:
				in = iotest.OneByteReader(in)
			case 1:
				in = iotest.DataErrReader(in)
			case 2:
				in = io.MultiReader(strings.NewReader("\ufeff"), in)
			}
			blocks, err := split(t, in, f, r.IntN(9000))
			if got := strings.Join(blocks, ""); err != nil || got != string(out) {
				t.Fatalf("%s: %d bytes and error %v, want %d", name, len(got), err, len(out))
			}
			if len(out) > 40_000 && len(blocks) < 2 {
				t.Errorf("%s: %d bytes in %d blocks", name, len(out), len(blocks))
			}
		}
	}
}

// TestSplitterCut reads a stream whose own source is cut. Its error is no end of the rows, whatever it wraps.
func TestSplitterCut(t *testing.T) {
	for _, cut := range []error{io.ErrUnexpectedEOF, fmt.Errorf("corrupt data: %w", io.ErrUnexpectedEOF)} {
		for _, text := range []string{"", "a,b\n1,2\n", "a,b\n1,"} {
			for name, f := range readable {
				r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(cut))
				if blocks, err := split(t, r, f, 100); err != cut {
					t.Errorf("%s: %q and then %v: %q and error %v", name, text, cut, blocks, err)
				}
			}
		}
	}
}

func TestSplitterEnds(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "\ufeff": "", "\n": "\n", "a,b": "a,b\n", "\ufeffa\n\"b\n\"": "a\n\"b\n\"\n",
		"a\r\nb\r\n": "a\r\nb\r\n", "a\r\nb": "a\r\nb\r\n", "a\r\nb\r": "a\r\nb\r\n",
		"a\n\"b\r\n\"": "a\n\"b\r\n\"\n",
	} {
		blocks, err := split(t, strings.NewReader(in), format.CSV{}, 0)
		if got := strings.Join(blocks, ""); got != want || err != nil {
			t.Errorf("%q: %q and error %v, want %q", in, got, err, want)
		}
	}
	long := strings.Repeat("x", 5000)
	blocks, err := split(t, strings.NewReader("a\r\n"+long), format.CSV{}, 0)
	if got := strings.Join(blocks, ""); got != "a\r\n"+long+"\r\n" || err != nil {
		t.Errorf("a long row is %q, %v", got, err)
	}
	blocks, err = split(t, strings.NewReader(`{"a":1}`), format.JSONL{}, 0)
	if err != nil || blocks[0] != "{\"a\":1}\n" {
		t.Errorf("%q, %v", blocks, err)
	}
}

func TestSplitterFails(t *testing.T) {
	cut := errors.New("the cable is cut")
	in := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(cut))
	if _, err := split(t, in, format.CSV{}, 0); err != cut {
		t.Errorf("error %v, want %v", err, cut)
	}

	open := strings.Repeat("x\n", 10_000) + "\"y\n"
	_, err := split(t, strings.NewReader(open), format.CSV{}, 5000)
	if bad, ok := errors.AsType[*format.RowError](err); !ok || bad.Row != 10_001 {
		t.Errorf("a quote that is not closed: %v", err)
	}

	s := format.NewSplitter(strings.NewReader("x\n\""+strings.Repeat("y\n", 20_000)+"\"\n"), format.CSV{}, 10_000)
	block, rows, err := s.Next(nil)
	if string(block) != "x\n" || rows != 1 || err != nil {
		t.Fatalf("%q, %d, %v", block, rows, err)
	}
	block, _, err = s.Next(block[:0])
	if bad, ok := errors.AsType[*format.RowError](err); !ok || bad.Row != 2 || cap(block) > 20_000 {
		t.Errorf("a row that is too large: %v, %d bytes of memory", err, cap(block))
	}
}

// FuzzSplitter checks that the blocks are the stream, however it is cut, and end where the model ends rows.
func FuzzSplitter(f *testing.F) {
	for _, seed := range csvSeeds {
		f.Add(seed, uint16(3))
	}
	f.Fuzz(func(t *testing.T, file string, at uint16) {
		file = strings.ReplaceAll(strings.TrimPrefix(file, "\ufeff"), "\r", "")
		if file != "" && !strings.HasSuffix(file, "\n") {
			file += "\n"
		}
		rows, ok := parseRows(file)
		// Rows before the file make the buffer end anywhere within it.
		before := strings.Repeat("before\n", 585-int(at)%min(585, len(file)+1))
		blocks, err := split(t, strings.NewReader(before+file), format.CSV{}, 4096)
		if (err == nil) != ok {
			t.Fatalf("%q: error %v, the model says %v", file, err, ok)
		}
		if !ok {
			return
		}
		if strings.Join(blocks, "") != before+file {
			t.Fatalf("%q becomes %q", file, blocks)
		}
		got := 0
		for _, block := range blocks {
			part, ok := parseRows(block)
			if got += len(part); !ok {
				t.Fatalf("%q: the block %q has no whole rows", file, block)
			}
		}
		if want := strings.Count(before, "\n") + len(rows); got != want {
			t.Fatalf("%q: %d rows, want %d", file, got, want)
		}
	})
}

func TestSplitterAllocatesNothing(t *testing.T) {
	for name, f := range readable {
		text, err := encoder(t, f, todoNames...).AppendRows(nil, todos(100))
		if err != nil {
			t.Fatal(err)
		}
		s := format.NewSplitter(&endless{text: text}, f, 0)
		buf := make([]byte, 0, 10_000)
		testkit.Allocs(t, 0, func() {
			block, rows, err := s.Next(buf)
			if rows == 0 || err != nil {
				t.Fatal(name, rows, err)
			}
			buf = block[:0]
		})
	}
}

// endless repeats a text.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}
