package mask_test

import (
	"strings"
	"testing"

	"culvert/mask"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		"email": "email", " drop ": "drop", "phone": "digits", "year": "date year", "date month": "date month",
		"shift 30": "date shift 30", "round 100": "number round 100", "number noise 10 %": "number noise 10%",
		"keep last 4": "keep last 4", "name": "name", "name first": "name first", "fixed a b": "fixed a b",
		`fixed "a\tb"`: `fixed "a\tb"`, "fixed": `fixed ""`, "fixed it's": "fixed it's",
		"json $.a: email, $.b[*].c: fixed x, y": "json $.a: email, $.b[*].c: fixed x, y",
	} {
		r, err := mask.ParseRule(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: got %q and %v, want %q", text, r, err, want)
		}
		again, err := mask.ParseRule(r.String())
		if err != nil || !again.Equal(r) {
			t.Errorf("%q: is %q when it is read again, and %v", text, again, err)
		}
	}
	for text, want := range map[string]string{
		"": "no rule", "emial": "no rule", "email x": "nothing may follow", "keep 4": "first, last",
		"keep first":   "whole number",
		"keep first 0": "whole number", "name middle": "first, last", "noise 101%": "from 1 to 100",
		"json":          "needs a path",
		"json a: email": "no path", "json $.a: json $.b: text": "cannot be inside", "json $.a": "needs PATH",
		"fixed " + strings.Repeat("x", mask.MaxFixed+1): "may have 256 bytes",
		`fixed "a`: "quote", "round -1": "whole number", strings.Repeat("x", mask.MaxRule+1): "too long",
	} {
		if r, err := mask.ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %q and %v, want an error with %q", text, r, err, want)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, text := range []string{
		"email", "keep first 4", `fixed "x"`, "json $.a: email, $.b[*].c: text",
		"noise 10%",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := mask.ParseRule(text)
		if err != nil {
			return
		}
		again, err := mask.ParseRule(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q is read as %q, which is read as %q: %v", text, r, again, err)
		}
	})
}
