package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/manifest"
	"culvert/mask"
	"culvert/mysql"
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

func testKey(t *testing.T) *mask.Key {
	t.Helper()
	key, err := mask.ParseKey([]byte(testkit.MaskKey))
	if err != nil {
		t.Fatal(err)
	}
	return key
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
	key := testKey(t)
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
	key := testKey(t)
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
	plan.Masks = rulesOf(t, testKey(t), map[string]string{"people.id": "hash"})
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
	plan.Masks = rulesOf(t, testKey(t), map[string]string{"people.mail": "hash", "people.email": "email"})
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
	plan.Masks = rulesOf(t, testKey(t), map[string]string{".mail": "fixed nobody@example.com"})
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
		plan.Masks = rulesOf(t, testKey(t), map[string]string{"people.email": rules, "people.born": "year"})
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
	plan.Masks = rulesOf(t, testKey(t), map[string]string{"people.email": "email"})
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

// TestMasksOfSchema leaves the positions of sequences that number masked columns out of the schema of a database, and
// keeps those of others.
func TestMasksOfSchema(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE SEQUENCE shared START 7001;
		CREATE TABLE people (id serial PRIMARY KEY, code int DEFAULT nextval('shared'), number serial);
		CREATE SEQUENCE typed;
		CREATE DOMAIN coded AS int DEFAULT nextval('typed');
		ALTER TABLE people ADD coded coded;
		CREATE TABLE orders (id serial PRIMARY KEY);
		CREATE TABLE events (id serial) PARTITION BY RANGE (id);
		CREATE TABLE events1 PARTITION OF events FOR VALUES FROM (0) TO (100000);
		CREATE TABLE stamps (stamp serial) PARTITION BY RANGE (stamp);
		CREATE TABLE stamps1 PARTITION OF stamps FOR VALUES FROM (0) TO (100000);
		CREATE TABLE other (number int DEFAULT nextval('orders_id_seq'));
		SELECT setval('people_id_seq', 7002), setval('people_number_seq', 7003), setval('orders_id_seq', 7004),
			setval('events_id_seq', 7005), setval('stamps_stamp_seq', 7006), setval('typed', 7007)`)
	rules := rulesOf(t, testKey(t), map[string]string{
		"public.people.id": "hash", "public.people.code": "hash", "public.people.coded": "hash",
		"public.stamps.stamp": "hash",
	})
	db, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := []string{"public.events", "public.orders", "public.people", "public.stamps"}
	testMasksOfSchema(t, db, rules, tables, map[string]bool{
		"'public.people_id_seq', 7002": false, "'public.shared', 7001": false,
		"'public.people_number_seq', 7003": true, "'public.orders_id_seq', 7004": true,
		"'public.events_id_seq', 7005": true, "'public.stamps_stamp_seq', 7006": false, "'public.typed', 7007": false,
	})
}

// TestMasksOfSchemaMariaDB is TestMasksOfSchema for sequences of MariaDB.
func TestMasksOfSchemaMariaDB(t *testing.T) {
	t.Setenv("HOME", os.DevNull) // where no option file is
	database := testkit.MariaDB(t).NewDatabase(t)
	for _, sql := range []string{
		"CREATE SEQUENCE numbers START WITH 7001 NOCACHE", "CREATE SEQUENCE computed START WITH 7002 NOCACHE",
		"CREATE SEQUENCE kept START WITH 7003 NOCACHE", "CREATE SEQUENCE free START WITH 7004 NOCACHE",
		`CREATE TABLE people (id bigint DEFAULT NEXTVAL(numbers) PRIMARY KEY,
			code bigint DEFAULT (NEXTVAL(computed) + 1),
			number bigint DEFAULT NEXTVAL(kept))`,
		"CREATE TABLE orders (nr bigint DEFAULT NEXTVAL(kept) PRIMARY KEY)",
	} {
		database.Exec(t, sql)
	}
	db, err := mysql.OpenSource(t.Context(), database.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rules := rulesOf(t, testKey(t), map[string]string{"people.id": "hash", "people.code": "hash"})
	testMasksOfSchema(t, db, rules, []string{"orders", "people"}, map[string]bool{
		"`numbers`, 7001": false, "`computed`, 7002": false, "`kept`, 7003": true, "`free`, 7004": true,
	})
	needs, err := source.NeedsOf(t.Context(), db, []string{"people"})
	if err != nil {
		t.Fatal(err)
	}
	if needs == nil {
		t.Fatal("the table needs nothing")
	}
	known, err := (&export.Plan{}).MaskTables(t.Context(), db, []string{"people"})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(rules.Schema(needs, known).Statements)
	if strings.Contains(text, "`numbers`, 7001") || !strings.Contains(text, "`kept`, 7003") {
		t.Errorf("the table needs %s", text)
	}
}

// testMasksOfSchema exports tables of a database with its schema, which must have or lack the positions of sequences.
func testMasksOfSchema(
	t *testing.T, db source.Source, rules *mask.Policy, names []string, positions map[string]bool,
) {
	t.Helper()
	for _, way := range []string{"rows", "schema only"} {
		plan := export.Plan{Unencrypted: true, Jobs: 1, Masks: rules}
		var err error
		if plan.Schema, err = source.SchemaOf(t.Context(), db, source.SchemaConfig{ForTables: true}); err != nil {
			t.Fatal(err)
		}
		to := newShelf()
		if way == "rows" {
			_, err = plan.Tables(t.Context(), to, db, names)
		} else {
			err = plan.SchemaOnly(t.Context(), to, db, names)
		}
		if err != nil {
			t.Fatal(err)
		}
		d, err := export.OpenDirectory(filesOf(to))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := d.Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(schema.Statements, schema.ForTables)
		for number, want := range positions {
			if strings.Contains(text, number) != want {
				t.Errorf("%s: the schema has %s: %v", way, number, !want)
			}
			name := number[1:strings.LastIndexAny(number, "'`")]
			if number[0] == '`' {
				name = `"` + name + `"`
			}
			lack := "the position of the sequence " + name + ", a masked value"
			if slices.Contains(d.Manifest.Schema.Lacks, lack) == want {
				t.Errorf("%s: the schema lacks %s: %v", way, name, want)
			}
		}
	}
}
