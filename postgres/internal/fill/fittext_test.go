package fill_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"testing"

	"culvert/postgres/internal/fill"
)

// FuzzPasses looks at any text of CSV as it is. What passes can be read by package encoding/csv, and the values of the
// column have nothing that a number has not.
func FuzzPasses(f *testing.F) {
	for _, text := range []string{
		"a,1,b\n", "a,\"1\",\"b \"\"c\"\"\"\n", "\"a,b\",2,\"x\ny\"\r\nc,3,d\r\n", "a,1.5,b\n", "\"a\" ,1,b\n",
		"\"a\"\r,1,b\n",
		"a,\"\"\"1\"\"\",b\n", ",,\n", "a,\"1", "a\"b,1,c\n", "\"a\",1\n", "\"\",\"\",\"\"\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !fill.Passes(text, 1, "numeric(12,2)") {
			return
		}
		r := csv.NewReader(bytes.NewReader(text))
		r.FieldsPerRecord = -1
		for {
			row, err := r.Read()
			switch {
			case err == io.EOF:
				return
			case err != nil:
				if bytes.IndexByte(text, '\r') >= 0 {
					return // which it reads as a line feed in quotes
				}
				t.Fatalf("%q passes, and cannot be read: %v", text, err)
			case len(row) < 2 && len(row[0]) > 0:
				t.Fatalf("%q passes, and has the row %q", text, row)
			case len(row) > 1 && strings.ContainsAny(row[1], "\",\n"):
				t.Fatalf("%q passes, and has the number %q", text, row[1])
			}
		}
	})
}
