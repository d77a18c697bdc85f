package ui

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTransferLine(t *testing.T) {
	long := strings.Repeat("name", 50)
	for _, test := range []struct {
		transfer Transfer
		want     string
	}{
		{Transfer{Files: 1, Of: 1200, Moved: 5_000_000}, "1/1,200 files, 5.0 MB, 2.5 MB/s"},
		{
			Transfer{Of: 1, Moved: 5_000_000, Left: 10_000_000, Done: 0.755},
			"0/1 file, 5.0 MB, 2.5 MB/s, 75 %, 4.00 s left",
		},
		{Transfer{Of: 1, Left: 10_000_000, Done: 0.5}, "0/1 file, 0 B, 0.0 MB/s, 50 %"},
		{
			Transfer{Of: 3, Moved: 1, Active: []TransferFile{{"a\nb", 0.999}, {"c", 0}}},
			"0/3 files, 1 B, 0.0 MB/s; a\uFFFDb 99 % and 1 more",
		},
		{
			Transfer{Of: 3, Moved: 1, Active: []TransferFile{{long, 0.5}}},
			"0/3 files, 1 B, 0.0 MB/s; " + long[:47] + "… 50 %",
		},
	} {
		got := Figures{Rows: NoRows, Transfer: &test.transfer}.line(2*time.Second, 0)
		if got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
		if utf8.RuneCountInString(got) > 79 {
			t.Errorf("%q is too long", got)
		}
	}
}
