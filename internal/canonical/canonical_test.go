package canonical_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/canonical"
	"culvert/internal/rowsum"
	"culvert/internal/testkit"
	"culvert/source"
)

var _ format.Lines = new(canonical.Adder)

// TestTexts has values that are equal in different texts, and some that only look equal.
func TestTexts(t *testing.T) {
	for _, test := range []struct {
		logical string
		want    string
		equal   []string
		others  []string
	}{
		{"string", "0.10", nil, []string{"0.1", "0.100", " 0.10"}},
		{"int32", "7", []string{"007", "+7", "7.0"}, []string{"7.5", " 7", "7\x00", "", "-7", "0x7", "70"}},
		{"int64", "0", []string{"-0", "00", "0.000"}, []string{"", "-", "."}},
		{
			"decimal(10,2)", "1.50",
			[]string{"1.5", "+01.500", "15e-1", "0.15E+1"},
			[]string{"1.501", "1,5", "1.5e400000"},
		},
		{"decimal", "1.5", []string{"1.500", "15e-1"}, []string{"1.5x", "1.5 ", "1.51"}},
		{"decimal", "1" + strings.Repeat("0", 400), []string{"1e400", "1" + strings.Repeat("0", 400) + ".0"}, nil},
		{"decimal", "0", []string{"-0", "-0.000", "0e5"}, nil},
		{"float64", "-Infinity", []string{"-9.0e+999"}, []string{"-1e400", "-inf"}},
		{"float64", "1e400", nil, []string{"Infinity", "1e308"}},
		{
			"float64", "0.1",
			[]string{"0.10", "1e-1", "0.1000000000000000055511151231257827"},
			[]string{"0.10000000000000002"},
		},
		{"float64", "1e+15", []string{"1e15", "1000000000000000"}, nil},
		{
			"float32", "0.1",
			[]string{"0.1", "0.10000000149011612", "1e-01"},
			[]string{"0.10000000149011613", "0.10000001"},
		},
		{"float32", "1.6777216e+07", []string{"16777216"}, []string{"16777217"}}, // which is no float32
		{"bool", "t", []string{"1", "true", "T", "Yes", "on", "y"}, []string{"2", "ye", "f", "no", ""}},
		{"char(3)", "a  ", []string{"a", "a "}, []string{" a", "a   ", "A"}},
		{"bytes", `\x00ff`, []string{`\x00FF`}, []string{`\x00f`, "00ff"}},
		{"time", "24:00:00", []string{"24:00", "24:00:00.0"}, []string{"00:00:00", "24:00:01"}},
		{"time", "01:02:03.5", []string{"01:02:03.500000", "1:02:03.5Z"}, []string{"-01:02:03.5", "01:02:03.5+1"}},
		{"time", "-838:59:59", []string{"-838:59:59.000"}, []string{"838:59:59", "-839:59:59"}},
		{"time", "00:00:00", []string{"-00:00"}, []string{"-00:00:00.1"}},
		{
			"timestamp", "2026-01-02 00:00:00",
			[]string{
				"2026-01-02T00:00", "2026-01-02 00:00:00.000", "2026-01-02", "2026-01-02 00:00:00 +00",
				"2026/1/2 0:00Z",
			},
			[]string{"2026-01-01 24:00:00", "2026-01-02 00:00:00+01", "2026-01/02", "2026-01-02 00:00:00 Z"},
		},
		{"timestamp", "0000-00-00 00:00:00", []string{"0000-00-00 00:00"}, []string{"0000-00-01 00:00"}},
		{"timestamp", "2025-02-29 01:00", nil, []string{"2025-02-29 01:00:00", "2025-03-01 01:00:00"}},
		{
			"instant", "2026-01-01 23:30:00.5+00",
			[]string{
				"2026-01-02 00:30:00.500+01", "2026-01-01T23:30:00.5Z", "2026-01-01 23:30:00.5",
				"2026-01-01 19:00:00.5-04:30", "2026-01-01 19:00:00.5 -04:30",
			},
			[]string{"2026-01-02 00:30:00.5+00", "2026-01-02 00:30:00.5", "2026-01-01 23:30:00.5 UTC"},
		},
		{
			"uuid", "01234567-89ab-cdef-0123-456789abcdef",
			[]string{
				"0123456789ABCDEF0123456789abcdef", `\x0123456789abcdef0123456789abcdef`,
				"{01234567-89ab-cdef-0123-456789abcdef}", "0123-4567-89ab-cdef-0123-4567-89ab-cdef",
			},
			[]string{
				"01234567-89ab-cdef-0123-456789abcde", "012345678-9ab-cdef-0123-456789abcdef",
				"-0123456789ABCDEF0123456789abcdef", "0123--456789ABCDEF0123456789abcdef",
			},
		},
		{
			"json", `{"b": 1.5, "aa": [1, {}]}`,
			[]string{
				`{"aa":[1,{}],"b":0,"b":1.50}`, `{"aa":[1,{}],"\u0062":150.0e-2}`, `{"b": 1.500, "aa": [1.0, {}]}`,
			},
			[]string{`{"b":"1.50","aa":[1,{}]}`, `{"b":1.50,"aa":[1,{}]`, `{"b":1.05,"aa":[1,{}]}`},
		},
		{"json", "[1" + strings.Repeat("0", 5000) + "]", []string{"[1e5000]"}, []string{"[1e4999]"}},
		{
			"json", "[" + strings.Repeat("1e100000, ", 9) + "1]", nil,
			[]string{"[" + strings.Repeat("1e100000,", 9) + "1]"},
		},
		{"json", "0", []string{"0.0", "-0.00", "0e5", "-0.0e-5"}, []string{"00", "0.", ".0"}},
		{"json", "-1200", []string{"-1200.000", "-1.2e3", "-12000.0e-1"}, []string{"-12", "1200"}},
		{"json", `"\u0000"`, nil, []string{`""`, `"\u0001"`, "\"\x00\""}},
		{"list(decimal)", "{1.50}", nil, []string{"{1.5}"}},
		{"list(decimal(9,2))", "{1.50,NULL}", []string{"{1.5,NULL}", "{1.5000,null}"}, []string{"{1.50}", "{1.50,0}"}},
		{
			"list(char(3))", `[0:0][0:1]={{"a  ","\"  "}}`,
			[]string{`[0:0][0:1]={{a,"\""}}`},
			[]string{`[0:0][0:1]={{b,"\""}}`, `[0:0][0:1]={{a},{"\""}}`},
		},
		{"list(bool)", "{t,f}", []string{"{true,0}"}, []string{"{t,f", "t,f"}},
		{
			"date", "2026-01-02",
			[]string{"2026-1-2", "2026/1/2", "2026-01-02 00:00:00", "2026-01-02T00:00Z"},
			[]string{"2026-01-02 00:00:01", "2026-01-02 00:00:00+02", "26-01-02", "2026-1-32", "2026-1"},
		},
		{"date", "2026-02-29", nil, []string{"2026-2-29", "2026-3-1"}},
		{"interval", "1 day", nil, []string{"24:00:00"}},
	} {
		logical := typeOf(t, test.logical)
		var values canonical.Values
		for _, equal := range append(test.equal, test.want) {
			if got := string(values.Text(logical, []byte(equal))); got != test.want {
				t.Errorf("%s: %q is %q, want %q", test.logical, equal, got, test.want)
			}
		}
		for _, other := range test.others {
			if got := string(values.Text(logical, []byte(other))); got == test.want {
				t.Errorf("%s: %q is taken for %q", test.logical, other, test.want)
			}
		}
	}
}

// orders are columns with values that are looked at, and values that are not.
func orders(tb testing.TB) []source.Column {
	tb.Helper()
	var columns []source.Column
	for _, logical := range []string{
		"string", "decimal", "unknown", "json", "instant", "bytes", "char(3)", "float64",
	} {
		columns = append(columns, source.Column{Name: logical, Logical: typeOf(tb, logical)})
	}
	return columns
}

// random returns rows of such columns, as different systems print them, and their canonical texts.
func random(r *rand.Rand, values *canonical.Values, columns []source.Column, rows int) (printed, want source.Batch) {
	printed.Reset(len(columns))
	want.Reset(len(columns))
	for range rows {
		for _, c := range columns {
			text := oneOf(r, "", "1.50", `a "b", c`, "\n", "{\"a\":1}", "2026-01-02 03:04:05", `\xAB`,
				"é", "1e3", "\\.", "x\r")
			switch {
			case r.IntN(9) == 0:
				printed.AppendNull()
				want.AppendNull()
				continue
			case r.IntN(20) == 0:
				text = `{"` + strings.Repeat("long", r.IntN(50000)) + `":"` + strings.Repeat(`\"`, r.IntN(1000)) + `"}`
			case r.IntN(3) == 0 && c.Name == "json":
				text = json(r, 3)
			}
			printed.Append(source.Text, []byte(text))
			if len(text) > 1000 && c.Name != "json" {
				want.Append(source.Text, []byte(text))
				continue
			}
			want.Append(source.Text, values.Text(c.Logical, []byte(text)))
		}
		printed.EndRow()
		want.EndRow()
	}
	return printed, want
}

// sumOf returns the sum of the lines of rows.
func sumOf(tb testing.TB, columns []source.Column, b *source.Batch) rowsum.Sum {
	tb.Helper()
	var sum rowsum.Adder
	addLines(tb, columns, b, &sum)
	return sum.Sum
}

func addLines(tb testing.TB, columns []source.Column, b *source.Batch, lines format.Lines) {
	tb.Helper()
	encoder, err := format.CSV{}.Encoder(columns)
	if err == nil {
		_, err = encoder.(format.LineEncoder).AppendLines(nil, b, 1<<30, lines, nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// parts passes lines on in parts at random.
type parts struct {
	*canonical.Adder
	r *rand.Rand
}

func (p parts) Line(line []byte) {
	for len(line) > 0 {
		n := 1 + p.r.IntN(min(len(line), 1+p.r.IntN(100000)))
		p.Part(line[:n])
		line = line[n:]
	}
	p.EndLine()
}

// TestAdder compares the sums of lines, whole and in parts, with those of the lines of canonical values.
func TestAdder(t *testing.T) {
	columns := orders(t)
	r := rand.New(rand.NewPCG(7, 8))
	var values canonical.Values
	for range 20 {
		some := columns[:1+r.IntN(len(columns))]
		printed, want := random(r, &values, some, 20)
		var whole, cut canonical.Adder
		whole.Reset(canonical.TypesOf(some, ""))
		cut.Reset(canonical.TypesOf(some, ""))
		addLines(t, some, &printed, &whole)
		addLines(t, some, &printed, parts{&cut, r})
		if wanted := sumOf(t, some, &want); whole.Canonical != wanted || cut.Canonical != wanted {
			t.Errorf("%d columns: %v whole and %v in parts, want %v", len(some), whole.Canonical, cut.Canonical, wanted)
		}
		if wanted := sumOf(t, some, &printed); whole.Text != wanted || cut.Text != wanted {
			t.Errorf("the text has the sum %v whole and %v in parts, want %v", whole.Text, cut.Text, wanted)
		}
	}
}

// TestAdderText adds rows that are canonical.
func TestAdderText(t *testing.T) {
	columns := []source.Column{
		{Name: "n", Type: "numeric(10,2)", Logical: typeOf(t, "decimal(10,2)")},
		{Name: "i", Type: "timestamp with time zone", Logical: typeOf(t, "instant")},
	}
	if types := canonical.TypesOf(columns, source.PostgreSQL); !types.AreText() {
		t.Error("PostgreSQL does not print what PostgreSQL prints")
	}
	if types := canonical.TypesOf(columns, source.MariaDB); types.AreText() {
		t.Error("MariaDB prints what PostgreSQL prints")
	}
	for _, types := range []*canonical.Types{nil, canonical.TypesOf(columns, source.PostgreSQL)} {
		var sum canonical.Adder
		sum.Reset(types)
		sum.Line([]byte("1.500,,\n"))
		sum.Part([]byte("1.500,,\n"))
		sum.EndLine()
		if one := rowsum.Of([]byte("1.500,,\n")); sum.Text != sum.Canonical || sum.Text == one {
			t.Errorf("the sums are %v and %v", sum.Text, sum.Canonical)
		}
	}
}

// TestAdderLarge has JSON that is too large to be read, and a field of another type that is larger than any value.
func TestAdderLarge(t *testing.T) {
	columns := []source.Column{{Name: "d", Logical: typeOf(t, "decimal")}, {Name: "j", Logical: typeOf(t, "json")}}
	large := strings.Repeat("0", canonical.MaxJSON)
	line := []byte(large + ",[1.5" + large + " ]\n")
	var whole, cut canonical.Adder
	whole.Reset(canonical.TypesOf(columns, ""))
	cut.Reset(canonical.TypesOf(columns, ""))
	whole.Line(line)
	parts{&cut, rand.New(rand.NewPCG(1, 1))}.Line(line)
	if want := rowsum.Of(line); whole.Canonical != want || cut.Canonical != want {
		t.Error("it is not as it is")
	}
}

// TestAdderSystems has fields as a system prints them, most of which do not need to be read.
func TestAdderSystems(t *testing.T) {
	jsonb := []source.Column{
		{Name: "i", Logical: typeOf(t, "int32")}, {Name: "j", Type: "jsonb", Logical: typeOf(t, "json")},
	}
	float := []source.Column{{Name: "i"}, {Name: "f", Logical: typeOf(t, "float64")}}
	numeric := []source.Column{{Name: "i"}, {Name: "n", Type: "numeric", Logical: typeOf(t, "decimal")}}
	money := []source.Column{
		{Name: "i", Logical: typeOf(t, "int32")}, {Name: "m", Logical: typeOf(t, "decimal(10,2)")},
	}
	years := []source.Column{{Name: "i", Type: "year(4)", Logical: typeOf(t, "int16")}, money[1]}
	times := []source.Column{{Name: "c", Logical: typeOf(t, "time")}, {Name: "t", Logical: typeOf(t, "timestamp")}}
	moments := []source.Column{{Name: "i"}, {Name: "t", Logical: typeOf(t, "instant(3)")}, {Name: "s"}}
	for _, test := range []struct {
		printed    source.Dialect
		columns    []source.Column
		line, want string
	}{
		{source.PostgreSQL, jsonb, `1,1.50`, `1,1.5`},
		{source.PostgreSQL, jsonb, `1,0.0`, `1,0`},
		{source.PostgreSQL, jsonb, `1,"[1.0, 2]"`, `1,"[1, 2]"`},
		{source.PostgreSQL, jsonb, `1,"{""a"": 1.20}"`, `1,"{""a"": 1.2}"`},
		{source.PostgreSQL, jsonb, `1,"{""v1.0, b"": [0.10, 1.5]}"`, `1,"{""v1.0, b"": [0.1, 1.5]}"`},
		{source.PostgreSQL, jsonb, `1,"""1.0, 1.0"""`, `1,"""1.0, 1.0"""`},
		{
			source.PostgreSQL, jsonb,
			`1.50,"{""a"": ""1.50"", ""b"": 1.05, ""c"": 10}"`, `1.50,"{""a"": ""1.50"", ""b"": 1.05, ""c"": 10}"`,
		},
		{source.PostgreSQL, jsonb, `1,`, `1,`},
		{source.PostgreSQL, numeric, `1.50,1000`, `1.50,1000`},
		{source.PostgreSQL, numeric, `1.50,10.010`, `1.50,10.01`},
		{source.PostgreSQL, numeric, `1.5,-0.500`, `1.5,-0.5`},
		{source.PostgreSQL, numeric, `1.50,NaN`, `1.50,NaN`},
		{source.MariaDB, money, `7,-0.00`, `7,0.00`},
		{source.MariaDB, money, `7,0012.50`, `7,12.50`},
		{source.MariaDB, years, `0000,12.50`, `0,12.50`},
		{source.MariaDB, money, `-7,12.5`, `-7,12.50`},
		{source.MariaDB, times, `01:02:03.500,2026-01-02 03:04:10`, `01:02:03.5,2026-01-02 03:04:10`},
		{source.MariaDB, times, `-01:02:10,2026-01-02 03:04:05.000`, `-01:02:10,2026-01-02 03:04:05`},
		{source.MariaDB, moments, `7,2026-01-02 03:04:05.120,x`, `7,2026-01-02 03:04:05.12+00,x`},
		{source.MariaDB, moments, `7,2026-01-02 03:04:05.000,x`, `7,2026-01-02 03:04:05+00,x`},
		{source.MariaDB, moments, `7,2026-01-02 03:04:10,x`, `7,2026-01-02 03:04:10+00,x`},
		{source.MariaDB, moments, `7,0000-00-00 00:00:00,x`, `7,0000-00-00 00:00:00+00,x`},
		{source.MariaDB, moments, `7,2026-02-29 03:04:05,x`, `7,2026-02-29 03:04:05,x`},
		{source.MariaDB, moments, `7,,x`, `7,,x`},
		{source.PostgreSQL, jsonb, `1,""`, `1,""`},
		{source.SQLite, float, `1,1.0`, `1,1`},
		{source.SQLite, float, `1,10000000000000000.0`, `1,1e+16`},
		{source.SQLite, float, `1,-9.0e+999`, `1,-Infinity`},
		{source.MySQL, float, `1,1e+23`, `1,9.999999999999999e+22`},
		{source.MariaDB, float, `1,100000.5`, `1,100000.5`},
	} {
		var whole, cut canonical.Adder
		whole.Reset(canonical.TypesOf(test.columns, test.printed))
		cut.Reset(canonical.TypesOf(test.columns, test.printed))
		whole.Line([]byte(test.line + "\n"))
		parts{&cut, rand.New(rand.NewPCG(1, 1))}.Line([]byte(test.line + "\n"))
		if sum := rowsum.Of([]byte(test.want + "\n")); whole.Canonical != sum || cut.Canonical != sum {
			t.Errorf("%s: %s is not summed up as %s: whole %t, in parts %t", test.printed, test.line, test.want,
				whole.Canonical == sum, cut.Canonical == sum)
		}
	}
}

// TestAdderMemory has JSON that is small as text, but large otherwise: of many members, and of numbers with exponents.
func TestAdderMemory(t *testing.T) {
	const members, numbers = 149000, 100000
	columns := []source.Column{{Name: "j", Logical: typeOf(t, "json")}}
	for _, line := range []string{
		`"{` + strings.Repeat(`"""":1,`, members) + `"""":2}"`,
		`"[` + strings.Repeat("1e131000,", numbers) + `1]"`,
	} {
		if len(line) > canonical.MaxJSON {
			t.Fatalf("%d bytes are too many", len(line))
		}
		var before, after runtime.MemStats
		var sum canonical.Adder
		sum.Reset(canonical.TypesOf(columns, ""))
		runtime.ReadMemStats(&before)
		sum.Line([]byte(line + "\n"))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 40*canonical.MaxJSON {
			t.Errorf("%.10s… takes %d MiB, with what has grown", line, got>>20)
		}
	}
}

func TestAllocations(t *testing.T) {
	columns := orders(t)
	var sum canonical.Adder
	types := canonical.TypesOf(columns, "")
	line := []byte(`a,01.50,x,"{""b"":1,""a"":[1e2,""\n""],""a"":2}",2026-01-02 03:04:05+01,\xAB,x,1.50e3` + "\n")
	testkit.Allocs(t, 0, func() {
		sum.Reset(types)
		sum.Line(line)
		sum.Part(line[:40])
		sum.Part(line[40:])
		sum.EndLine()
	})
}

func FuzzTexts(f *testing.F) {
	for i, one := range printed {
		f.Add(uint8(i), []byte(one.text(rand.New(rand.NewPCG(1, uint64(i))))))
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		one := printed[int(kind)%len(printed)]
		logical := typeOf(t, one.logical)
		var values canonical.Values
		got := bytes.Clone(values.Text(logical, text))
		if again := values.Text(logical, got); !bytes.Equal(again, got) {
			t.Errorf("%s: %q is %q, and that is %q", one.logical, text, got, again)
		}
		if logical.Class == source.JSONClass && !bytes.Equal(got, text) {
			expectEqualJSON(t, text, got)
		}
	})
}

// expectEqualJSON compares what another parser makes of JSON. Numbers are compared as far as float64 tells them.
func expectEqualJSON(t *testing.T, text, canonical []byte) {
	t.Helper()
	var want, got any
	err := stdjson.Unmarshal(text, &want)
	if err != nil && strings.Contains(err.Error(), "cannot unmarshal number") {
		return // out of the range of float64
	}
	if err := stdjson.Unmarshal(canonical, &got); err != nil {
		t.Errorf("%q becomes %q: %v", text, canonical, err)
	}
	if err != nil || !reflect.DeepEqual(got, want) && !strings.Contains(string(text), "-0") {
		t.Errorf("%q becomes %q: %v", text, canonical, err)
	}
}

func BenchmarkLine(b *testing.B) {
	const document = `"{""id"": 17, ""name"": ""a name of some length"", ""tags"": [""a"", ""b""], ` +
		`""mail"": ""a.name@example.com"", ""price"": 1.5, ""open"": true}"`
	object := source.Type{Class: source.JSONClass}
	order := []source.Column{
		{Name: "id", Logical: typeOf(b, "int64")},
		{Name: "name"},
		{Name: "mail"},
		{Name: "price", Type: "numeric", Logical: typeOf(b, "decimal")},
		{Name: "made", Logical: typeOf(b, "timestamp")},
		{Name: "state"},
	}
	const ordered = `1234567,a name of some length,a.name@example.com,%s,2026-01-02 03:04:05.123456,open`
	// Of 160 bytes, as many tables have.
	sale := func(document, created, jsonType string) (string, []source.Column) {
		line := `93749,396105,"paper market, river ""bridge"" 25823d0a4ec3d2055c39a81f837a6576",82203.82,` +
			`2023-09-21 11:30:41.749` + created + `,0,` + document + `,window stone`
		return line, []source.Column{
			{Name: "id", Type: "bigint", Logical: typeOf(b, "int64")},
			{Name: "customer", Type: "int", Logical: typeOf(b, "int32")},
			{Name: "title", Type: "text", Logical: typeOf(b, "string")},
			{Name: "amount", Logical: typeOf(b, "decimal(12,2)")},
			{Name: "created", Logical: typeOf(b, "instant(3)")},
			{Name: "done", Type: "tinyint", Logical: typeOf(b, "int16")},
			{Name: "attributes", Type: jsonType, Logical: object},
			{Name: "note", Type: "text", Logical: typeOf(b, "string")},
		}
	}
	const spaced = `"{""n"": 924, ""tag"": ""copper""}"`
	const compact = `"{""n"":924,""tag"":""copper""}"`
	const unordered = `"{""tag"": ""copper"", ""n"": 924}"`
	salePG, columnsPG := sale(spaced, "+00", "jsonb")
	saleMaria, columnsMaria := sale(spaced, "", "longtext")
	saleCompact, _ := sale(compact, "", "longtext")
	saleUnordered, _ := sale(unordered, "", "longtext")
	for _, one := range []struct {
		name, line string
		columns    []source.Column
		printed    source.Dialect
	}{
		{name: "sale text", columns: columnsPG[2:3], line: salePG},
		{name: "sale postgres", printed: source.PostgreSQL, columns: columnsPG, line: salePG},
		{name: "sale mariadb", printed: source.MySQL, columns: columnsMaria, line: saleMaria},
		{name: "sale mariadb compact", printed: source.MySQL, columns: columnsMaria, line: saleCompact},
		{name: "sale mariadb unordered", printed: source.MySQL, columns: columnsMaria, line: saleUnordered},
		{name: "all", columns: orders(b), line: `a,01.50,x,"{""b"":1,""a"":[1e2,""\n""],""a"":2}",` +
			`2026-01-02 03:04:05+01,\xab,x,1.50`},
		{name: "json", columns: []source.Column{{Name: "j", Logical: object}}, line: document},
		{
			name: "jsonb", printed: source.PostgreSQL, line: "17,a name," + document,
			columns: []source.Column{{Name: "i"}, {Name: "s"}, {Name: "j", Type: "jsonb", Logical: object}},
		},
		{name: "text", columns: order[1:3], line: fmt.Sprintf(ordered, "1234.56")},
		{name: "numeric", printed: source.PostgreSQL, columns: order, line: fmt.Sprintf(ordered, "1234.56")},
		{name: "numeric zeros", printed: source.PostgreSQL, columns: order, line: fmt.Sprintf(ordered, "1234.50")},
		{name: "mariadb", printed: source.MariaDB, columns: order, line: fmt.Sprintf(ordered, "1234.56")},
		{name: "sqlite", printed: source.SQLite, columns: order, line: fmt.Sprintf(ordered, "1234.56")},
	} {
		b.Run(one.name, func(b *testing.B) {
			line := []byte(one.line + "\n")
			var sum canonical.Adder
			sum.Reset(canonical.TypesOf(one.columns, one.printed))
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				sum.Line(line)
			}
		})
	}
}
