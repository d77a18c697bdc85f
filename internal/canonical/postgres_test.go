package canonical_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/canonical"
	"culvert/internal/rowsum"
	"culvert/internal/testkit"
	"culvert/source"
)

// typeOf returns the type with a text.
func typeOf(tb testing.TB, text string) source.Type {
	tb.Helper()
	t, err := source.ParseType(text)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// printed are types of PostgreSQL, and texts that other systems print of such values, at random.
var printed = []struct {
	logical, sql string
	text         func(r *rand.Rand) string
}{
	{"bool", "boolean", func(r *rand.Rand) string { return oneOf(r, "t", "f", "true", "false", "1", "0") }},
	{"int32", "integer", func(r *rand.Rand) string { return sign(r) + oneOf(r, "", "0", "000") + digits(r, 9) }},
	{"int64", "bigint", func(r *rand.Rand) string { return sign(r) + digits(r, 18) }},
	{"decimal(30,5)", "numeric(30,5)", func(r *rand.Rand) string {
		return sign(r) + digits(r, 20) + oneOf(r, "", ".0", "."+digits(r, 5), "."+digits(r, 5)+"000")
	}},
	{"decimal(20,0)", "numeric(20,0)", func(r *rand.Rand) string {
		return sign(r) + digits(r, 20) + oneOf(r, "", ".0", ".000", ".")
	}},
	{"decimal(40,20)", "numeric(40,20)", func(r *rand.Rand) string {
		return sign(r) + digits(r, 3) + "." + digits(r, 5) + oneOf(r, "e", "E") + strconv.Itoa(r.IntN(30)-15)
	}},
	{"decimal(2,-3)", "numeric(2,-3)", func(r *rand.Rand) string { return sign(r) + digits(r, 2) + "000" }},
	{"float64", "double precision", func(r *rand.Rand) string { return float(r, 64) }},
	{"float32", "real", func(r *rand.Rand) string { return float(r, 32) }},
	{"char(5)", "char(5)", func(r *rand.Rand) string { return oneOf(r, "", "a", "ä", "aä b", " x") }},
	{"bytes", "bytea", func(r *rand.Rand) string {
		return `\x` + strings.Repeat(oneOf(r, "00", "FF", "aB", "9c"), r.IntN(4))
	}},
	{"date", "date", func(r *rand.Rand) string { return strings.ReplaceAll(day(r), oneOf(r, "-0", "-1x"), "-") }},
	{"time", "time", clock},
	{"timestamp", "timestamp", func(r *rand.Rand) string { return day(r) + oneOf(r, " ", "T") + clock(r) }},
	{"instant", "timestamptz", func(r *rand.Rand) string {
		return day(r) + oneOf(r, " ", "T") + clock(r) +
			oneOf(r, "", "Z", "+00", "+00:00", "+02", "-0930", "+05:45", "+14", "-12:30", "+00:00:01")
	}},
	{"uuid", "uuid", func(r *rand.Rand) string {
		hex := fmt.Sprintf("%016x%016X", r.Uint64(), r.Uint64())
		return oneOf(r, hex, hex[:8]+"-"+hex[8:12]+"-"+hex[12:16]+"-"+hex[16:20]+"-"+hex[20:])
	}},
	{"json", "jsonb", func(r *rand.Rand) string { return json(r, 3) }},
}

func oneOf(r *rand.Rand, texts ...string) string { return texts[r.IntN(len(texts))] }

func sign(r *rand.Rand) string { return oneOf(r, "", "", "-", "+") }

func digits(r *rand.Rand, most int) string {
	text := make([]byte, 1+r.IntN(most))
	for i := range text {
		text[i] = oneOf(r, "0123456789", "00000000", "00000009")[r.IntN(8)]
	}
	return string(text)
}

func float(r *rand.Rand, bits int) string {
	switch r.IntN(5) {
	case 0:
		return oneOf(r, "0", "-0", "NaN", "Infinity", "-Infinity", "1e15", "1e23", "1e6", "999999", "1000000",
			"1e-4", "1e-5")
	case 1:
		if bits == 64 {
			return sign(r) + digits(r, 18) + "." + digits(r, 6)
		}
		return sign(r) + digits(r, 3) + "." + digits(r, 3)
	}
	f := (r.Float64() - .5) * pow(10, r.IntN(60)-30)
	if r.IntN(3) == 0 {
		f = math.Trunc(f) // some are halfway between others
	}
	if bits == 32 {
		f = float64(float32(f))
		return oneOf(r, strconv.FormatFloat(f, 'g', -1, 32), strconv.FormatFloat(f, 'g', -1, 64))
	}
	return strconv.FormatFloat(f, "feg"[r.IntN(3)], -1, 64)
}

func pow(base float64, n int) float64 {
	value := 1.0
	for range max(n, -n) {
		value *= base
	}
	if n < 0 {
		return 1 / value
	}
	return value
}

func day(r *rand.Rand) string {
	year := oneOf(r, "0002", "1900", "2000", "2023", "2024", "9998")
	return year + oneOf(r, "-02-28", "-03-01", "-12-31", "-01-01", "-06-30", "-10-09")
}

func clock(r *rand.Rand) string {
	return oneOf(r, "00", "07", "12", "23") + ":" + oneOf(r, "00", "30", "59") +
		oneOf(r, "", ":00", ":59", ":07.0", ":07.000000", ":07.5", ":07.120", ":07.000001")
}

// json returns JSON at random, as no system prints it.
func json(r *rand.Rand, depth int) string {
	var text string
	switch n := r.IntN(9); {
	case n < 3 && depth > 0:
		var members []string
		for range r.IntN(4 + r.IntN(2)*r.IntN(20)) {
			members = append(members, space(r)+jsonString(r)+space(r)+":"+json(r, depth-1))
		}
		text = "{" + strings.Join(members, ",") + space(r) + "}"
	case n == 3 && depth > 0:
		var values []string
		for range r.IntN(4) {
			values = append(values, json(r, depth-1))
		}
		text = "[" + strings.Join(values, ",") + space(r) + "]"
	case n < 6:
		text = jsonString(r)
	case n == 6:
		text = oneOf(r, "true", "false", "null")
	default:
		text = oneOf(r, "", "-") + oneOf(r, "0", "7", "120", strconv.Itoa(r.IntN(1e9))) +
			oneOf(r, "", "", "."+digits(r, 5), ".50") +
			oneOf(r, "", "", oneOf(r, "e", "E")+oneOf(r, "", "+", "-")+digits(r, 2))
	}
	return space(r) + text + space(r)
}

func space(r *rand.Rand) string { return oneOf(r, "", "", "", " ", "\n\t", "\r ") }

func jsonString(r *rand.Rand) string {
	text := `"`
	for range r.IntN(4) {
		text += oneOf(r, "a", "b", "B", "ä", "€", "😀", `\n`, `\"`, `\\`, `\/`, `\u0041`, `\u001f`, `\u00e4`,
			`\ud83d\ude00`, "\x7f", `\b\f\r\t`, `\u007F`, ",", "{", "'")
	}
	return text + `"`
}

// TestPostgres has a server print values at random, in the texts of other systems: they print as their canonical texts.
func TestPostgres(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, tryCast)
	r := rand.New(rand.NewPCG(1, 3))
	for _, one := range printed {
		t.Run(one.logical, func(t *testing.T) {
			logical := typeOf(t, one.logical)
			texts := make([]string, 400)
			for i := range texts {
				texts[i] = one.text(r)
			}
			var values canonical.Values
			for i, want := range cast(t, database, one.sql, texts) {
				if want == "" {
					t.Errorf("the server refuses %q", texts[i])
					continue
				}
				if one.sql == "jsonb" {
					printed := want
					want = withoutZeros(printed)
					expectSum(t, source.Column{Type: one.sql, Logical: logical}, printed, want)
				}
				if got := string(values.Text(logical, []byte(texts[i]))); got != want {
					t.Errorf("%q is %q, and the server prints %q", texts[i], got, want)
				}
				if again := string(values.Text(logical, []byte(want))); again != want {
					t.Errorf("%q, as the server prints it, is %q", want, again)
				}
			}
		})
	}
}

// zeros finds strings of JSON, and zeros at the end of fractions.
var zeros = regexp.MustCompile(`("(?:[^"\\]|\\.)*")|(\.[0-9]*[1-9])0+\b|\.0+\b`)

// withoutZeros returns JSON whose numbers have no zeros at the end of a fraction.
func withoutZeros(printed string) string { return zeros.ReplaceAllString(printed, "$1$2") }

// expectSum sums up a value that a server has printed.
func expectSum(t *testing.T, c source.Column, printed, want string) {
	t.Helper()
	line := func(text string) []byte {
		if strings.ContainsAny(text, `",`) {
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		return []byte(text + "\n")
	}
	var got canonical.Adder
	got.Reset(canonical.TypesOf([]source.Column{c}, source.PostgreSQL))
	got.Line(line(printed))
	if sum := rowsum.Of(line(want)); got.Canonical != sum {
		t.Errorf("%q is not summed up as %q", printed, want)
	}
}

// TestPostgresBroken breaks texts: what is still read as its type prints as the server prints it, or stays as it is.
func TestPostgresBroken(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, tryCast)
	r := rand.New(rand.NewPCG(4, 5))
	for _, one := range printed {
		if strings.Contains(one.logical, "-") {
			continue // the server rounds
		}
		t.Run(one.logical, func(t *testing.T) {
			logical := typeOf(t, one.logical)
			texts := make([]string, 400)
			for i := range texts {
				text := []byte(one.text(r))
				for range 1 + r.IntN(2) {
					at := r.IntN(len(text) + 1)
					more := oneOf(r, "", "0", "9", "-", "+", ".", "e", " ", ":", "x", "{", "]", `"`, ",", `\`, "24")
					text = append(append(text[:at:at], more...), text[min(len(text), at+r.IntN(3)):]...)
				}
				texts[i] = strings.ToValidUTF8(string(text), "?")
			}
			var values canonical.Values
			for i, want := range cast(t, database, one.sql, texts) {
				if one.sql == "jsonb" {
					want = withoutZeros(want)
				}
				got := string(values.Text(logical, []byte(texts[i])))
				if got != texts[i] && got != want && want != "" {
					t.Errorf("%q is %q, and the server prints %q", texts[i], got, want)
				}
				if one.logical == "json" && (got != want && want != "" || want == "" && got != texts[i]) {
					t.Errorf("%q is %q, but as jsonb %q", texts[i], got, want) // which has the same rules for errors
				}
			}
		})
	}
}

const tryCast = `CREATE FUNCTION try_cast(text, kind text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	-- A cast to text would not print as COPY does.
	EXECUTE format('SELECT array_to_string(ARRAY[CAST($1 AS %s)], '''')', kind) INTO result USING $1;
	RETURN result;
EXCEPTION WHEN others THEN RETURN NULL;
END $$`

// cast returns what the server prints of texts as a type; "" for those that it refuses.
func cast(t *testing.T, database *testkit.PostgresDatabase, sql string, texts []string) (printed []string) {
	t.Helper()
	var list []string
	for i, text := range texts {
		list = append(list, fmt.Sprintf("(%d, E'%s')", i, strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text)))
	}
	for _, row := range database.Query(t, "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SELECT try_cast(v, '"+sql+
		"') FROM (VALUES "+strings.Join(list, ", ")+") AS t (i, v) ORDER BY i") {
		printed = append(printed, row[0])
	}
	if len(printed) != len(texts) {
		t.Fatalf("%d texts of %d", len(printed), len(texts))
	}
	return printed
}
