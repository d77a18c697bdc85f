package sinktest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

// printer returns a random value of a type as a system prints it.
type printer func(r *rand.Rand) (source.Kind, string)

// printers are types of sources and their values, also the odd ones.
var printers = map[source.Dialect]map[string]printer{
	source.PostgreSQL: {
		"smallint": whole(5), "integer": whole(10), "bigint": whole(19),
		"numeric(5,2)": decimal(5, 2, "NaN"), "numeric(15,0)": decimal(15, 0), "numeric(15,15)": decimal(15, 15),
		"numeric(30,6)": decimal(30, 6, "NaN"), "numeric": decimal(60, 20, "NaN", "Infinity", "-Infinity"),
		"real":             float(32, "NaN", "Infinity", "-Infinity", "-0"),
		"double precision": float(64, "NaN", "Infinity", "-Infinity", "-0"),
		"boolean":          truth,
		"date":             dates("infinity", "-infinity", "0044-03-15 BC", "12026-01-31", "5874897-12-31"),
		"timestamp without time zone": moments(6, "", "infinity", "0044-03-15 10:00:00 BC", "12026-01-31 10:00:00",
			"294276-12-31 23:59:59.999999"),
		"timestamp(3) without time zone": moments(3, "", "-infinity"),
		"timestamp(0) with time zone":    moments(0, "+00", "infinity", "0044-03-15 10:00:00+00 BC"),
		"timestamp with time zone":       moments(6, "+00"),
		"time without time zone":         clocks(6, "24:00:00"),
		"time(2) without time zone":      clocks(2, "24:00:00"),
		"time with time zone":            clocks(6, "10:00:00+05:30"),
		"character varying(3)":           words(3), "character(8)": padded(8), "text": words(50),
		"uuid":     func(*rand.Rand) (source.Kind, string) { return source.Text, strings.Repeat("a", 36) },
		"interval": func(*rand.Rand) (source.Kind, string) { return source.Text, "1 day 10:00:00.5" },
		"money":    func(*rand.Rand) (source.Kind, string) { return source.Text, "$1,000.50" },
	},
	source.MySQL: {
		"tinyint(4)": whole(3), "smallint(5) unsigned": whole(5), "int(11)": whole(10), "bigint(20)": whole(19),
		"bigint unsigned": whole(20), "decimal(5,2)": decimal(5, 2), "decimal(65,30)": decimal(65, 30),
		"decimal(9,0) unsigned": decimal(9, 0),
		"float":                 float(32, "-0"), "double": float(64, "-0"),
		"date":         dates("0000-00-00", "2026-00-00", "2026-01-00", "0000-01-01"),
		"datetime":     moments(0, "", "0000-00-00 00:00:00", "2026-00-01 00:00:00"),
		"datetime(6)":  moments(6, "", "0000-00-00 00:00:00.000000"),
		"timestamp(3)": moments(3, "", "0000-00-00 00:00:00.000"),
		"time":         clocks(0, "838:59:59", "-01:00:00", "100:00:00", "24:00:01", "24:00:00"),
		"time(6)":      clocks(6, "-00:00:00.000001", "838:59:59.000000"),
		"char(3)":      unpadded(3), "varchar(8)": words(8), "text": words(50),
	},
	source.SQLite: {"INTEGER": words(5), "DATE": words(9), "REAL": words(3)},
}

// Guarantees tests what [grammar.Narrow] leaves of the grammars of the types of a system: for random values of every
// type of every source it says the same as the grammar.
func Guarantees(t *testing.T, to source.Dialect, types []string, grammarOf func(name string) grammar.Grammar) {
	t.Helper()
	r := rand.New(rand.NewPCG(28, 4))
	narrowed := 0
	for _, name := range types {
		whole := grammarOf(name)
		for dialect, all := range printers {
			for from, printed := range all {
				narrow := grammar.Narrow(whole, to, name, sink.Origin{Dialect: dialect, Type: from})
				if whole == nil {
					if narrow != nil {
						t.Errorf("%s without a grammar has one for %s of %s", name, from, dialect)
					}
					continue
				}
				if narrow == nil {
					narrowed++
				}
				for range 300 {
					kind, value := printed(r)
					want, got := whole(kind, []byte(value)), ""
					if from == "character(8)" && strings.HasPrefix(name, "char") && !strings.Contains(name, "varying") {
						want = whole(kind, []byte(strings.TrimRight(value, " "))) // the spaces are no part of it
					}
					if narrow != nil {
						got = narrow(kind, []byte(value))
					}
					if isZero := grammar.IsSignedZero([]byte(value)); got != want && (!isZero || want != "") {
						t.Errorf("%s of %s into %s: %q is refused because of %q, want %q",
							from, dialect, name, value, got, want)
						break
					}
				}
			}
		}
	}
	if narrowed < len(types)/2 {
		t.Errorf("only %d pairs of types need no check", narrowed)
	}
}

// oneOf returns a printer that sometimes prints one of other values.
func oneOf(usual printer, others []string) printer {
	return func(r *rand.Rand) (source.Kind, string) {
		kind, value := usual(r)
		if len(others) > 0 && r.IntN(8) == 0 {
			value = others[r.IntN(len(others))]
		}
		return kind, value
	}
}

func digits(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	return b.String()
}

func sign(r *rand.Rand, number string) string {
	if r.IntN(2) == 0 && strings.Trim(number, "0.") != "" {
		return "-" + number
	}
	return number
}

// whole prints integers of up to some digits.
func whole(size int) printer {
	return func(r *rand.Rand) (source.Kind, string) {
		n, _ := new(big.Int).SetString(digits(r, 1+r.IntN(size)), 10)
		if limit := big.NewInt(math.MaxInt64); size == 19 && n.Cmp(limit) > 0 {
			n = limit
		}
		return source.Number, sign(r, n.String())
	}
}

func decimal(size, places int, others ...string) printer {
	return oneOf(func(r *rand.Rand) (source.Kind, string) {
		n, _ := new(big.Int).SetString("0"+digits(r, r.IntN(size-places+1)), 10)
		if places == 0 {
			return source.Number, sign(r, n.String())
		}
		return source.Number, sign(r, n.String()+"."+digits(r, places))
	}, others)
}

func float(bits int, others ...string) printer {
	return oneOf(func(r *rand.Rand) (source.Kind, string) {
		number := r.NormFloat64() * math.Pow(10, float64(r.IntN(60)-30))
		if r.IntN(3) == 0 {
			number = math.Round(number)
		}
		return source.Number, strconv.FormatFloat(number, "fge"[r.IntN(3)], -1, bits)
	}, others)
}

func truth(r *rand.Rand) (source.Kind, string) { return source.Bool, []string{"t", "f"}[r.IntN(2)] }

func aDate(r *rand.Rand) string {
	return fmt.Sprintf("%04d-%02d-%02d", 1+r.IntN(9999), 1+r.IntN(12), 1+r.IntN(28))
}

func aClock(r *rand.Rand, places int) string {
	clock := fmt.Sprintf("%02d:%02d:%02d", r.IntN(24), r.IntN(60), r.IntN(60))
	if places > 0 && r.IntN(4) > 0 {
		clock += "." + digits(r, places)
	}
	return clock
}

func dates(others ...string) printer {
	return oneOf(func(r *rand.Rand) (source.Kind, string) { return source.Text, aDate(r) }, others)
}

func moments(places int, zone string, others ...string) printer {
	return oneOf(func(r *rand.Rand) (source.Kind, string) {
		return source.Text, aDate(r) + " " + aClock(r, places) + zone
	}, others)
}

func clocks(places int, others ...string) printer {
	return oneOf(func(r *rand.Rand) (source.Kind, string) { return source.Text, aClock(r, places) }, others)
}

func words(most int) printer {
	return func(r *rand.Rand) (source.Kind, string) {
		var b strings.Builder
		for range r.IntN(most + 1) {
			b.WriteString([]string{"a", "é", "😀", " ", "7", "-"}[r.IntN(6)])
		}
		return source.Text, b.String()
	}
}

// padded prints texts with spaces up to some characters, and unpadded without spaces at their end.
func padded(most int) printer {
	return func(r *rand.Rand) (source.Kind, string) {
		kind, value := words(most)(r)
		return kind, value + strings.Repeat(" ", most-utf8.RuneCountInString(value))
	}
}

func unpadded(most int) printer {
	return func(r *rand.Rand) (source.Kind, string) {
		kind, value := words(most)(r)
		return kind, strings.TrimRight(value, " ")
	}
}
