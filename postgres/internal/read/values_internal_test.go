package read

import (
	"errors"
	"testing"

	"culvert/postgres/internal/valuetext"
	"culvert/source"
)

// TestAddRow refuses rows that are not as the server has described them.
func TestAddRow(t *testing.T) {
	const text, int4 = 25, 23
	r := &rows{
		columns:   []source.Column{{Name: "a"}, {Name: "b"}},
		encodings: []valuetext.Encoding{valuetext.Of(text), valuetext.Of(int4)},
	}
	const a, null, b = "\x00\x00\x00\x02ab", "\xff\xff\xff\xff", "\x00\x00\x00\x017"
	for _, test := range []struct {
		row   string
		fails bool
	}{
		{"\x00\x02" + a + b, false},
		{"\x00\x02" + null + b, false},
		{"", true},
		{"\x00", true},
		{"\x00\x01" + a, true},
		{"\x00\x02" + a, true},
		{"\x00\x02" + a + "\x00\x00", true},
		{"\x00\x02" + a + "\x00\x00\x00\x02" + "7", true},
		{"\x00\x02" + a + "\xff\xff\xff\xfe", true},
	} {
		var batch source.Batch
		batch.Reset(len(r.columns))
		if err := r.add(&batch, []byte(test.row)); errors.Is(err, errWrongRow) != test.fails {
			t.Errorf("%q: %v", test.row, err)
		} else if err == nil && (batch.Rows() != 1 || string(second(&batch)) != "7") {
			t.Errorf("%q: %d rows", test.row, batch.Rows())
		}
	}
}

func second(b *source.Batch) []byte {
	_, value := b.Value(0, 1)
	return value
}
