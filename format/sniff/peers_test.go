package sniff_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"culvert/format"
	"culvert/format/charset"
	"culvert/format/sniff"
	"culvert/internal/testkit"
)

// peerCase are rows, and how the module csv of Python writes them.
type peerCase struct {
	Delimiter string     `json:"delimiter"`
	Quote     string     `json:"quote"`
	End       string     `json:"end"`
	All       bool       `json:"all"` // values are in quotes, also without need
	Encoding  string     `json:"encoding"`
	Rows      [][]string `json:"rows"`
	Text      string     `json:"text"` // each byte a character
}

// peerProgram has csv write each case, and read it again.
const peerProgram = `
import csv, io, json, sys
cases = json.load(sys.stdin)
for case in cases:
    settings = dict(delimiter=case["delimiter"], quotechar=case["quote"])
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=case["end"], quoting=csv.QUOTE_ALL if case["all"] else csv.QUOTE_MINIMAL,
        **settings).writerows(case["rows"])
    case["rows"] = list(csv.reader(io.StringIO(out.getvalue(), newline=""), strict=True, **settings))
    case["text"] = out.getvalue().encode(case["encoding"]).decode("latin1")
json.dump(cases, sys.stdout)
`

// TestPeers writes tables in random dialects by the module csv of Python. The settings that are guessed read the rows
// that this reads.
func TestPeers(t *testing.T) {
	rounds := 100
	if testkit.Soak() {
		rounds = 10_000
	}
	random := rand.New(rand.NewPCG(7, 8))
	cases := make([]peerCase, rounds)
	for i := range cases {
		cases[i] = randomTable(random)
	}
	testkit.ByPython(t, peerProgram, &cases)
	for _, one := range cases {
		var text []byte
		for _, c := range one.Text {
			text = append(text, byte(c))
		}
		guess, err := sniff.CSV(text, true)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := readAs(guess.Settings(), text)
		if err != nil || !reflect.DeepEqual(rows, one.Rows) {
			one.Text = ""
			t.Errorf("%q as %q: %v\n%q instead of\n%+v", text, guess.Settings(), err, rows, one)
		}
	}
}

// readAs returns the rows of a text as a load with these settings reads them. NULL becomes the empty string.
func readAs(settings string, text []byte) ([][]string, error) {
	var all []string
	if settings != "" {
		all = append(all, settings)
	}
	d, encoding, err := format.ParseDialect(all...)
	if err != nil {
		return nil, err
	}
	var r io.Reader = strings.NewReader(string(text))
	if encoding != "" {
		if r, err = charset.NewReader(r, encoding); err != nil {
			return nil, err
		}
	}
	if r, err = d.Reader(r); err != nil {
		return nil, err
	}
	return csv.NewReader(r).ReadAll()
}

// randomTable has a header, and columns of some kind each.
func randomTable(random *rand.Rand) peerCase {
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	one := peerCase{
		Delimiter: pick(",", ";", "\t", "|"), Quote: pick(`"`, `"`, "'"), End: pick("\n", "\r\n"),
		All: random.IntN(4) == 0, Encoding: pick("utf-8", "utf-8-sig", "cp1252", "utf-16"),
	}
	kinds := make([]int, 2+random.IntN(6))
	header := make([]string, len(kinds))
	for i := range kinds {
		kinds[i] = random.IntN(6)
		header[i] = pick("id", "name", "made_at", "total", "Straße", "note") + fmt.Sprint(i)
	}
	one.Rows = append(one.Rows, header)
	for range 3 + random.IntN(30) {
		row := make([]string, len(kinds))
		for i, kind := range kinds {
			row[i] = randomValue(random, kind, one)
		}
		one.Rows = append(one.Rows, row)
	}
	return one
}

func randomValue(random *rand.Rand, kind int, one peerCase) string {
	pick := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	switch kind {
	case 0:
		return fmt.Sprint(random.IntN(100_000))
	case 1:
		return fmt.Sprintf("%d.%02d", random.IntN(1000), random.IntN(100))
	case 2:
		return fmt.Sprintf("20%02d-%02d-%02d", random.IntN(30), 1+random.IntN(12), 1+random.IntN(28))
	case 3:
		return pick("Anna", "Björn", "Chloé", "de Vries", "O Neill", "")
	case 4:
		return pick("new", "paid", "sent")
	}
	var words []string
	for range 1 + random.IntN(6) {
		word := pick("a", "word", "and", "others", "é", one.Delimiter, one.Quote, "two\nlines", "5 €", "x,y")
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
