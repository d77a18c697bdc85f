package namepattern_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/internal/namepattern"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		pattern string
		name    []string
		want    bool
	}{
		{"orders", []string{"public", "orders"}, true},
		{"orders", []string{"audit", "orders"}, true},
		{"orders", []string{"orders", "lines"}, false},
		{"Orders", []string{"public", "orders"}, false},
		{"audit.*", []string{"audit", "log"}, true},
		{"audit.*", []string{"public", "log"}, false},
		{"*_old", []string{"public", "a.b_old"}, true},
		{"*_old", []string{"public", "_older"}, false},
		{"*a*b*", []string{"xxaxxaxxbx"}, true},
		{"*a*b", []string{"xxaxxbxx"}, false},
		{"t?", []string{"tö"}, true},
		{"t?", []string{"t"}, false},
		{"t[0-9a]", []string{"t7"}, true},
		{"t[0-9a]", []string{"tb"}, false},
		{"t[!0-9]", []string{"tb"}, true},
		{"t[^0-9]", []string{"t5"}, false},
		{"t[]x]", []string{"t]"}, true},
		{"t[a-]", []string{"t-"}, true},
		{`"a.b".c`, []string{"a.b", "c"}, true},
		{"`a.b`.c", []string{"a.b", "c"}, true},
		{`"a""*"`, []string{`a"*`}, true},
		{`"a*"`, []string{"ab"}, false},
		{`pre"*"*`, []string{"pre*fix"}, true},
		{`""`, []string{""}, true},
		{"*", []string{""}, true},
		{"*.email", []string{"public", "users", "email"}, true},
		{"users.email", []string{"public", "users", "email"}, true},
		{"public.users.email", []string{"public", "users", "email"}, true},
		{"public.email", []string{"public", "users", "email"}, false},
		{"a.b.c", []string{"b", "c"}, false},
	} {
		p, err := namepattern.Parse(test.pattern, 3)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		if got := p.Match(test.name...); got != test.want {
			t.Errorf("%s matches %q: %v", test.pattern, test.name, got)
		}
	}
}

func TestSyntax(t *testing.T) {
	for pattern, offset := range map[string]int{
		"": 0, "a.": 2, ".a": 0, "a..b": 2, `a."b`: 2, "a[b": 1, "[b-a]": 4, "[]": 0, "a.b.c": 0, "\xff": 0,
		strings.Repeat("a", namepattern.MaxLength+1): 0,
	} {
		_, err := namepattern.Parse(pattern, 2)
		syntax, is := errors.AsType[*namepattern.SyntaxError](err)
		if !is || syntax.Offset != offset {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
}

// TestLongMatch would not end if matching took exponential time.
func TestLongMatch(t *testing.T) {
	p, err := namepattern.Parse(strings.Repeat("a*", 1000)+"b", 1)
	if err != nil {
		t.Fatal(err)
	}
	if p.Match(strings.Repeat("a", 2000)) {
		t.Error("it matches")
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"orders", "audit.*", `"a.b".[!a-z]?`, "`x`.\"\"\"\"", "[]-]", "*.*.*"} {
		f.Add(text, "orders")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if p, err := namepattern.Parse(text, 3); err == nil {
			p.Match(name)
			p.Match("public", name, text)
			if again, err := namepattern.Parse(p.String(), p.Parts()); err != nil || again.Parts() != p.Parts() {
				t.Errorf("%q has %d parts, and again: %v", text, p.Parts(), err)
			}
		}
		if len(name) > 1000 || strings.ToValidUTF8(name, "") != name {
			return
		}
		quoted, err := namepattern.Parse(namepattern.Quote("s", name), 2)
		if err != nil || !quoted.Match("s", name) {
			t.Errorf("%q does not match itself: %v", name, err)
		}
	})
}

// Patterns choose tables; each has to match some.
func Example() {
	set, err := namepattern.ParseSet([]string{"audit.*", "*_old", "ordrs"}, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	tables := [][]string{{"public", "orders"}, {"public", "orders_old"}, {"audit", "log"}}
	for _, name := range tables {
		fmt.Println(name, set.Match(name...))
	}
	fmt.Println("without a table:", set.Unmatched(tables))
	// Output:
	// [public orders] false
	// [public orders_old] true
	// [audit log] true
	// without a table: [ordrs]
}
