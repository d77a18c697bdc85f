package sinktest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/internal/testkit"
	"culvert/sink"
)

// forRandom runs a test with a few seeds, or as many as CULVERT_TEST_ROUNDS says.
func forRandom(t *testing.T, test func(t *testing.T, random *rand.Rand)) {
	rounds := 3
	switch {
	case testkit.Soak():
		rounds = 100
	case !testkit.RunsLong():
		rounds = 1
	}
	if n, err := strconv.Atoi(os.Getenv("CULVERT_TEST_ROUNDS")); err == nil {
		rounds = n
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { test(t, rand.New(rand.NewPCG(uint64(seed), 0))) })
	}
}

// testRandomTables takes tables of random columns and rows through source and sink.
func testRandomTables(t *testing.T, f *Fixture) {
	byType := map[string][]string{}
	var types []string
	for _, v := range f.Values {
		if byType[v.Type] == nil {
			types = append(types, v.Type)
		}
		byType[v.Type] = append(byType[v.Type], v.SQL)
	}
	forRandom(t, func(t *testing.T, random *rand.Rand) {
		columns := []string{"id", "bigint"}
		var chosen []string
		for i := range 1 + random.IntN(9) {
			chosen = append(chosen, types[random.IntN(len(types))])
			columns = append(columns, fmt.Sprintf("c%d", i), chosen[i])
		}
		f.create(t, "random_from", columns...)
		f.create(t, "random_to", columns...)
		const atOnce = 100
		for first := 0; first < 10*atOnce; first += atOnce {
			var rows []string
			for id := range atOnce {
				row := []string{strconv.Itoa(first + id)}
				for _, name := range chosen {
					value := "NULL"
					if random.IntN(4) > 0 {
						value = byType[name][random.IntN(len(byType[name]))]
					}
					row = append(row, value)
				}
				rows = append(rows, "("+strings.Join(row, ", ")+")")
			}
			f.Exec(t, "INSERT INTO "+f.Quote("random_from")+" VALUES "+strings.Join(rows, ", "))
		}
		f.copy(t, f.open(t), "random_from", "random_to", true, random.IntN(2) > 0)
		if got, want := f.export(t, "random_to"), f.export(t, "random_from"); got != want {
			t.Errorf("a table of %q differs after a copy", chosen)
		}
	})
}

// testRandomTexts loads random texts in random batches, by several loaders.
func testRandomTexts(t *testing.T, f *Fixture) {
	forRandom(t, func(t *testing.T, random *rand.Rand) {
		f.create(t, "texts_t", "id", "bigint", "a", f.Text, "b", f.Text)
		filling := sink.Filling{}
		if f.Loaders {
			filling.Loaders = 1 + random.IntN(3)
		}
		filled := table(t, f.open(t), "texts_t", filling)
		encoder, err := format.CSV{}.Encoder(filled.Columns())
		if err != nil {
			t.Fatal(err)
		}
		var loaders []*summed
		for _, loader := range filled.Loaders() {
			if random.IntN(2) > 0 {
				loader = asCSV(t, filled, loader, filled.Columns())
			}
			loaders = append(loaders, &summed{Loader: loader})
		}
		var want []byte
		for id := 0; id < 10_000; {
			loader := loaders[random.IntN(len(loaders))]
			var rows [][]string
			for range 1 + random.IntN(700) {
				rows = append(rows, randomRow(random, strconv.Itoa(id)))
				id++
			}
			b := batch(rows...)
			loader.rows += int64(len(rows))
			want, err = encoder.(format.LineEncoder).AppendLines(want, b, math.MaxInt, &loader.sum, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := loader.Load(b); err != nil {
				t.Fatal(err)
			}
			if random.IntN(5) == 0 {
				loader.flush(t)
			}
		}
		for _, loader := range loaders {
			loader.flush(t)
			if rows, sum, err := loader.Sum(); err != nil || rows != loader.rows || sum != loader.sum.Sum {
				t.Errorf("Sum: %d rows, %s, %v, want %d rows, %s", rows, sum, err, loader.rows, loader.sum.Sum)
			}
			closeLoader(t, loader, loader.rows)
		}
		commit(t, filled)
		if !slices.Equal(f.read(t, "texts_t"), slices.Sorted(strings.Lines(string(want)))) {
			t.Error("the table has other rows than were loaded")
		}
	})
}

// summed is a loader with the number and the sum of its rows.
type summed struct {
	sink.Loader
	rows int64
	sum  rowsum.Adder
}

func (s *summed) flush(t *testing.T) {
	t.Helper()
	if rows, err := s.Flush(); err != nil || rows != s.rows {
		t.Fatalf("Flush: %d rows, %v, want %d", rows, err, s.rows)
	}
}

// special are what formats and databases treat in a special way.
var special = []string{
	"a", "0", " ", "\t", "\n", "\r", `"`, "'", ",", ";", `\`, `\N`, `\.`, "NULL", "%", "\b", "\x1a", "\x7f", "é", "表",
	"😀", "\u2028", "\ufeff", "t", "-", "1e5",
}

// randomRow returns a number and two texts.
func randomRow(random *rand.Rand, id string) []string {
	row := []string{id}
	for range 2 {
		text := ""
		for range min(random.IntN(9), random.IntN(9)) {
			text += special[random.IntN(len(special))]
		}
		switch random.IntN(500) {
		case 0:
			text = strings.Repeat(text, 2000)
		case 1, 2, 3, 4, 5, 6, 7, 8, 9:
			text = null
		}
		row = append(row, text)
	}
	return row
}
