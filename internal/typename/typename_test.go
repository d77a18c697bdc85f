package typename_test

import (
	"slices"
	"testing"

	"culvert/internal/typename"
)

func TestCut(t *testing.T) {
	for name, want := range map[string]struct {
		base      string
		modifiers []int
	}{
		"text":                              {"text", nil},
		"VARCHAR (10)":                      {"varchar", []int{10}},
		"numeric(8,2)":                      {"numeric", []int{8, 2}},
		"numeric( 3 , -2 )":                 {"numeric", []int{3, -2}},
		"timestamp(3)  with time zone":      {"timestamp with time zone", []int{3}},
		"interval day to second(3)":         {"interval day to second", []int{3}},
		"decimal(9,2) unsigned zerofill":    {"decimal unsigned zerofill", []int{9, 2}},
		"enum('a(1)','b')":                  {"enum('a(1)','b')", nil},
		"numeric(5,2)[]":                    {"numeric[]", []int{5, 2}},
		"varchar(99999999999999999999)":     {"varchar", nil},
		"bit(3) /* not a name of a type */": {"bit /* not a name of a type */", []int{3}},
	} {
		base, modifiers := typename.Cut(name)
		if base != want.base || !slices.Equal(modifiers, want.modifiers) {
			t.Errorf("%q: %q and %v", name, base, modifiers)
		}
	}
}

func TestValues(t *testing.T) {
	for name, want := range map[string][]string{
		"enum('a','B')":             {"a", "B"},
		"ENUM('it''s','',''',''')":  {"it's", "", "','"},
		"set('x(1)')":               {"x(1)"},
		`enum('a\\b','\n\r\0','c')`: {`a\b`, "\n\r\x00", "c"},
		"enum('a','b":               nil,
		"enum('a'x)":                nil,
		"enum('a')x":                nil,
		`enum('a\`:                  nil,
		"enum()":                    nil,
		"varchar(3)":                nil,
		"point":                     nil,
	} {
		if got := typename.Values(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q", name, got)
		}
	}
}
