package argument

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"culvert/internal/cli/command"
)

func TestPrintable(t *testing.T) {
	for _, test := range []struct {
		name   string
		writes []string
		want   string
		fails  bool
	}{
		{"text", []string{"one\n", "two\t\r\n"}, "one\ntwo\t\r\n", false},
		{
			"characters cut in two",
			[]string{"gr\xc3", "\xb6\xc3\x9fe \xe2\x98", "\x82 \xf0\x9f\x98", "\x80"},
			"größe ☂ 😀", false,
		},
		{"control characters", []string{"one", "t\x1b[31mwo"}, "one", true},
		{"not UTF-8", []string{"one", "\xff"}, "one", true},
		{"an end in a character", []string{"gr\xc3"}, "gr", true},
		{"nothing", nil, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var screen bytes.Buffer
			p := &printable{Stream: command.Stream{Writer: &screen}, hints: []string{"a hint"}}
			var err error
			for _, text := range test.writes {
				if _, err = io.WriteString(p, text); err != nil {
					break
				}
			}
			if err == nil {
				err = p.Commit()
			}
			if screen.String() != test.want || errors.Is(err, ErrBinary) != test.fails {
				t.Errorf("%q, %v; want %q", screen.String(), err, test.want)
			}
			if test.fails && len(command.HintsOf(err)) != 1 {
				t.Error("the hint is missing")
			}
		})
	}
}
