package compress

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

// A gzip member is followed by another member, by zeros that fill a block of a tape, or by damage.
func TestReaderOfWhatFollowsAMember(t *testing.T) {
	text := csvText(3000)
	member := compressed(t, Gzip, text, len(text))
	for _, test := range []struct {
		name     string
		rest     []byte
		err, end error
	}{
		{"a zero", make([]byte, 1), nil, nil},
		{"zeros", make([]byte, 300_000), nil, nil},
		{"zeros and more", append(make([]byte, 512), 'x'), ErrCorrupt, nil},
		{"zeros and a member", slices.Concat(make([]byte, 512), member), ErrCorrupt, nil},
		{"a byte", []byte("x"), ErrCorrupt, nil},
		{"text", []byte("some text that is long enough"), ErrCorrupt, nil},
		{"half of the magic", []byte("\x1f"), ErrCorrupt, io.ErrUnexpectedEOF},
		{"half of a header", member[:5], ErrCorrupt, io.ErrUnexpectedEOF},
	} {
		stream := slices.Concat(member, test.rest)
		for _, src := range []io.Reader{
			bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream)),
		} {
			r, err := NewReader(src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if string(got) != string(text) || !errors.Is(err, test.err) {
				t.Errorf("%s: %d bytes and %v, want %d bytes and %v", test.name, len(got), err, len(text), test.err)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) != (test.end != nil) {
				t.Errorf("%s: error is %v: whether the stream ends early is wrong", test.name, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
