package load_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/source"
)

// conversionCase are rules for a column, values, nil for NULL, and what becomes of them: "!" for what is refused.
type conversionCase struct {
	Rules  []string  `json:"rules"`
	Values []*string `json:"values"`
	Wanted []*string `json:"wanted"`
}

// conversionProgram applies the rules as culvert help conversions says, by the datetime, decimal and sqlite3 of Python.
const conversionProgram = `
import json, re, sqlite3, sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
class Refused(Exception): pass
space = " \t\n\r\v\f"
db = sqlite3.connect(":memory:")
def moment(at):
    if not 1 <= at.year <= 9999: raise Refused
    text = at.strftime("%H:%M:%S")
    if at.microsecond: text += ("." + "%06d" % at.microsecond).rstrip("0")
    return "%04d-%02d-%02d " % (at.year, at.month, at.day) + text
def epoch(value, digits):
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value): raise Refused
    micros = Decimal(value).scaleb(6 - digits)
    if micros != micros.to_integral_value(): raise Refused
    try: return moment(datetime(1970, 1, 1) + timedelta(microseconds=int(micros)))
    except OverflowError: raise Refused
def julian(value):
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value): raise Refused
    text = db.execute("SELECT strftime('%Y-%m-%d %H:%M:%f', CAST(? AS REAL))", (value,)).fetchone()[0]
    if not text or text[0] == "-" or text[:4] == "0000": raise Refused
    return text[:19] + text[19:].rstrip("0").rstrip(".")
def number(value, fractions):
    m = re.fullmatch(r"([+-]?)([0-9]*)(?:\.([0-9]*))?", value.strip(space))
    if not m or not m[2] + (m[3] or ""): raise Refused
    whole, fraction = m[2].lstrip("0"), m[3] or ""
    if not fractions and fraction.strip("0"): raise Refused
    if not fractions: fraction = ""
    sign = "-" if m[1] == "-" and (whole + fraction).strip("0") else ""
    return sign + (whole or "0") + ("." + fraction if fraction else "")
def boolean(value):
    word = value.strip(space).lower()
    if word in ("true", "t", "yes", "y", "on", "1"): return "t"
    if word in ("false", "f", "no", "n", "off", "0"): return "f"
    raise Refused
shapes = re.compile(r"(?:(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)|(?P<d2>\d\d)\.(?P<m2>\d\d)\.(?P<y2>\d{4})|(?P<c>\d{8}))"
    r"(?:[ T](?:(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?|(?P<k>\d{4}|\d{6}))"
    r"(?: ?(Z|[+-]\d\d(?::?\d\d)?)| (UTC))?)?", re.A)
def timestamp(value):
    m = shapes.fullmatch(value.strip(space))
    if not m: raise Refused
    c = m["c"]
    y, mo, d = (c[:4], c[4:6], c[6:]) if c else (m["y"] or m["y2"], m["m"] or m["m2"], m["d"] or m["d2"])
    h, mi, s, fraction, zone = m[8], m[9], m[10], m[11], m[13]
    if bool(c) != bool(m["k"]) and (h or m["k"]): raise Refused
    if m["k"]: h, mi, s = m["k"][:2], m["k"][2:4], m["k"][4:]
    if (fraction or "")[6:].strip("0"): raise Refused
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    try: at = datetime(int(y), int(mo), int(d), int(h or 0), int(mi or 0), int(s or 0), micros)
    except ValueError: raise Refused
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        if int(digits[:2]) > 24 or int(digits[2:]) > 59: raise Refused
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        try: at = at - offset if zone[0] == "+" else at + offset
        except OverflowError: raise Refused
    return moment(at)
def apply(rule, value):
    if rule.startswith("default "): return rule[8:] if value is None else value
    if value is None: return None
    if rule == "zero-date null":
        return None if re.fullmatch(r"\d{4}-(00-\d\d|\d\d-00)([ T].*)?", value, re.A | re.S) else value
    if rule == "nul strip": return value.replace("\0", "")
    if rule == "nul error":
        if "\0" in value: raise Refused
        return value
    if rule == "empty null": return value or None
    if rule == "trim": return value.strip(space)
    if rule == "cast integer": return number(value, False)
    if rule == "cast decimal": return number(value, True)
    if rule == "cast boolean": return boolean(value)
    if rule == "cast timestamp": return timestamp(value)
    if rule == "epoch seconds": return epoch(value, 0)
    if rule == "epoch millis": return epoch(value, 3)
    if rule == "epoch julian": return julian(value)
    sys.exit("there is no rule " + rule)
cases = json.load(sys.stdin)
for case in cases:
    case["wanted"] = []
    for value in case["values"]:
        try:
            for rule in case["rules"]: value = apply(rule, value)
        except Refused: value = "!"
        case["wanted"].append(value)
json.dump(cases, sys.stdout)
`

// TestConversionsRandom applies random rules to random values on their way into every database. The table has what
// Python makes of them, and the rows that it refuses are rejected.
func TestConversionsRandom(t *testing.T) {
	t.Parallel()
	cases := randomConversions(t)
	for name, to := range sides {
		t.Run(name, func(t *testing.T) {
			s := to(t)
			for i, one := range cases {
				table := fmt.Sprint("v", i)
				if err := s.try("CREATE TABLE " + table + " (id int PRIMARY KEY, v text)"); err != nil {
					t.Fatal(err)
				}
				convertRandom(t, s, table, one)
			}
		})
	}
}

func convertRandom(t *testing.T, s side, table string, one conversionCase) {
	t.Helper()
	var batch source.Batch
	batch.Reset(2)
	want, rejected := []string{}, []int(nil)
	for i, value := range one.Values {
		batch.AppendInt(int64(i + 1))
		if value == nil {
			batch.AppendNull()
		} else {
			batch.Append(source.Text, []byte(*value))
		}
		batch.EndRow()
		switch wanted := one.Wanted[i]; {
		case wanted == nil:
			want = append(want, "<NULL>")
		case *wanted == "!":
			rejected = append(rejected, i+1)
		default:
			want = append(want, *wanted)
		}
	}
	encoder, err := format.CSV{}.Encoder([]source.Column{{Name: "id"}, {Name: "v"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := encoder.AppendRows(encoder.AppendHeader(nil), &batch)
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, rule := range one.Rules {
		rules = append(rules, "v="+rule)
	}
	at := t.TempDir()
	plan := load.Plan{Rejects: rejectsIn(t, at), Conversions: conversions(t, rules...)}
	from := strings.NewReader(string(text))
	if _, err := plan.Text(t.Context(), s.dst, from, "v.csv", format.CSV{}, table); err != nil {
		t.Fatalf("%q: %v", one.Rules, err)
	}
	numbers, _ := readRejects(t, filepath.Join(at, "v.csv"), "id,v\n")
	if !slices.Equal(numbers, rejected) {
		t.Errorf("%q: the rows %v are rejected, and not %v, of\n%s", one.Rules, numbers, rejected, text)
	}
	src := s.open()
	defer closing(t, src)
	got := convertedOf(t, src, table, one.Rules)
	if !slices.Equal(got, want) {
		t.Errorf("%q: got %q, want %q, of\n%s", one.Rules, got, want, text)
	}
}

// convertedOf returns the second column of a table in the order of the first, which is a number. A database without
// booleans keeps true and false as 1 and 0.
func convertedOf(t *testing.T, src source.Source, table string, rules []string) []string {
	t.Helper()
	decoder, err := format.CSV{}.Decoder(make([]format.Field, 2))
	if err != nil {
		t.Fatal(err)
	}
	byID, ids := map[int]string{}, []int{}
	for _, line := range csvOf(t, src, table) {
		var batch source.Batch
		if _, err := decoder.Decode(&batch, []byte(line)); err != nil {
			t.Fatal(err)
		}
		_, number := batch.AnyValue(0, 0)
		id, err := strconv.Atoi(string(number))
		if err != nil {
			t.Fatal(err)
		}
		kind, value := batch.AnyValue(0, 1)
		text := string(value)
		switch {
		case kind == source.Null:
			text = "<NULL>"
		case slices.Contains(rules, "cast boolean") && text == "1":
			text = "t"
		case slices.Contains(rules, "cast boolean") && text == "0":
			text = "f"
		}
		byID[id], ids = text, append(ids, id)
	}
	slices.Sort(ids)
	all := []string{}
	for _, id := range ids {
		all = append(all, byID[id])
	}
	return all
}

// randomConversions returns rules and values, with what Python makes of them.
func randomConversions(t *testing.T) []conversionCase {
	t.Helper()
	rounds := 30
	if testkit.Soak() {
		rounds = 1000
	}
	random := rand.New(rand.NewPCG(11, 12))
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	cases := make([]conversionCase, rounds)
	for i := range cases {
		one := &cases[i]
		one.Rules = append(one.Rules, pick("nul strip", "nul error")) // PostgreSQL does not have the character
		for range random.IntN(3) {
			one.Rules = append(one.Rules,
				pick("trim", "empty null", "zero-date null", "default 7", "default 2026-01-31"))
		}
		one.Rules = append(one.Rules, pick("trim", "empty null", "cast integer", "cast decimal", "cast boolean",
			"cast timestamp", "cast timestamp", "epoch seconds", "epoch millis", "epoch julian"))
		for range 40 {
			if random.IntN(10) == 0 {
				one.Values = append(one.Values, nil)
				continue
			}
			value := randomConvertible(random, one.Rules[len(one.Rules)-1])
			one.Values = append(one.Values, &value)
		}
	}
	testkit.ByPython(t, conversionProgram, &cases)
	return cases
}

// randomConvertible returns a value that a rule mostly converts, and sometimes what it almost does.
func randomConvertible(random *rand.Rand, rule string) string {
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	digits := func(most int) string {
		return fmt.Sprint(random.Int64N(1_000_000_000_000_000_000))[:1+random.IntN(most)]
	}
	var text string
	switch {
	case rule == "cast boolean":
		text = pick("true", "T", "Yes", "y", "ON", "1", "false", "f", "NO", "n", "off", "0", "maybe", "2", "")
	case rule == "cast timestamp":
		text = fmt.Sprintf(pick("%04d-%02d-%02d", "%04d-%02d-%02d", "%04d%02d%02d"), 1+random.IntN(9999),
			random.IntN(14), random.IntN(32))
		if random.IntN(4) == 0 {
			text = fmt.Sprintf("%02d.%02d.%04d", 1+random.IntN(31), 1+random.IntN(12), random.IntN(10_000))
		}
		clock := fmt.Sprintf(pick("%02d:%02d:%02d", "%02d:%02d:%02d", "%02d%02d%02d"), random.IntN(25),
			random.IntN(60), random.IntN(61))
		if random.IntN(3) == 0 {
			clock = clock[:pickInt(random, 4, 5, len(clock))]
		} else if strings.Contains(clock, ":") && random.IntN(2) == 0 {
			clock += pick(".", ",") + digits(8)
		}
		if random.IntN(5) > 0 {
			text += pick(" ", "T", "T") + clock + pick("", "", "Z", "+02", "-0130", "+14:00", " +01:00", " UTC", "+1")
		}
	case rule == "cast integer" || rule == "cast decimal":
		text = pick("", "-", "+", "00", "-0") + pick(digits(17), digits(4), "0") +
			pick("", "", ".0", ".50", "."+digits(6), ".", "e3", ",5")
	case rule == "epoch julian":
		text = pick(fmt.Sprint(1_721_000+random.IntN(3_700_000)), fmt.Sprint(random.IntN(9_000_000))) +
			pick("", ".5", "."+digits(6), "x")
	case strings.HasPrefix(rule, "epoch"):
		text = pick("", "-") + digits(14) + pick("", "."+digits(3), "."+digits(8), ".", "e1")
	default:
		text = pick("", "a", " b", "0000-00-00", "2020-00-15 10:00:00", "2020-01-00", "2020-01-15", "ü ")
	}
	if random.IntN(8) == 0 {
		text = pick(" ", "\t", "\n ", "\x00") + text + pick("", " ", "\r\n", "\x00")
	}
	return text
}

func pickInt(random *rand.Rand, choices ...int) int { return choices[random.IntN(len(choices))] }
