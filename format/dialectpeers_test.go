package format_test

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

// peerCase is a text in a dialect, as the module csv of Python names its settings, and the rows that it reads.
type peerCase struct {
	Text      string     `json:"text"`
	Delimiter string     `json:"delimiter"`
	Quote     string     `json:"quote"`
	End       string     `json:"end"`
	Rows      [][]string `json:"rows"` // to be written first, if there are any; then as they are read
	Error     string     `json:"error"`
}

// peerProgram has csv read each case, after it has written it if there are rows.
const peerProgram = `
import csv, io, json, sys
cases = json.load(sys.stdin)
for case in cases:
    settings = dict(delimiter=case["delimiter"], quotechar=case["quote"], strict=True)
    if case["rows"]:
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator=case["end"], **settings).writerows(case["rows"])
        case["text"] = out.getvalue()
    try:
        case["rows"] = list(csv.reader(io.StringIO(case["text"], newline=""), **settings))
    except csv.Error as error:
        case["error"] = str(error)
json.dump(cases, sys.stdout)
`

// TestDialectPeers compares what a Dialect reads with what the module csv of Python does: of rows that this has
// written, and of random text, of which a Dialect reads less.
func TestDialectPeers(t *testing.T) {
	rounds := 2000
	if testkit.Soak() {
		rounds = 200_000
	}
	random := rand.New(rand.NewPCG(3, 4))
	cases := make([]peerCase, rounds)
	for i := range cases {
		cases[i] = randomPeerCase(random)
	}
	written := make([]bool, rounds)
	for i, one := range cases {
		written[i] = one.Rows != nil
	}
	testkit.ByPython(t, peerProgram, &cases)
	read := 0
	for i, one := range cases {
		d := format.Dialect{Delimiter: one.Delimiter, Quote: one.Quote[0], NoHeader: true, Null: "\x01"}
		r, err := d.Reader(strings.NewReader(one.Text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		switch {
		case err != nil && !written[i]:
			continue
		case err != nil || one.Error != "":
			t.Errorf("%q in %+v: %v; Python says %q", one.Text, d, err, one.Error)
			continue
		}
		read++
		if want := canonicalOf(t, one.Rows); string(got) != want {
			t.Errorf("%q in %+v became %q, and in Python %q", one.Text, d, got, want)
		}
	}
	if read < rounds/2+rounds/20 {
		t.Errorf("only %d of %d texts were read", read, rounds)
	}
}

// randomPeerCase has rows in every other case.
func randomPeerCase(random *rand.Rand) peerCase {
	one := peerCase{
		Delimiter: choose(random, ",", ";", "\t", "|"), Quote: choose(random, `"`, "'"),
		End: choose(random, "\n", "\r\n", "\r"),
	}
	text := func(ends ...string) string {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteString(choose(random, append(ends, "a", "é", " ", one.Delimiter, one.Quote, `\`, "\u2028")...))
		}
		return b.String()
	}
	if random.IntN(2) == 0 {
		for range 1 + random.IntN(3) {
			one.Text += text(one.End, one.End) + choose(random, one.End, "")
		}
		return one
	}
	one.End = "\r\n" // older versions put only these characters in quotes
	columns := 1 + random.IntN(3)
	for range 1 + random.IntN(3) {
		row := make([]string, columns)
		for i := range row {
			row[i] = text("\n", "\r")
		}
		one.Rows = append(one.Rows, row)
	}
	return one
}

// canonicalOf is the CSV of rows as Python reads them, to which empty lines are rows without values.
func canonicalOf(t *testing.T, rows [][]string) string {
	columns := 1
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	encoder, err := format.CSV{}.Encoder(make([]source.Column, columns))
	if err != nil {
		t.Fatal(err)
	}
	var batch source.Batch
	batch.Reset(columns)
	for _, row := range rows {
		if len(row) == 0 && columns > 1 {
			continue
		}
		for i := range columns {
			value := ""
			if i < len(row) {
				value = row[i]
			}
			batch.Append(source.Text, []byte(value))
		}
		batch.EndRow()
	}
	text, err := encoder.AppendRows(nil, &batch)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
