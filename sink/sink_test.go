package sink_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/sink"
)

func TestRowErrorText(t *testing.T) {
	cause := errors.New("invalid input syntax for type integer")
	for _, test := range []struct {
		err  sink.RowError
		want string
	}{
		{sink.RowError{Table: "public.t", Err: cause}, "sink: table public.t: " + cause.Error()},
		{
			sink.RowError{Table: "t", Row: 7, Line: 9, Column: `a"b`, Constraint: "c", Value: "x\n", Err: cause},
			`sink: table t, row 7, column "a\"b", constraint "c": ` + cause.Error() + `: "x\n"`,
		},
		{sink.RowError{Table: "t", Line: 9, Err: cause}, "sink: table t, line 9: " + cause.Error()},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
		if !errors.Is(&test.err, cause) {
			t.Errorf("%v does not wrap its cause", &test.err)
		}
	}
}

func TestShorten(t *testing.T) {
	long := strings.Repeat("x", sink.MaxValue-1)
	for value, want := range map[string]string{
		"":             "",
		long + "y":     long + "y",
		long + "yz":    long + "y…",
		long + "✓":     long + "…", // not a part of a character
		"a\xffb":       "a\uFFFDb",
		long + "é\xff": long + "…",
	} {
		if got := sink.Shorten(value); got != want || !utf8.ValidString(got) {
			t.Errorf("%q becomes %q, want %q", value, got, want)
		}
	}
}
