package keyfile_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age/armor"

	"culvert/internal/keyfile"
)

// endless returns one line that never ends, and counts how much of it was read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'A'
	}
	e.read += len(p)
	return len(p), nil
}

func TestArmorReaderDoesNotKeepAnEndlessLine(t *testing.T) {
	for _, start := range []string{"", armor.Header + "\n", armor.Header + "\nAAAA\n" + armor.Footer + "\n"} {
		src := new(endless)
		_, err := io.ReadAll(keyfile.NewArmorReader(io.MultiReader(strings.NewReader(start), src)))
		if !errors.As(err, new(*armor.Error)) {
			t.Errorf("after %q the error is %v, want one of the armor", start, err)
		}
		if src.read > 64<<10 {
			t.Errorf("after %q, %d bytes of the line were read", start, src.read)
		}
	}
}

func TestArmorReader(t *testing.T) {
	for _, size := range []int{0, 1, 47, 48, 49, 100_000} {
		data := bytes.Repeat([]byte{0x5a}, size)
		var file bytes.Buffer
		w := armor.NewWriter(&file)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat(" ", 1023) + "\n" + file.String() + strings.Repeat(" ", 1000)
		for _, text := range []string{file.String(), text, strings.ReplaceAll(file.String(), "\n", "\r\n")} {
			for _, src := range []io.Reader{
				strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)),
				iotest.DataErrReader(strings.NewReader(text)),
			} {
				got, err := io.ReadAll(keyfile.NewArmorReader(src))
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes become %d bytes and %v", size, len(got), err)
				}
			}
		}
		cut := iotest.TimeoutReader(iotest.HalfReader(strings.NewReader(file.String())))
		if _, err := io.ReadAll(keyfile.NewArmorReader(cut)); !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("the error is %v, want that of the source", err)
		}
	}
}
