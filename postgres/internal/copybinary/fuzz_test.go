package copybinary_test

import (
	"bytes"
	"testing"

	"culvert/postgres/internal/copybinary"
)

// FuzzAppendText compares the rows of a text of CSV with those that the decoder of the format reads.
func FuzzAppendText(f *testing.F) {
	for _, text := range []string{
		"1,\"a \"\"b\"\"\",-12.50,2026-01-31 10:00:00+00,t,\"{\"\"n\"\": 1}\",\n", "2,,,,,,\"\"\n",
		"3,\"line\nbreak, \",0.05,2026-01-31 10:00:00.5+00,f,[],x\n", "1,a,,,,,x\r\n", "1,\"a\"b,,,,,\n",
	} {
		f.Add([]byte(text))
	}
	e := copybinary.New(manyTypes)
	f.Fuzz(func(t *testing.T, text []byte) {
		fromText, ok := e.AppendText(nil, text)
		if !ok || len(text) == 0 {
			return
		}
		if fromRows, ok := e.AppendRows(nil, batchOf(t, string(text))); !ok || !bytes.Equal(fromText, fromRows) {
			t.Errorf("%q: of the text %q, of its rows %q", text, fromText, fromRows)
		}
	})
}

// FuzzValues has no value of any type make the encoder fail, or change what comes before it.
func FuzzValues(f *testing.F) {
	for _, s := range shapes {
		for _, text := range s.texts {
			f.Add([]byte(text))
		}
	}
	var encoders []*copybinary.Encoder
	for _, s := range shapes {
		if e := copybinary.New([]string{s.name}); e != nil {
			encoders = append(encoders, e)
		}
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		line := append(append([]byte{'"'}, bytes.ReplaceAll(value, []byte{'"'}, []byte(`""`))...), "\"\n"...)
		for i, e := range encoders {
			got, ok := e.AppendText([]byte("before"), line)
			if !bytes.HasPrefix(got, []byte("before")) || !ok && len(got) > len("before") {
				t.Errorf("encoder %d makes %q of %q", i, got, value)
			}
		}
	})
}

var benchmarkLine = []byte("1234567,7919,\"river stone, letter \"\"garden\"\" c4ca4238a0b923820dcc509a6f75849b\"," +
	"1047.29,2020-01-16 01:01:49.001+00,f,\"{\"\"n\"\": 1, \"\"tag\"\": \"\"stone\"\"}\",copper signal\n")

func BenchmarkAppendText(b *testing.B) {
	e := copybinary.New([]string{
		"bigint", "integer", "text", "numeric(12,2)", "timestamptz", "boolean", "jsonb", "text",
	})
	text := bytes.Repeat(benchmarkLine, 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		var ok bool
		if dst, ok = e.AppendText(dst[:0], text); !ok {
			b.Fatal("the text is left to CSV")
		}
	}
}
