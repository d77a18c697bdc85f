package load_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// randomType is a type of a system with its random values, as SQL.
type randomType struct {
	sql   string
	value func(random *rand.Rand) string // that every system keeps whose tables can have such a column
	odd   []string                       // values that another system may refuse
}

// one returns a value of a type, which is seldom odd.
func (t *randomType) one(random *rand.Rand) (sql string, odd bool) {
	const seldom = 40
	if len(t.odd) > 0 && random.IntN(seldom) == 0 {
		return t.odd[random.IntN(len(t.odd))], true
	}
	return t.value(random), false
}

// randomTypes are the types of each system that others have.
var randomTypes = map[string][]randomType{
	"postgres": {
		{"smallint", randomInt(16, true), nil},
		{"integer", randomInt(32, true), nil},
		{"bigint", randomInt(64, true), nil},
		{"boolean", among("true", "false"), nil},
		{"numeric(10,3)", randomDecimal(7, 3), []string{"'NaN'"}},
		{"numeric(30,0)", randomDecimal(30, 0), []string{"'NaN'"}},
		{"numeric(38,20)", randomDecimal(18, 20), nil},
		{"numeric", randomDecimal(30, 30), []string{"'NaN'", "'Infinity'", "1e400", "1e-400"}},
		{"real", randomFloat(32, "'%s'"), []string{"'-0'", "'NaN'", "'Infinity'", "'-Infinity'"}},
		{"double precision", randomFloat(64, "'%s'"), []string{"'-0'", "'NaN'", "'Infinity'", "'-Infinity'"}},
		{"character(5)", randomText(5, quotedPostgres), nil},
		{"varchar(5)", randomText(5, quotedPostgres), nil},
		{"text", randomText(40, quotedPostgres), nil},
		{"bytea", randomBytes(0, 40, `'\x%x'`), nil},
		{"json", randomJSON, []string{`'"\u0000"'`, `'1e400'`, `'-0'`}},
		{"jsonb", randomJSON, []string{`'1e400'`}},
		{"uuid", randomUUID, nil},
		{"date", randomTime(1, 9999, time.DateOnly), []string{"'0044-03-15 BC'", "'infinity'", "'10000-01-01'"}},
		{"time", randomTime(1, 9999, "15:04:05.999999"), []string{"'24:00'"}},
		{"time(3)", randomTime(1, 9999, "15:04:05.999"), []string{"'24:00'"}},
		{
			"timestamp", randomTime(1, 9999, "2006-01-02 15:04:05.999999"),
			[]string{"'0044-03-15 01:02:03 BC'", "'infinity'", "'10000-01-01'"},
		},
		{
			"timestamptz", randomTime(1971, 2037, "2006-01-02 15:04:05.999999-07:00"),
			[]string{"'-infinity'", "'0001-01-01 00:00:00+00'", "'2038-01-19 03:14:08+00'", "'1970-01-01 00:00:00+00'"},
		},
		{"character varying", randomText(40, quotedPostgres), nil},
		{"timestamp(3)", randomTime(1, 9999, "2006-01-02 15:04:05.999"), nil},
		{"timestamptz(3)", randomTime(1971, 2037, "2006-01-02 15:04:05.999-07:00"), nil},
		{"mood", among("'so so'", "'it''s'", "'é'"), nil},
	},
	"mariadb": {
		{"tinyint", randomInt(8, true), nil},
		{"tinyint unsigned", randomInt(8, false), nil},
		{"smallint", randomInt(16, true), nil},
		{"smallint unsigned", randomInt(16, false), nil},
		{"mediumint", randomInt(24, true), nil},
		{"mediumint unsigned", randomInt(24, false), nil},
		{"int", randomInt(32, true), nil},
		{"int unsigned", randomInt(32, false), nil},
		{"bigint", randomInt(64, true), nil},
		{"bigint unsigned", randomInt(64, false), nil},
		{"bit(1)", among("0", "1"), nil},
		{"bit(20)", randomInt(20, false), nil},
		{"year", among("1901", "2026", "2155"), nil},
		{"decimal(10,3)", randomDecimal(7, 3), nil},
		{"decimal(65,30)", randomDecimal(35, 30), nil},
		{"float", randomFloat(32, "%s"), []string{"-0e0"}},
		{"double", randomFloat(64, "%s"), []string{"-0e0"}},
		{"char(5)", randomText(5, quotedMariaDB), []string{"concat('a', char(0))"}},
		{"varchar(5)", randomText(5, quotedMariaDB), []string{"concat('a', char(0))"}},
		{"text", randomText(40, quotedMariaDB), []string{"concat('a', char(0))"}},
		{"tinytext", randomText(40, quotedMariaDB), nil},
		{"mediumtext", randomText(40, quotedMariaDB), nil},
		{"longtext", randomText(40, quotedMariaDB), nil},
		{"enum('a','b c','é')", among("'a'", "'b c'", "'é'"), nil},
		{"set('a','b c','é')", among("'a'", "'a,é'", "''", "'b c'"), nil},
		{"binary(4)", randomBytes(0, 4, "x'%x'"), nil},
		{"varbinary(6)", randomBytes(0, 6, "x'%x'"), nil},
		{"tinyblob", randomBytes(0, 40, "x'%x'"), nil},
		{"blob", randomBytes(0, 40, "x'%x'"), nil},
		{"mediumblob", randomBytes(0, 40, "x'%x'"), nil},
		{"longblob", randomBytes(0, 40, "x'%x'"), nil},
		{"json", randomJSON, []string{`'"\\u0000"'`, `'1e400'`, `'-0'`}},
		{"uuid", randomUUID, nil},
		{"inet4", among("'0.0.0.0'", "'192.168.7.1'"), nil},
		{"inet6", among("'::'", "'fe80::1:2'", "'::ffff:1.2.3.4'"), nil},
		{"date", randomTime(1, 9999, time.DateOnly), []string{"'0000-00-00'", "'2026-01-00'"}},
		{"time", randomTime(1, 9999, "15:04:05"), []string{"'24:00:00'", "'-01:00:00'", "'838:59:59'"}},
		{"time(6)", randomTime(1, 9999, "15:04:05.999999"), []string{"'24:00:00'", "'-00:00:00.000001'"}},
		{"datetime", randomTime(1, 9999, time.DateTime), []string{"'0000-00-00 00:00:00'", "'2026-00-01 00:00:00'"}},
		{"datetime(3)", randomTime(1, 9999, "2006-01-02 15:04:05.999"), nil},
		{"datetime(6)", randomTime(1, 9999, "2006-01-02 15:04:05.999999"), nil},
		{"timestamp null", randomTime(1971, 2037, time.DateTime), []string{"0"}},
		{"timestamp(3) null", randomTime(1971, 2037, "2006-01-02 15:04:05.999"), []string{"0"}},
	},
	"sqlite": {
		{"INTEGER", randomInt(64, true), []string{"'abc'", "1.5", "x'31'", "9223372036854775808"}},
		{"INT UNSIGNED", randomInt(63, false), []string{"-1", "''"}},
		{"REAL", randomFloat(64, "%s"), []string{"9e999", "-9e999", "'abc'", "x'00'", "-0.0"}},
		{"NUMERIC", randomDecimal(7, 3), []string{"1e300", "'007x'", "x'00'", "9e999", "'1e400'"}},
		{"NUMERIC(10,3)", randomDecimal(7, 3), []string{"1.0001", "12345678.5", "'x'", "1e300"}},
		{"TEXT", randomText(40, quotedSQLite), []string{"x'00'", `'\x00'`, "char(0)", "cast(x'ff' AS text)", "1.50"}},
		{"VARCHAR(5)", randomText(5, quotedSQLite), []string{"'123456'", "'ab    '", "x'6162'", "char(0)"}},
		{"BLOB", randomBytes(0, 40, "x'%x'"), []string{"'text'", `'\x00'`, "7", "-0.0", "1.5", "9e999"}},
		{"BOOLEAN", among("0", "1"), []string{"2", "'t'", "'true'", "'Yes'", "0.5", "x'31'"}},
		{
			"DATE", randomTime(1, 9999, time.DateOnly),
			[]string{
				"'2026-02-30'", "'2026-2-3'", "'now'", "20260102", "''", "'2026-01-02 00:00:00'", "1.5",
				"'infinity'", "'2026/1/2'", "'2026-01-02 00:00:00+02'", "'10000-1-1'", "'0044-03-15 BC'",
			},
		},
		{
			"TIME", randomTime(1, 9999, "15:04:05.999999"),
			[]string{
				"'24:00:00'", "'01:02'", "'01:02:03.1234567'", "'-01:00:00'", "'01:02:03+01'", "7", "'1:02Z'",
				"'-00:00'",
			},
		},
		{
			"DATETIME", randomTime(1, 9999, "2006-01-02 15:04:05.999999"), []string{
				"'2026-01-02T03:04:05Z'", "'2026-01-02 03:04'", "1767225600", "2461000.5", "'2026-01-02 24:00:00'",
				"'2026-01-02 03:04:05+02:00'", "'2026-01-02'", "'2026-01-02 03:04:60'", "'-4000-01-02 00:00:00'",
				"'2026/1/2 3:04'", "'0000-00-00 00:00:00'", "'2026-01-02 03:04:05 +00'", "'12026-01-02 03:04'",
			},
		},
		{
			"TIMESTAMPTZ", randomTime(1971, 2037, "2006-01-02 15:04:05.999999+00:00"), []string{
				"'2026-01-02T03:04:05Z'", "'2026-01-02 03:04:05'", "'2026-03-29 02:30:00+01:00'", "1767225600",
				"'2026-01-02 23:30:00-01:00'", "'2026-01-02 00:30 +05:30'",
			},
		},
		{"UUID", randomUUID, []string{
			"x'00112233445566778899aabbccddeeff'", "'A0EEBC999C0B4EF8BB6D6BB9BD380A11'", "'x'",
			"'{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}'",
		}},
		{"JSON", randomJSON, []string{"'{'", "1.50", "'1e400'", `'"\u0000"'`, "x'31'"}},
	},
}

func among(values ...string) func(random *rand.Rand) string {
	return func(random *rand.Rand) string { return values[random.IntN(len(values))] }
}

// randomInt returns whole numbers of any size, and the least and the greatest ones.
func randomInt(bits int, signed bool) func(random *rand.Rand) string {
	return func(random *rand.Rand) string {
		number := random.Uint64() >> (64 - bits) >> random.IntN(bits)
		switch random.IntN(12) {
		case 0:
			number = math.MaxUint64 >> (64 - bits)
		case 1:
			number = 0
		}
		if !signed {
			return strconv.FormatUint(number, 10)
		}
		half := int64(number >> 1)
		if random.IntN(2) == 0 {
			half = -half - 1
		}
		return strconv.FormatInt(half, 10)
	}
}

// randomDecimal returns numbers of up to so many digits before and after the point.
func randomDecimal(whole, fraction int) func(random *rand.Rand) string {
	return func(random *rand.Rand) string {
		text := ""
		for range random.IntN(whole + 1) {
			text += strconv.Itoa(random.IntN(10))
		}
		if text = strings.TrimLeft(text, "0"); text == "" {
			text = "0"
		}
		if n := random.IntN(fraction + 1); n > 0 {
			text += "."
			for range n {
				text += strconv.Itoa(random.IntN(10))
			}
		}
		if random.IntN(2) == 0 && strings.Trim(text, "0.") != "" {
			text = "-" + text
		}
		return text
	}
}

// randomFloat returns finite numbers of 32 or 64 bits, written with a format, but no zero with a sign.
func randomFloat(bits int, format string) func(random *rand.Rand) string {
	return func(random *rand.Rand) string {
		number := math.Float64frombits(random.Uint64())
		if bits == 32 {
			number = float64(math.Float32frombits(random.Uint32()))
		}
		switch random.IntN(6) {
		case 0:
			number = float64(random.IntN(2_000_000) - 1_000_000)
		case 1:
			number = math.Pow(10, float64(random.IntN(60)-30))
		case 2:
			number = float64(random.IntN(200_000)-100_000) / 1000
		case 3:
			number = math.SmallestNonzeroFloat64
			if bits == 32 {
				number = math.SmallestNonzeroFloat32
			}
		}
		if bits == 32 {
			number = float64(float32(number))
		}
		if math.IsNaN(number) || math.IsInf(number, 0) {
			number = 0
		}
		return fmt.Sprintf(format, strconv.FormatFloat(number, 'e', -1, bits))
	}
}

// randomText returns texts of up to so many pieces of one character.
func randomText(most int, quoted func(string) string) func(random *rand.Rand) string {
	pieces := []string{
		"a", "B", "0", "1", " ", "\t", "\n", "\r", `"`, "'", ",", ";", `\`, "N", "x", ".", "-", "%", "\b", "\x1a",
		"\x7f", "é", "表", "😀", "\u2028", "\ufeff", "t", "e", "\u0301",
	}
	return func(random *rand.Rand) string {
		text := ""
		for range min(random.IntN(most+1), random.IntN(most+1)) {
			text += pieces[random.IntN(len(pieces))]
		}
		return quoted(text)
	}
}

func quotedSQLite(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func quotedPostgres(text string) string {
	return " E" + quotedSQLite(strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(text))
}

func quotedMariaDB(text string) string {
	return quotedSQLite(strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\x1a", `\Z`).Replace(text))
}

// randomBytes returns binary data of such a size, written with a format.
func randomBytes(least, most int, format string) func(random *rand.Rand) string {
	return func(random *rand.Rand) string {
		data := make([]byte, least+random.IntN(most-least+1))
		for i := range data {
			data[i] = byte(random.Uint32() >> random.IntN(32))
		}
		return fmt.Sprintf(format, data)
	}
}

// randomUUID returns one of version 4, since MariaDB takes no others.
func randomUUID(random *rand.Rand) string {
	return fmt.Sprintf("'%08x-%04x-4%03x-8%03x-%012x'", random.Uint32(), random.Uint32()>>16, random.Uint32()>>20,
		random.Uint32()>>20, random.Uint64()>>16)
}

// randomTime returns moments between the beginnings of two years, in a layout.
func randomTime(from, to int, layout string) func(random *rand.Rand) string {
	begin := time.Date(from, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	end := time.Date(to, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	return func(random *rand.Rand) string {
		second := begin + random.Int64N(end-begin)
		switch random.IntN(12) {
		case 0:
			second -= second % (24 * 60 * 60) // midnight, of years after 1970
		case 1:
			second = begin
		}
		const microseconds = 1_000_000
		fraction := random.Int64N(microseconds)
		if random.IntN(2) == 0 {
			fraction -= fraction % 10_000
		}
		east := 0
		if random.IntN(2) == 0 {
			const halves = 12
			east = (random.IntN(2*halves) - halves) * 30 * 60
		}
		at := time.Unix(second, fraction*int64(time.Microsecond)).UTC()
		if strings.HasSuffix(layout, "-07:00") {
			at = at.In(time.FixedZone("", east))
		}
		return "'" + at.Format(layout) + "'"
	}
}

// randomJSON returns JSON without a backslash or a quote of SQL, which reads the same in all systems.
func randomJSON(random *rand.Rand) string { return "'" + jsonOf(random, 0) + "'" }

func jsonOf(random *rand.Rand, depth int) string {
	const deepest, kinds = 3, 8
	space := strings.Repeat(" ", random.IntN(2))
	kind := random.IntN(kinds)
	if depth == deepest {
		kind = random.IntN(kinds - 2)
	}
	switch kind {
	case 0:
		return []string{"null", "true", "false"}[random.IntN(3)]
	case 1, 2:
		return randomDecimal(20, 10)(random)
	case 3:
		return randomFloat(64, "%s")(random)
	case 4, 5:
		return `"` + []string{"", "a", "é", "表 b", "😀", "/"}[random.IntN(6)] + `"`
	}
	begin, end, name := "[", "]", func() string { return "" }
	if kind == kinds-1 {
		begin, end = "{", "}"
		name = func() string { return `"` + []string{"a", "b", "", "é", "aa"}[random.IntN(5)] + `":` + space }
	}
	var items []string
	for range random.IntN(4) {
		items = append(items, name()+jsonOf(random, depth+1))
	}
	return begin + strings.Join(items, ","+space) + space + end
}
