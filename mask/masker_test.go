package mask_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/internal/testkit"
	"culvert/mask"
	"culvert/source"
)

const keyText = "CULVERT-MASK-KEY-1-000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

func testKey(t testing.TB, text string) *mask.Key {
	t.Helper()
	k, err := mask.ParseKey([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func column(t testing.TB, typ, logical string) source.Column {
	t.Helper()
	c := source.Column{Name: "c", Type: typ}
	if logical != "" {
		var err error
		if c.Logical, err = source.ParseType(logical); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func rule(t testing.TB, text string) mask.Rule {
	t.Helper()
	r, err := mask.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// masked returns what becomes of values of a column.
func masked(t testing.TB, k *mask.Key, c source.Column, text string, kind source.Kind, values ...string) ([]string,
	error,
) {
	t.Helper()
	m, err := mask.NewMasker(k, []source.Column{c}, []mask.Rule{rule(t, text)})
	if err != nil {
		return nil, err
	}
	var src, dst source.Batch
	src.Reset(1)
	for _, v := range values {
		src.Append(kind, []byte(v))
		src.EndRow()
	}
	if err := m.Mask(&dst, &src); err != nil {
		return nil, err
	}
	all := make([]string, dst.Rows())
	for i := range all {
		_, v := dst.Value(i, 0)
		all[i] = string(v)
	}
	return all, nil
}

func mustMask(t testing.TB, c source.Column, text string, kind source.Kind, values ...string) []string {
	t.Helper()
	all, err := masked(t, testKey(t, keyText), c, text, kind, values...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}

// TestValues holds what each rule makes of values with one key: they must never change, since the next run must make
// the same.
func TestValues(t *testing.T) {
	for _, test := range []struct{ rule, typ, logical, value, want string }{
		{"fixed none", "text", "string", "x", "none"},
		{"keep first 2", "text", "string", "münster", "mü*****"},
		{"keep last 4", "text", "string", "4111111111111111", "************1111"},
		{"keep last 4", "text", "string", "1234", "****"},
		{"year", "date", "date", "2024-05-17", "2024-01-01"},
		{"month", "timestamptz", "instant", "2024-05-17 13:14:15.123+02", "2024-05-01 00:00:00+02"},
		{"year", "date", "date", "infinity", "infinity"},
		{"year", "date", "date", "0044-03-15 BC", "0044-01-01 BC"},
		{"round 100", "int", "int32", "-1299", "-1200"},
		{"round 10", "numeric(10,2)", "decimal(10,2)", "123.45", "120.00"},
		{"round 10", "numeric", "decimal", "0.45", "0.00"},
		{"round 10", "float8", "float64", "1e+20", "1e+20"},
		{
			"json $.a: fixed x, $.b[*].c: fixed y", "jsonb", "json",
			`{"a": "1", "b": [{"c": 2, "d": 3}, {"c": null}], "e": "a"}`,
			`{"a": "x", "b": [{"c": "y", "d": 3}, {"c": null}], "e": "a"}`,
		},
		{
			"json $.a: fixed x", "jsonb", "json", `{"a": {"b": [1, "2", true, {}]}, "\u0061": 1}`,
			`{"a": {"b": ["x", "x", null, {}]}, "\u0061": "x"}`,
		},
		{"hash", "int", "int32", "0", "0"},
		{"hash", "numeric", "decimal", "NaN", "NaN"},
		{"email", "text", "string", "", ""},

		{"hash", "int", "int32", "42", "32212"},
		{"hash", "bigint", "int64", "-5000000000", "-3354513073333061708"},
		{"hash", "numeric(10,2)", "decimal(10,2)", "12.50", "264.48"},
		{"hash", "numeric", "decimal", "123456789012345678901234567890.5", "265672967696900931095027302738.9"},
		{"hash", "text", "string", "secret", "ghlrx7osi3faxyzeu7dabc3a7m"},
		{"hash", "varchar(20)", "string(20)", "secret", "ghlrx7osi3faxyzeu7da"},
		{"hash", "uuid", "uuid", "5e3c9b1a-0b1d-4f0e-9d3e-1b2a3c4d5e6f", "fc68c0b9-6f26-46bc-bb8d-aaa5a2190c02"},
		{"hash", "bytea", "bytes", "\x01\x02\x03", "\xbb\xf9\x9f"},
		{"hash", "date", "date", "1980-02-29", "1954-06-27"},
		{"email", "text", "string", "Anna.Meier@firma.de", "ysugsjjjeaih32dr@example.com"},
		{"name", "text", "string", "Anna Meier", "Alexandra Powers"},
		{"name last", "varchar(4)", "string(4)", "Meier", "Wall"},
		{"address", "text", "string", "Hauptstraße 5, Münster", "85 Brooksburgh, Wichita"},
		{"digits", "text", "string", "+49 (170) 123-4567", "+10 (093) 790-9304"},
		{"digits", "text", "string", "4111 1111 1111 1111", "4598 9178 8453 0143"},
		{"digits", "text", "string", "DE89 3704 0044 0532 0130 00", "DE57 0648 2067 4063 8304 12"},
		{"text", "text", "string", "Straße 17, Łódź 東京", "Tftlÿl 87, Őàlŷ 摔䱁"},
		{"shift 30", "timestamp", "timestamp", "2024-05-17 13:14:15.123", "2024-06-01 13:14:15.123"},
		{"noise 10%", "int", "int32", "100000", "99204"},
		{"noise 10%", "float8", "float64", "0.5", "0.532317"},
		{"json $.e: email", "text", "string", `{"e": "a\u0062@c.de"}`, `{"e": "eo7k37tmvotzmybz@example.com"}`},
	} {
		c := column(t, test.typ, test.logical)
		kind := source.Text
		switch c.Logical.Class {
		case source.IntClass, source.FloatClass, source.DecimalClass:
			kind = source.Number
		case source.BytesClass:
			kind = source.Bytes
		case source.JSONClass:
			kind = source.JSON
		default:
		}
		if got := mustMask(t, c, test.rule, kind, test.value)[0]; got != test.want {
			t.Errorf("%s of %s: %q becomes %q, want %q", test.rule, test.typ, test.value, got, test.want)
		}
	}
}

// TestSame shows that a value becomes the same in columns of other types, so that foreign keys hold.
func TestSame(t *testing.T) {
	for _, v := range []string{"1", "-7", "32767", "32768", "70000", "2147483647"} {
		small := mustMask(t, column(t, "int", "int32"), "hash", source.Number, v)[0]
		for _, other := range []source.Column{
			column(t, "bigint", "int64"), column(t, "numeric", "decimal"),
			{Name: "d"},
		} {
			if got := mustMask(t, other, "hash", source.Number, v)[0]; got != small {
				t.Errorf("%s becomes %s as int, and %s as %s", v, small, got, other.Type)
			}
		}
	}
	upper := mustMask(t, column(t, "uuid", "uuid"), "hash", source.Text, "5E3C9B1A-0B1D-4F0E-9D3E-1B2A3C4D5E6F")
	lower := mustMask(t, column(t, "char(36)", "char(36)"), "hash", source.Text, "5e3c9b1a-0b1d-4f0e-9d3e-1b2a3c4d5e6f")
	if upper[0] != lower[0] {
		t.Errorf("a UUID becomes %s and %s", upper, lower)
	}
	shouted := mustMask(t, column(t, "text", "string"), "hash", source.Text, "5E3C9B1A-0B1D-4F0E-9D3E-1B2A3C4D5E6F")
	if shouted[0] == lower[0] || len(shouted[0]) != len(lower[0]) {
		t.Errorf("texts that differ in case become %s and %s", shouted, lower)
	}
	for _, c := range []source.Column{column(t, "numeric", "decimal"), column(t, "numeric(10,2)", "decimal(10,2)")} {
		all := mustMask(t, c, "hash", source.Number, "1.5", "1.50", "+1.500")
		if !strings.HasPrefix(all[1], all[0]) || !strings.HasPrefix(all[2], all[0]) {
			t.Errorf("hash of %s: equal numbers become %s", c.Type, all)
		}
		// The noise is the same, and cut off after the digits that each of them has.
		all = mustMask(t, c, "noise 50%", source.Number, "1500", "1500.00", "+1500.0000")
		if whole, _, _ := strings.Cut(all[1], "."); all[0] != whole && all[0] != next(t, whole) ||
			!strings.HasPrefix(all[2], whole+".") {
			t.Errorf("noise of %s: equal numbers become %s", c.Type, all)
		}
	}
	inJSON := mustMask(t, column(t, "jsonb", "json"), "json $.n: digits", source.JSON, `{"n": 4711}`)[0]
	plain := mustMask(t, column(t, "int", "int32"), "digits", source.Number, "4711")[0]
	if inJSON != `{"n": `+plain+`}` {
		t.Errorf("4711 becomes %s, and in a document %s", plain, inJSON)
	}
	padded := mustMask(t, column(t, "char(30)", "char(30)"), "email", source.Text, "a@b.c   ")
	if plain := mustMask(t, column(t, "text", "string"), "email", source.Text, "a@b.c"); padded[0] != plain[0] {
		t.Errorf("a padded text becomes %s, and %s without spaces", padded, plain)
	}
}

// next returns the number after a whole one.
func next(t *testing.T, whole string) string {
	t.Helper()
	n, err := strconv.Atoi(whole)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(n + 1)
}

// TestInjective masks every value of small domains.
func TestInjective(t *testing.T) {
	domain := func(n int, of func(i int) string) (all []string) {
		for i := range n {
			all = append(all, of(i))
		}
		return all
	}
	for _, test := range []struct {
		name, rule, typ, logical string
		kind                     source.Kind
		values                   []string
		keeps                    string
	}{
		{"smallint", "hash", "smallint", "int16", source.Number, domain(65535,
			func(i int) string { return fmt.Sprint(i - 32767) }), `^-?\d{1,5}$`},
		{"tinyint", "hash", "tinyint(3) unsigned", "int16", source.Number, domain(256,
			func(i int) string { return fmt.Sprint(i) }), `^([01]?\d?\d|2[0-4]\d|25[0-5])$`},
		{"days", "hash", "date", "date", source.Text, domain(28*12*150, func(i int) string {
			return fmt.Sprintf("%04d-%02d-%02d", 1880+i/336, i/28%12+1, i%28+1)
		}), `^\d{4}-\d\d-\d\d$`},
		{"text", "text", "text", "string", source.Text, domain(26*260, func(i int) string {
			return string([]byte{'A' + byte(i/260), '-', 'a' + byte(i/10%26), '0' + byte(i%10)})
		}), `^[A-Z]-[a-z]\d$`},
		{"cyrillic", "text", "text", "string", source.Text, domain(48,
			func(i int) string { return string(rune(0x400 + i)) }), `^.$`},
		{"cards", "digits", "text", "string", source.Text, domain(100000,
			func(i int) string { return fmt.Sprintf("400000%010d", i) }), `^\d{16}$`},
		{"accounts", "digits", "text", "string", source.Text, domain(100000,
			func(i int) string { return fmt.Sprintf("NO%02d1234%07d", i%100, i) }), `^[A-Z]{2}\d{13}$`},
		{"bytes", "hash", "bytea", "bytes", source.Bytes, domain(65536,
			func(i int) string { return string([]byte{byte(i), byte(i >> 8)}) }), `(?s)^.+$`},
		{"large", "hash", "numeric", "decimal", source.Number, domain(2000,
			func(i int) string { return fmt.Sprintf("1844674407370955%04d", i+2000) }), `^[1-9]\d{19}$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			keeps := regexp.MustCompile(test.keeps)
			seen, equal := map[string]string{}, 0
			for i, got := range mustMask(t, column(t, test.typ, test.logical), test.rule, test.kind, test.values...) {
				if other, is := seen[got]; is {
					t.Fatalf("%q and %q become %q", other, test.values[i], got)
				}
				seen[got] = test.values[i]
				if !keeps.MatchString(got) && test.kind != source.Bytes {
					t.Fatalf("%q becomes %q, which is no such value", test.values[i], got)
				}
				if got == test.values[i] {
					equal++
				}
			}
			if equal > len(test.values)/20+3 {
				t.Errorf("%d of %d values stay", equal, len(test.values))
			}
		})
	}
}

// TestCheckDigits computes the check digits in another way than the package does.
func TestCheckDigits(t *testing.T) {
	isCard := func(text string) bool {
		sum, double := 0, false
		for i := len(text) - 1; i >= 0; i-- {
			if text[i] == ' ' {
				continue
			}
			n := int(text[i] - '0')
			if double {
				n = []int{0, 2, 4, 6, 8, 1, 3, 5, 7, 9}[n]
			}
			sum, double = sum+n, !double
		}
		return sum%10 == 0
	}
	cards := []string{"4111 1111 1111 1111", "5500000000000004", "340000000000009", "6011000000000004", "4222222222222"}
	for i, got := range mustMask(t, column(t, "text", "string"), "digits", source.Text, cards...) {
		if !isCard(cards[i]) || !isCard(got) || len(got) != len(cards[i]) || got == cards[i] {
			t.Errorf("the card %s becomes %s", cards[i], got)
		}
	}
	if got := mustMask(t, column(t, "text", "string"), "digits", source.Text, "4111111111111112")[0]; isCard(got) {
		t.Errorf("a number that is no card becomes the card %s", got)
	}
	isIBAN := func(text string) bool {
		text = strings.ReplaceAll(text, " ", "")
		rest := 0
		for _, r := range text[4:] + text[:4] {
			n := strings.IndexRune("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", r)
			for _, digit := range fmt.Sprint(n) {
				rest = (rest*10 + int(digit-'0')) % 97
			}
		}
		return rest == 1
	}
	accounts := []string{
		"DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "FR1420041010050500013M02606",
		"MT84MALT011000012345MTLCAST001S", "NO9386011117947",
	}
	for i, got := range mustMask(t, column(t, "text", "string"), "digits", source.Text, accounts...) {
		if !isIBAN(accounts[i]) || !isIBAN(got) || got[:2] != accounts[i][:2] || got == accounts[i] ||
			len(got) != len(accounts[i]) {
			t.Errorf("the account %s becomes %s", accounts[i], got)
		}
	}
}

// TestKeys shows that another key has nothing in common, and that the text of a key is never shown.
func TestKeys(t *testing.T) {
	one, other := testKey(t, keyText), testKey(t, strings.Replace(keyText, "0001", "ff01", 1))
	if a, b := mask.GenerateKey(), mask.GenerateKey(); a.Fingerprint() == b.Fingerprint() {
		t.Error("two keys are the same")
	}
	var values []string
	for i := range 1000 {
		values = append(values, fmt.Sprintf("person%d@firma.de", i))
	}
	for _, text := range []string{"hash", "email", "text", "digits"} {
		first, err := masked(t, one, column(t, "text", "string"), text, source.Text, values...)
		if err != nil {
			t.Fatal(err)
		}
		second, err := masked(t, other, column(t, "text", "string"), text, source.Text, values...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range first {
			if first[i] == second[i] || first[i] == values[i] {
				t.Errorf("%s: %q becomes %q, and %q with another key", text, values[i], first[i], second[i])
			}
		}
	}
	if one.Fingerprint() == other.Fingerprint() || len(one.Fingerprint()) != 16 {
		t.Errorf("the fingerprints are %s and %s", one.Fingerprint(), other.Fingerprint())
	}
	again := testKey(t, "# a comment\n\n"+other.Text())
	if again.Fingerprint() != other.Fingerprint() {
		t.Error("a key that is written and read is another one")
	}
	secret := strings.TrimSpace(strings.TrimPrefix(other.Text(), "CULVERT-MASK-KEY-1-"))
	for _, shown := range []string{fmt.Sprint(other), fmt.Sprintf("%+v %#v %s", other, other, other)} {
		if strings.Contains(shown, secret) {
			t.Errorf("the key is shown: %s", shown)
		}
	}
	for _, text := range []string{
		"", "x", keyText[:40], keyText + "00", keyText + "\n" + keyText,
		"CULVERT-MASK-KEY-1-zz",
	} {
		if _, err := mask.ParseKey([]byte(text)); err == nil || text != "" && len(text) > 20 &&
			strings.Contains(err.Error(), text[20:]) {
			t.Errorf("the text %.30q is read with the error %v", text, err)
		}
	}
}

func TestUnsuitable(t *testing.T) {
	for _, test := range []struct{ rule, typ, logical, value, want string }{
		{"email", "varchar(20)", "string(20)", "", "needs 28 characters"},
		{"email", "int", "int32", "", "cannot mask the type int"},
		{"hash", "timestamp", "timestamp", "", "cannot mask"},
		{"text", "text[]", "list(string)", "", "cannot mask"},
		{"fixed x", "int", "int32", "", "no value of the type"},
		{"fixed abc", "varchar(2)", "string(2)", "", "longer than 2"},
		{"year", "text", "string", "tomorrow", "no date"},
		{"round 10", "text", "string", "many", "no number"},
		{"json $.a: email", "text", "string", "{", "no JSON"},
	} {
		_, err := masked(t, testKey(t, keyText), column(t, test.typ, test.logical), test.rule, source.Text, test.value)
		if err == nil || !strings.Contains(err.Error(), test.want) || test.value != "{" && test.value != "" &&
			strings.Contains(err.Error(), test.value) {
			t.Errorf("%s of %s: the error is %v, want %q", test.rule, test.typ, err, test.want)
		}
	}
}

// TestNoise stays within its bounds, in the value and in the type.
func TestNoise(t *testing.T) {
	var values []string
	for i := range 2000 {
		values = append(values, fmt.Sprint(30000+i))
	}
	for i, got := range mustMask(t, column(t, "smallint", "int16"), "noise 10%", source.Number, values...) {
		var n int
		if _, err := fmt.Sscan(got, &n); err != nil || n > 32767 || n < (30000+i)*9/10 {
			t.Fatalf("%s becomes %s", values[i], got)
		}
	}
}

func TestLongText(t *testing.T) {
	long := strings.Repeat("Größe 12; ", 5000)
	got := mustMask(t, column(t, "text", "string"), "text", source.Text, long, long+"x", "y"+long)
	for i, value := range []string{long, long + "x", "y" + long} {
		if len(got[i]) != len(value) || utf8.RuneCountInString(got[i]) != utf8.RuneCountInString(value) ||
			strings.Contains(got[i], "Größe") {
			t.Errorf("a text of %d bytes becomes one of %d", len(value), len(got[i]))
		}
	}
}

// TestLent masks rows whose values are not copied.
func TestLent(t *testing.T) {
	m, err := mask.NewMasker(testKey(t, keyText), []source.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		[]mask.Rule{rule(t, "email"), {}, rule(t, "hash")})
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), source.BatchSize+1)
	var src, lent, dst, plain source.Batch
	for _, b := range []*source.Batch{&lent, &dst} {
		b.SetLending(true)
	}
	lent.Reset(3)
	src.Reset(3)
	for _, v := range [][]byte{[]byte("a@b.c"), large, nil} {
		if v == nil {
			lent.Lend(source.Null, nil)
			src.AppendNull()
		} else {
			lent.Lend(source.Text, v)
			src.Append(source.Text, v)
		}
	}
	lent.EndRow()
	src.EndRow()
	if err := m.Mask(&dst, &lent); err != nil {
		t.Fatal(err)
	}
	if err := m.Mask(&plain, &src); err != nil {
		t.Fatal(err)
	}
	for column := range 3 {
		kind, value := plain.Value(0, column)
		gotKind, got := dst.AnyValue(0, column)
		if kind != gotKind || !bytes.Equal(value, got) {
			t.Errorf("column %d: got %v, want %v", column, gotKind, kind)
		}
	}
}

// TestAllocs masks a batch again and again without garbage.
func TestAllocs(t *testing.T) {
	rules := []string{
		"hash", "email", "name", "digits", "text", "keep last 2", "year", "shift 9", "hash", "round 10",
		"noise 5%", "fixed x",
	}
	values := []string{
		"secret", "a@b.de", "Anna Meier", "4111111111111111", "Straße", "abc", "2024-05-17",
		"2024-05-17", "77", "77", "77", "y",
	}
	var columns []source.Column
	var all []mask.Rule
	var src, dst source.Batch
	src.Reset(len(rules))
	for i, text := range rules {
		kind := source.Text
		c := source.Column{Name: text}
		if values[i] == "77" {
			kind, c = source.Number, column(t, "int", "int32")
		}
		columns, all = append(columns, c), append(all, rule(t, text))
		src.Append(kind, []byte(values[i]))
	}
	src.EndRow()
	m, err := mask.NewMasker(testKey(t, keyText), columns, all)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Allocs(t, 0, func() {
		if err := m.Mask(&dst, &src); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzValues checks of any value that masks keep its shape, and that it is masked in the same way again.
func FuzzValues(f *testing.F) {
	for _, v := range []string{
		"a@b.de", "4111 1111 1111 1111", "2024-05-17", "-12.50", `{"a": [1, "b"]}`, "Łódź",
		"GB29NWBK60161331926819", "\xff",
	} {
		f.Add(v)
	}
	k := testKey(f, keyText)
	f.Fuzz(func(t *testing.T, value string) {
		for _, text := range []string{
			"hash", "email", "name", "digits", "text", "keep first 3", "year", "shift 5",
			"round 7", "noise 3%", "json $.*: text",
		} {
			for _, kind := range []source.Kind{source.Text, source.Number, source.Bytes, source.JSON} {
				c := source.Column{Name: "c"}
				got, err := masked(t, k, c, text, kind, value, value)
				if err != nil {
					continue
				}
				if got[0] != got[1] {
					t.Fatalf("%s: %q becomes %q and %q", text, value, got[0], got[1])
				}
				if text == "text" && (len(got[0]) != len(value) || utf8.ValidString(value) &&
					!utf8.ValidString(got[0])) {
					t.Fatalf("%q becomes %q, which has another length", value, got[0])
				}
				if kind == source.JSON && !json.Valid([]byte(got[0])) {
					t.Fatalf("%q becomes %q, which is no JSON", value, got[0])
				}
			}
		}
	})
}

func BenchmarkMask(b *testing.B) {
	for _, text := range []string{"email", "name", "digits", "text", "hash"} {
		b.Run(text, func(b *testing.B) {
			m, err := mask.NewMasker(testKey(b, keyText), []source.Column{{Name: "c"}}, []mask.Rule{rule(b, text)})
			if err != nil {
				b.Fatal(err)
			}
			var src, dst source.Batch
			src.Reset(1)
			const rows = 1000
			for i := range rows {
				src.Append(source.Text, fmt.Appendf(nil, "+49 170 %d", 1000000+i))
				src.EndRow()
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := m.Mask(&dst, &src); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/value")
		})
	}
}
