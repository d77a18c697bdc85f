package load_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
)

// TestDialectPeers loads random text in random dialects, and has psql do so with \copy: both tables are the same, or
// both refuse the text.
func TestDialectPeers(t *testing.T) {
	t.Parallel()
	rounds := 30
	if testkit.Soak() {
		rounds = 3000
	}
	random := rand.New(rand.NewPCG(5, 6))
	db := testkit.Postgres(t).NewDatabase(t)
	for i := 1; i <= 3; i++ {
		columns := strings.TrimSuffix(strings.Repeat("c%d text, ", i), ", ")
		columns = fmt.Sprintf(columns, []any{1, 2, 3}[:i]...)
		db.Exec(t, fmt.Sprintf("CREATE TABLE ours%d (%s); CREATE TABLE theirs%d (%s)", i, columns, i, columns))
	}
	dst, err := postgres.OpenSink(t.Context(), db.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	taken := 0
	for range rounds {
		columns := 1 + random.IntN(3)
		d, text := randomDialectText(random, columns)
		ours, theirs := fmt.Sprint("ours", columns), fmt.Sprint("theirs", columns)
		_, err := (&load.Plan{}).Text(t.Context(), dst, strings.NewReader(text), "x", d, ours)

		copying := db.PsqlCommand(t, "-c", fmt.Sprintf(
			`\copy %s from pstdin (format csv, delimiter %s, quote %s, escape %s, null %s)`,
			theirs, letter(d.Delimiter), letter(string(d.Quote)), letter(string(d.Escape)), letter(d.Null)))
		copying.Stdin = strings.NewReader(text)
		said, errOfPsql := copying.CombinedOutput()
		if (err == nil) != (errOfPsql == nil) {
			t.Errorf("%q in %+v: %v; psql says %s", text, d, err, said)
		}
		if err == nil && errOfPsql == nil {
			taken++
		}
		differing := db.Query(t, fmt.Sprintf("(TABLE %s EXCEPT ALL TABLE %s) UNION ALL (TABLE %s EXCEPT ALL TABLE %s)",
			ours, theirs, theirs, ours))
		if len(differing) > 0 {
			t.Errorf("%q in %+v: rows differ: %q", text, d, differing)
		}
		db.Exec(t, "TRUNCATE "+ours+", "+theirs)
	}
	if taken < rounds/2 {
		t.Errorf("only %d of %d texts were loaded", taken, rounds)
	}
}

// letter is a text as \copy reads it.
func letter(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\t", `\t`).Replace(text) + "'"
}

// randomDialectText returns rows in a dialect that PostgreSQL has. One in six has a row with a value too much.
func randomDialectText(random *rand.Rand, columns int) (format.Dialect, string) {
	choose := func(choices ...string) string { return choices[random.IntN(len(choices))] }
	end := choose("\n", "\r\n", "\r")
	d := format.Dialect{
		Delimiter: choose(",", ";", "\t", "|"), Quote: choose(`"`, "'")[0], Null: choose("", `\N`, "NULL"),
		NoHeader: true, Escapes: format.EscapeQuoted,
	}
	d.Escape = choose(string(d.Quote), `\`, "^")[0]
	piece := func(more ...string) string {
		one := choose(append(more, "a", "é", " ", "NULL", "N", "^", "#", "\u2028", "0")...)
		if one == string(d.Escape) { // it would escape the quote that closes
			return "a" // and PostgreSQL takes text between quotes and delimiters, which is refused here
		}
		return one
	}
	var b strings.Builder
	for range 1 + random.IntN(4) {
		values := columns
		if random.IntN(24) == 0 {
			values++
		}
		for i := range values {
			if i > 0 {
				b.WriteString(d.Delimiter)
			}
			if random.IntN(2) == 0 {
				b.WriteString(choose(d.Null, d.Null, "x", d.Null+piece(), piece()+d.Null+piece()))
				continue
			}
			b.WriteByte(d.Quote)
			for range random.IntN(5) {
				quote := string(d.Escape) + choose(string(d.Quote), string(d.Escape))
				_, _ = io.WriteString(&b, piece(d.Delimiter, "\n", "\r", quote, quote))
			}
			b.WriteByte(d.Quote)
		}
		b.WriteString(end)
	}
	return d, b.String()
}
