package budget_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/postgres/internal/budget"
)

func message(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))) + body
}

// TestRow reads rows beside a driver, which receives everything else, and the rows that have not arrived. The reader
// passes on a few bytes at a time.
func TestRow(t *testing.T) {
	const count = 300
	var sent strings.Builder
	for i := range count {
		sent.WriteString(message('D', "\x00\x01\x00\x00\x00\x03row"))
		if i%10 == 0 {
			sent.WriteString(message('1', ""))
		}
	}
	for _, size := range []int{16, 17, 64, 1000} {
		var in budget.Reader
		in.Reset(bufio.NewReaderSize(strings.NewReader(sent.String()), size))
		driver := pgproto3.NewFrontend(&in, io.Discard)
		if _, ok := in.Row(); ok {
			t.Fatal("a row before Begin")
		}
		in.Begin()
		rows, direct, others := 0, 0, 0
		for {
			if row, ok := in.Row(); ok {
				if string(row) != "\x00\x01\x00\x00\x00\x03row" {
					t.Fatalf("buffer of %d: row %q", size, row)
				}
				rows++
				direct++
				continue
			}
			m, err := driver.Receive()
			if err != nil {
				if err != io.ErrUnexpectedEOF {
					t.Fatal(err)
				}
				break
			}
			if row, is := m.(*pgproto3.DataRow); is && len(row.Values) == 1 && string(row.Values[0]) == "row" {
				rows++
			} else {
				others++
			}
		}
		if rows != count || others != count/10 || size >= 64 && direct < count/2 {
			t.Errorf("buffer of %d: %d rows, %d of them beside the driver, and %d others", size, rows, direct, others)
		}
	}
}
