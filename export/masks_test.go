package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/manifest"
	"culvert/mask"
	"culvert/postgres"
	"culvert/source"
)

// rulesOf reads rules of tables and columns.
func rulesOf(t *testing.T, key *mask.Key, rules map[string]string) *mask.Policy {
	t.Helper()
	p := &mask.Policy{Key: key, Tables: map[string]mask.Rules{}}
	for name, text := range rules {
		at := strings.LastIndexByte(name, '.')
		rule, err := mask.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if p.Tables[name[:at]] == nil {
			p.Tables[name[:at]] = mask.Rules{}
		}
		p.Tables[name[:at]][name[at+1:]] = rule
	}
	return p
}

// planted finds values that must not be in a text. They are words of letters and digits.
type planted map[string]bool

func (p planted) find(t *testing.T, where string, text []byte) {
	t.Helper()
	isOther := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	for word := range bytes.FieldsFuncSeq(text, isOther) {
		if p[string(word)] {
			t.Errorf("%s has the value %q", where, word)
			return
		}
	}
}

// TestMasks exports tables whose values must not leave, by each of the ways in which rows are read, and searches for
// them in all that is written. Foreign keys and unique columns hold, and the same rows come from each way.
func TestMasks(t *testing.T) {
	const rows = 10_000
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, fmt.Sprintf(`
		CREATE TABLE people (id bigint PRIMARY KEY, email varchar(60) UNIQUE NOT NULL, name text, phone text,
			note text);
		INSERT INTO people SELECT 7000000000+i, 'zqe'||i||'@firma.de', 'zqn'||i, (700000000000+i)::text, 'zqo'||i
			FROM generate_series(1, %d) AS i;
		CREATE TABLE orders (id serial PRIMARY KEY, person bigint REFERENCES people,
			mail varchar(60) REFERENCES people (email));
		INSERT INTO orders (person, mail) SELECT id, email FROM people ORDER BY note;
		CREATE TABLE large (id int PRIMARY KEY, secret text, body text);
		INSERT INTO large SELECT i, 'zql'||i, repeat('body ', 500000) FROM generate_series(1, 3) AS i;
		ANALYZE`, rows))
	secrets := planted{}
	for i := 1; i <= rows; i++ {
		for _, of := range []string{"zqe%d", "zqn%d", "zql%d"} {
			secrets[fmt.Sprintf(of, i)] = true
		}
		secrets[fmt.Sprintf("zqo%d", i)] = true
		secrets[fmt.Sprint(700000000000+i)], secrets[fmt.Sprint(7000000000+i)] = true, true
	}
	masks := map[string]string{
		"people.id": "hash", "people.email": "email", "people.name": "name", "people.phone": "digits",
		"orders.person": "hash", "orders.mail": "email", "large.secret": "text", "people.note": "drop",
	}
	key := mask.GenerateKey()
	sums := map[string]string{}
	for _, test := range []struct {
		name string
		plan export.Plan
	}{
		{"one connection", export.Plan{Jobs: 1}},
		{"several connections", export.Plan{Jobs: 3}},
		{"parts", export.Plan{Jobs: 3, PartSize: 200 << 10}},
		{"JSON Lines", export.Plan{Jobs: 2, Format: format.JSONL{}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db, err := postgres.OpenSource(t.Context(), database.ConnString())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			plan, to := test.plan, newShelf()
			plan.Unencrypted, plan.Compression, plan.Masks = true, export.None, rulesOf(t, key, masks)
			all, err := plan.Tables(t.Context(), to, db, []string{"people", "orders", "large"})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range all {
				if _, lines := plan.Format.(format.JSONL); lines {
					break
				}
				if want := sums[one.Name]; want != "" && want != one.Sum.String() {
					t.Errorf("%s has other rows than when it was read in another way", one.Name)
				}
				sums[one.Name] = one.Sum.String()
			}
			files := filesOf(to)
			err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				text, err := fs.ReadFile(files, name)
				secrets.find(t, name, text)
				if strings.Contains(string(text), strings.TrimSpace(key.Text())) {
					t.Errorf("%s has the key", name)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			d, err := export.OpenDirectory(files)
			if err != nil {
				t.Fatal(err)
			}
			compareMasked(t, d, db, key)
		})
	}
}

// compareMasked compares an export with its database, with and without the key.
func compareMasked(t *testing.T, d *export.Directory, db source.Source, key *mask.Key) {
	t.Helper()
	if d.Manifest.MaskKey != key.Fingerprint() || len(d.Manifest.Tables[0].Masks) != 5 ||
		d.Manifest.Tables[0].Masks[0] != (manifest.Mask{Column: "email", Rule: "email"}) {
		t.Errorf("the manifest has the key %q and the masks %v", d.Manifest.MaskKey, d.Manifest.Tables[0].Masks)
	}
	if err := d.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := d.Compare(t.Context(), db, 2, nil, nil, nil); !errors.Is(err, export.ErrNoMaskKey) {
		t.Errorf("compared without a key: %v", err)
	}
	d.MaskKey = mask.GenerateKey()
	if err := d.Compare(t.Context(), db, 2, nil, nil, nil); err == nil || errors.Is(err, export.ErrDiffers) {
		t.Errorf("compared with another key: %v", err)
	}
	d.MaskKey = key
	if err := d.Compare(t.Context(), db, 2, nil, nil, nil); err != nil {
		t.Errorf("compared with the key: %v", err)
	}
}

// TestMasksAcross compares masked rows with those of another system, whose columns have other types.
func TestMasksAcross(t *testing.T) {
	from := testkit.Postgres(t).NewDatabase(t)
	from.Exec(t, `CREATE TABLE things (id int, price numeric(10,2), code char(8), born date);
		INSERT INTO things VALUES (1, 12.50, 'ab', '1980-05-17'), (2, 0.07, 'abcdef', NULL)`)
	db, err := postgres.OpenSource(t.Context(), from.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other := database(t, `CREATE TABLE things (id INTEGER, price NUMERIC, code TEXT, born TEXT);
		INSERT INTO things VALUES (1, 12.50, 'ab', '1980-05-17'), (2, 0.07, 'abcdef', NULL)`)
	key := mask.GenerateKey()
	plan := export.Plan{Unencrypted: true, Jobs: 1}
	plan.Masks = rulesOf(t, key, map[string]string{
		"things.price": "hash", "things.code": "hash", "things.born": "shift 30",
	})
	to := newShelf()
	if _, err := plan.Tables(t.Context(), to, db, []string{"things"}); err != nil {
		t.Fatal(err)
	}
	d, err := export.OpenDirectory(filesOf(to))
	if err != nil {
		t.Fatal(err)
	}
	d.MaskKey = key
	err = d.Compare(t.Context(), other, 1, nil, nil, func(_ *manifest.Table, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMasksOfSequence leaves the last number of a masked column out of the manifest.
func TestMasksOfSequence(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE TABLE people (id serial PRIMARY KEY, number serial, mail text);
		INSERT INTO people (mail) VALUES ('a'), ('b')`)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plan := export.Plan{Unencrypted: true, Jobs: 1}
	plan.Masks = rulesOf(t, mask.GenerateKey(), map[string]string{"people.id": "hash"})
	to := newShelf()
	if _, err := plan.Tables(t.Context(), to, db, []string{"people"}); err != nil {
		t.Fatal(err)
	}
	d, err := export.OpenDirectory(filesOf(to))
	if err != nil {
		t.Fatal(err)
	}
	sequences := d.Manifest.Tables[0].Definition.Sequences
	if len(sequences) != 2 {
		t.Fatalf("the manifest has the sequences %v", sequences)
	}
	for _, s := range sequences {
		if (s.Last == nil) != (s.Column == "id") {
			t.Errorf("the manifest has the last number %v of the column %q", s.Last, s.Column)
		}
	}
	plan.Masks = rulesOf(t, mask.GenerateKey(), map[string]string{"people.mail": "hash", "people.email": "email"})
	for _, size := range []int64{0, 1 << 20} {
		plan.PartSize = size
		if _, err := plan.Outline(t.Context(), db, "people"); err == nil ||
			!strings.Contains(err.Error(), `no column "email"`) {
			t.Errorf("a rule for a column that is not there: the error is %v", err)
		}
	}
}

// TestMasksOfQuery masks the columns of a query by their names.
func TestMasksOfQuery(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plan := export.Plan{Unencrypted: true, Compression: export.None, Jobs: 1}
	plan.Masks = rulesOf(t, mask.GenerateKey(), map[string]string{".mail": "fixed nobody@example.com"})
	var out bytes.Buffer
	if _, err := plan.Query(t.Context(), &out, db, "SELECT 1 AS id, 'a@b.c' AS mail"); err != nil {
		t.Fatal(err)
	}
	if want := "id,mail\n1,nobody@example.com\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	plan.Masks = rulesOf(t, nil, map[string]string{".mail": "email"})
	if _, err := plan.Query(t.Context(), io.Discard, db, "SELECT 'a@b.c' AS mail"); err == nil {
		t.Error("masked without a key")
	}
}

// TestMasksRefused ends an export before anything is written.
func TestMasksRefused(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE TABLE people (id int PRIMARY KEY, email text UNIQUE, born text);
		INSERT INTO people VALUES (1, 'zqe@firma.de', 'zqborn')`)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for rules, want := range map[string]string{
		"name": `column "email" is unique`, "hash": `"born" of row 1 cannot be masked by the rule "date year"`,
	} {
		to := newShelf()
		plan := export.Plan{Unencrypted: true, Jobs: 1, FailFast: true}
		plan.Masks = rulesOf(t, mask.GenerateKey(), map[string]string{"people.email": rules, "people.born": "year"})
		_, err = plan.Tables(t.Context(), to, db, []string{"people"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "zq") {
			t.Errorf("the error is %v, want %q", err, want)
		}
		if entries, _ := fs.ReadDir(filesOf(to), "."); len(entries) > 0 {
			t.Errorf("%v is written", entries)
		}
	}
}

// TestMasksInErrors has a condition fail on a value that is masked, which the database then shows.
func TestMasksInErrors(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE TABLE people (id int PRIMARY KEY, email text);
		INSERT INTO people SELECT i, 'zqe@firma.de' FROM generate_series(1, 100) AS i`)
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plan := export.Plan{Unencrypted: true, Jobs: 1}
	plan.Selection.Where = "email::int > 0"
	plan.Masks = rulesOf(t, mask.GenerateKey(), map[string]string{"people.email": "email"})
	_, whole := plan.Table(t.Context(), io.Discard, db, "people")
	plan.PartSize = 1 << 20
	stats, parts := plan.Tables(t.Context(), newShelf(), db, []string{"people"})
	if len(stats) == 1 && stats[0].Err != nil {
		parts = stats[0].Err
	}
	for _, err := range []error{whole, parts} {
		if err == nil || !strings.Contains(err.Error(), "22P02") || strings.Contains(err.Error(), "zq") {
			t.Errorf("the error is %v", err)
		}
	}
}
