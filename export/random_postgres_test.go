package export_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"culvert/internal/testkit"
)

// rounds makes random tables: a few, in the long form forty times as many, or as many as CULVERT_TEST_ROUNDS says. The
// number of a round is the seed of its table, so that a round which fails can be had again by CULVERT_TEST_ROUND.
func rounds(tb testing.TB, few int, each func(seed uint64)) {
	tb.Helper()
	number := func(name string, otherwise int) int {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		return n
	}
	if only := number("CULVERT_TEST_ROUND", 0); only > 0 {
		each(uint64(only))
		return
	}
	switch {
	case testkit.Soak():
		few *= 40
	case !testkit.RunsLong():
		few = (few + 2) / 3
	}
	for seed := range number("CULVERT_TEST_ROUNDS", few) {
		if each(uint64(seed) + 1); tb.Failed() {
			tb.Fatalf("round %d; once more with CULVERT_TEST_ROUND=%[1]d", seed+1)
		}
	}
}

// TestPostgresRandom takes random tables there and back: of some types, with some of the values that are hard and some
// that nobody has thought of.
func TestPostgresRandom(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, postgresTypesSQL)
	database.Exec(t, fmt.Sprintf(oddSQL, database.Name, "LATIN1"))
	rounds(t, 8, func(seed uint64) {
		// A test of its own ends its connections.
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			table := randomTable(t, database, fmt.Sprint("random ", seed), r)
			table.expectFaithful(t, readings[r.IntN(len(readings))], table.copied(t, "UTF8"))
		})
	})
}

func randomTable(tb testing.TB, database *testkit.PostgresDatabase, name string, r *rand.Rand) *postgresTable {
	tb.Helper()
	names := r.Perm(len(nastyNames))[:r.IntN(9)]
	var columns []postgresColumn
	var kinds []postgresType
	for _, i := range names {
		kind := postgresTypes[r.IntN(len(postgresTypes))]
		kinds = append(kinds, kind)
		columns = append(columns, postgresColumn{nastyNames[i], kind.name})
	}
	table := newTable(tb, database, name, columns)
	rows := make([]cells, r.IntN(1<<r.IntN(7)))
	for i := range rows {
		rows[i] = make(cells, len(columns))
		for j, kind := range kinds {
			rows[i][j] = randomCell(r, kind)
		}
	}
	if len(columns) == 0 {
		table.run(tb, fmt.Sprintf("INSERT INTO %s SELECT FROM generate_series(1, %d)", quoteName(name), len(rows)))
		return table
	}
	table.insert(tb, rows[:len(rows)/2])
	if r.IntN(4) == 0 {
		table.spread(tb)
	}
	table.insert(tb, rows[len(rows)/2:])
	return table
}

// randomCell is often NULL or a hard value. Only few are large.
func randomCell(r *rand.Rand, kind postgresType) *string {
	value := kind.values[r.IntN(len(kind.values))]
	switch {
	case r.IntN(6) == 0:
		return nil
	case kind.random != nil && (r.IntN(3) == 0 || len(value) > 1<<10 && r.IntN(10) > 0):
		value = kind.random(r)
	}
	return &value
}
