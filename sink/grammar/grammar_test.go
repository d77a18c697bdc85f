package grammar_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

func FuzzSameNumber(f *testing.F) {
	for _, seed := range [][2]string{
		{"0", "-0.00e9"},
		{"1.50", "15e-1"},
		{"007", "7"},
		{".5", "0.5"},
		{"5.", "5"},
		{"1e3", "1000"},
		{"-1", "1"},
		{"", "."},
		{"1e", "1"},
		{"+1", "1"},
		{"1e+5", "100000.0"},
		{"0x1", "1"},
		{"1e-+5", "1"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, isNumber := rational(a)
		y, isAlso := rational(b)
		want := isNumber && isAlso && x.Cmp(y) == 0
		if got := grammar.SameNumber([]byte(a), []byte(b)); got != want {
			t.Errorf("%q and %q: %v", a, b, got)
		}
	})
}

// rational reads a decimal number of few digits.
func rational(text string) (*big.Rat, bool) {
	const most = 12
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+' {
			return nil, false
		}
	}
	if len(text) > most {
		return nil, false
	}
	if number, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(number) > 1e100 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// TestKeptByFloat has every number come back from its shortest digits, and not from one digit more.
func TestKeptByFloat(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 28))
	for range 10_000 {
		double := math.Float64frombits(r.Uint64())
		if math.IsNaN(double) || math.IsInf(double, 0) {
			continue
		}
		single := float32(r.NormFloat64() * 1e6)
		for bits, text := range map[int]string{
			64: strconv.FormatFloat(double, 'e', -1, 64), 32: strconv.FormatFloat(float64(single), 'f', -1, 32),
		} {
			if !grammar.KeptByFloat([]byte(text), bits) {
				t.Fatalf("%d bits do not keep %s", bits, text)
			}
		}
		if text := strconv.FormatFloat(double, 'e', 20, 64); grammar.KeptByFloat([]byte(text), 32) {
			t.Fatalf("32 bits keep %s", text)
		}
	}
	for text, want := range map[string]bool{
		"0.1234567890123": false, "0.1": true, "16777217": false, "1e39": false, "1e-50": false, "123456": true,
	} {
		if grammar.KeptByFloat([]byte(text), 32) != want {
			t.Errorf("%s: want %v", text, want)
		}
	}
}

func TestGrammars(t *testing.T) {
	for _, test := range []struct {
		grammar       grammar.Grammar
		kind          source.Kind
		keeps, leaves []string
	}{
		{
			grammar.Postgres("integer"), source.Text,
			[]string{"0", "-7", "70"},
			[]string{"", "-", "07", "+7", " 7", "7.0", "0x7", "1_0"},
		},
		{grammar.Postgres("bigint"), source.Number, []string{"42", "-7"}, []string{"1e3", "00042", "+7"}},
		{
			grammar.Postgres("numeric"), source.Number,
			[]string{"1e-9", "NaN", "-Infinity", "12.50"},
			[]string{"1_0", "nan", "0b1"},
		},
		{
			grammar.Postgres("numeric(5,2)"), source.Text,
			[]string{"1.500", "0.5", "-0.25"},
			[]string{"1.505", "01.5", "1 "},
		},
		{
			grammar.Postgres("timestamp(3) without time zone"), source.Text,
			[]string{
				"2026-01-31", "2026-01-31 10:00", "2026-01-31T10:00:00.120000Z", "12026-01-31 10:00:00+00:00",
				"-infinity", "0044-03-15 10:00:00 BC",
			},
			[]string{
				"2026-01-31 10:00:00.1234", "2026-01-31 10:00+01", "2026-13-01", "2026-01-31 24:00", "yesterday",
				"2026-01-31 10", "2026-01-31 10:00:00 UTC", "2026-01/31", "31.01.2026", "26-01-31", "2026-01-31T",
				"2026-01-31 10:00:00.", "2026-01-31 10:60",
			},
		},
		{
			grammar.Postgres("timestamp with time zone"), source.Text,
			[]string{"2026-01-31 10:00:00.123456+05:30", "2026-01-31 10:00:00-0530", "2026-01-31 10:00:00 +02"},
			[]string{"2026-01-31 10:00 CET", "2026-01-31 10:00+5", "now", "2026-01-31 10:00+"},
		},
		{
			grammar.Postgres("time without time zone"), source.Text,
			[]string{"00:00", "23:59:59.999999", "24:00:00", "24:00"},
			[]string{"100:00", "-01:00", "10:00 PM", "24:00:00.000001", "24:01", "25:00", "24:00:00+01"},
		},
		{
			grammar.Postgres("time with time zone"), source.Text,
			[]string{"24:00:00+00", "12:00:00-15:59:59"},
			[]string{"24:00:01+00"},
		},
		{
			grammar.Postgres("date"), source.Text,
			[]string{"5874897-12-31", "4713-01-01 BC", "infinity"},
			[]string{"12345678-01-01", "2460000", "2026-01-31 24:00"},
		},
		{grammar.Postgres("bit varying(9)"), source.Text, []string{"", "101"}, []string{"x", "102", "B101"}},
		{
			grammar.MySQL("double"), source.Number,
			[]string{"-734.1234567890123", "1.7976931348623157e+308", "12345678901234567000", "0.30000000000000004"},
			[]string{"9007199254740993", "0.30000000000000001"},
		},
		{
			grammar.Postgres("interval"), source.Text,
			[]string{"1 year 2 mons -3 days +04:05:06.7", "838:59:59", "P1DT2H"},
			[]string{"", "1.5 days", "1 week", "tomorrow"},
		},
		{grammar.Postgres("inet"), source.Text, []string{"10.0.0.1", "::1/64"}, []string{"10", "10/8", "10.0"}},
		{grammar.Postgres("boolean"), source.Text, []string{"t", "FALSE", "1", "yes"}, []string{"tr", "2", ""}},
		{grammar.Postgres("character varying(3)"), source.Text, []string{"äöü", ""}, []string{"abc "}},
		{grammar.Postgres("oid"), source.Number, []string{"0", "4294967295"}, []string{"-1", "007"}},
		{
			grammar.Postgres("numeric(5,2)[]"), source.Text,
			[]string{"{}", "{1.5,NULL, null ,\"-0.25\"}", "[0:1][1:1]={{1},{2}}", "{ 1 , NaN }"},
			[]string{"{1.505}", "{1,\"1.505\"}", "{01}", "{\"NULL\"}", "{\"\"}", "[0:0]={1.505}"},
		},
		{
			grammar.Postgres("character varying(3)[]"), source.Text,
			[]string{`{"a,b","\"\\}", abc }`, "{äöü}"},
			[]string{`{"abc "}`, `{{ok},{"a\"\"b"}}`, `{abc\ }`},
		},
		{grammar.Postgres("bytea[]"), source.Text, []string{`{"\\x5C",abc}`}, []string{`{"\\101"}`, `{"\\x5"," \\x"}`}},
		{grammar.Postgres("time(0) without time zone[]"), source.Text, []string{"{10:00}"}, []string{"{10:00:00.5}"}},
		{
			grammar.Postgres("tsrange"), source.Text,
			[]string{`["2026-01-31 10:00:00",infinity)`, "empty", "(,)", `[2026-01-31,"2026-02-01 10:00"]`},
			[]string{"[now,]", `(,"2026-02-01 10:00 CET")`, `["",]`},
		},
		{
			grammar.Postgres("nummultirange"), source.Text,
			[]string{"{}", "{[1,2), (3.5,)}"},
			[]string{"{[1,2), (03.5,)}"},
		},
		{
			grammar.Postgres("daterange[]"), source.Text,
			[]string{`{"[2026-01-31,)",empty}`},
			[]string{`{"[2026-01-31,)","[today,)"}`},
		},
		{grammar.Postgres("money"), source.Number, []string{"-1.5"}, []string{"1.005", "1,000"}},
		{
			grammar.Postgres("money"), source.Text,
			[]string{"$1,234,567.80", "-$0.05", "$1", "$92,233.58", "0.5"},
			[]string{"$1.250", "$12,50", "$1,2345", "1,000.00", "12,50 €", "$1,000.5", "$", "$-1.00", "($1.00)"},
		},
		{
			grammar.Postgres("interval day to hour"), source.Text,
			[]string{"1 year -2 days", "10:00:00", "-infinity", "3 months 00:00"},
			[]string{"10:30:00", "00:00:01", "P1D", "10", "1 day ", "1 day 2 years"},
		},
		{
			grammar.Postgres("interval(2)"), source.Text,
			[]string{"00:00:00.120", "PT0.25S", "100000:00:00.01"},
			nil,
		},
		{
			grammar.Postgres("numeric(6,-2)"), source.Number,
			[]string{"1200", "0", "1.2e3", "-0.00"},
			[]string{"1250", "1", "0.5"},
		},
		{
			grammar.MySQL("datetime(1)"), source.Text,
			[]string{"0000-00-00 00:00:00", "2026-00-00", "2026-1-2 3:04:05.5", "2026-01-02 03:04:05+00"},
			[]string{"2026^01^02", "20260102030405", "2026-01-02 03:04:05.55", "infinity", "2026-01-02 03:04:05+01"},
		},
		{grammar.MySQL("date"), source.Text, []string{"2026-01-02 00:00:00"}, []string{"2026-01-02 00:00:01"}},
		{
			grammar.MySQL("time(6)"), source.Text,
			[]string{"-838:59:59.000001", "10:00"},
			[]string{"1 10:00:00", "101112"},
		},
		{grammar.MySQL("enum('a','it''s')"), source.Text, []string{"a", "it's", ""}, []string{"A", "a ", "2", "its"}},
		{
			grammar.MySQL("set('a','b','c')"),
			source.Text,
			[]string{"", "a", "a,c", "a,b,c"},
			[]string{"B", "c,a", "a,a", "a,", "1", "a, b"},
		},
		{
			grammar.Postgres(`"char"`), source.Text,
			[]string{"", "a", `\`, `\377`, `\200`},
			[]string{"ab", "é", `\000`, `\177`, `\378`, `\xff`},
		},
		{grammar.MySQL("binary(2)"), source.Bytes, []string{"ab"}, []string{"", "a"}},
		{grammar.MySQL("binary"), source.Bytes, []string{"a"}, []string{""}},
		{grammar.MySQL("float(7,2) unsigned"), source.Number, []string{"1.25", "12.5"}, []string{"1.255"}},
		{grammar.MySQL("int(5) unsigned zerofill"), source.Number, []string{"42"}, []string{"4.2", "00042"}},
	} {
		for _, value := range test.keeps {
			if reason := test.grammar(test.kind, []byte(value)); reason != "" {
				t.Errorf("%q: %s", value, reason)
			}
		}
		for _, value := range test.leaves {
			if test.grammar(test.kind, []byte(value)) == "" {
				t.Errorf("%q is kept", value)
			}
		}
	}
	for _, name := range []string{"text", "jsonb", "uuid", "text[]", "bytea", "jsonb[]", "box", "regclass"} {
		if grammar.Postgres(name) != nil {
			t.Errorf("%s has a grammar", name)
		}
	}
}

// TestNarrowZerofill has integers of MySQL be read without the zeros of ZEROFILL, whatever their width.
func TestNarrowZerofill(t *testing.T) {
	const double = "double precision"
	from := sink.Origin{Dialect: source.MariaDB, Type: "int(20) unsigned zerofill"}
	if grammar.Narrow(grammar.Postgres(double), source.PostgreSQL, double, from) != nil {
		t.Errorf("a %s does not keep each %s", double, from.Type)
	}
}
