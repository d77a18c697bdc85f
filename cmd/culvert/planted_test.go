package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/internal/testkit/planted"
)

// plantedRows is the number of rows with seven planted values each.
const plantedRows = 1430

// plantedNumber is where the numbers of a column go on that has a rule.
const plantedNumber = "918273645918273"

// plantedMaskKey is fixed, so that no masked value is a planted one by chance.
const plantedMaskKey = "CULVERT-MASK-KEY-1-202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f\n"

// plantedMasks has a rule for each of these values, and those that refer to them.
var plantedMasks = []string{
	"--mask-key", "mask.key", "--mask", "*.email=email", "--mask", "*.name=name", "--mask", "*.phone=phone",
	"--mask", "*.card=digits", "--mask", "*.born=year", "--mask", "*.note=text",
	"--mask", "*.doc=json $.to.mail: email",
}

// plant returns the values, and the statements that make the tables that have them.
func plant() (values, statements []string) {
	var people, orders []string
	born := time.Date(1850, 1, 2, 0, 0, 0, 0, time.UTC)
	for i := range plantedRows {
		for born = born.AddDate(0, 0, 1); born.Day() == 1; {
			born = born.AddDate(0, 0, 1) // which the rule year may make
		}
		row := []string{
			fmt.Sprintf("zq%04d.mail@firma.de", i), fmt.Sprintf("Zoë Planted%04d Vogel", i),
			fmt.Sprintf("+49 170 93%05d", i*61), cardNumber(i), born.Format(time.DateOnly),
			fmt.Sprintf("what %04d has said to the doctor", i), fmt.Sprintf("doc%04d@firma.example.de", i),
		}
		values = append(values, row...)
		people = append(people, fmt.Sprintf(`(%d, '%s', '{"to": {"mail": "%s"}, "n": %d}')`, i,
			strings.Join(row[:6], "', '"), row[6], i))
		orders = append(orders, fmt.Sprintf("(%d, '%s')", i, row[0]))
	}
	return values, []string{
		`CREATE TABLE people (id int PRIMARY KEY, email varchar(60) NOT NULL UNIQUE, name varchar(60),
			phone varchar(30), card varchar(20), born date, note text, doc json)`,
		"CREATE TABLE orders (id int PRIMARY KEY, email varchar(60), FOREIGN KEY (email) REFERENCES people (email))",
		"INSERT INTO people VALUES " + strings.Join(people, ", "),
		"INSERT INTO orders VALUES " + strings.Join(orders, ", "),
	}
}

// cardNumber returns the number of a payment card, with its check digit.
func cardNumber(i int) string {
	digits := fmt.Sprintf("45390000%07d", i*6121)
	sum := 0
	for at := range digits {
		d := int(digits[len(digits)-1-at] - '0')
		if at%2 == 0 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return digits + strconv.Itoa((10-sum%10)%10)
}

// plantedRun runs the program in a directory, and searches what it says.
type plantedRun struct {
	t       *testing.T
	dir     string
	secrets *planted.Set
}

func (r *plantedRun) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), "culvert", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(r.dir, "home"), "XDG_CONFIG_HOME=", "TZ=UTC")
	return cmd
}

// run runs a command that is to fail with an error that matches, or not to fail, for "".
func (r *plantedRun) run(fails string, args ...string) {
	r.t.Helper()
	said, err := r.command(args...).CombinedOutput()
	if (err != nil) != (fails != "") || !regexp.MustCompile(fails).Match(said) {
		r.t.Errorf("%q: %v: %s", args, err, said)
	}
	if found := r.secrets.In(said); found != "" {
		r.t.Errorf("%q says %s", args, found)
	}
}

// masked is run with masks.
func (r *plantedRun) masked(fails string, args ...string) {
	r.t.Helper()
	r.run(fails, append(args, plantedMasks...)...)
}

// kill runs a command with masks, and kills it when a file appears.
func (r *plantedRun) kill(pattern string, args ...string) {
	r.t.Helper()
	cmd := r.command(append(args, plantedMasks...)...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed, or not
	}()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for waits := true; waits; {
		select {
		case <-poll.C:
			if found, _ := filepath.Glob(filepath.Join(r.dir, pattern)); found != nil {
				_ = cmd.Process.Kill()
				<-ended
				waits = false
			}
		case <-ended:
			waits = false
		}
	}
	if found := r.secrets.In([]byte(said.String())); found != "" {
		r.t.Errorf("%q says %s", args, found)
	}
}

// plantedDatabase is one that has the values, and others for copies.
type plantedDatabase struct {
	source  string
	change  func(sql string)
	fresh   func(statements ...string) string // makes another one
	raises  [2]string                         // conditions that fail, and of which the database then shows a value
	code    string                            // what their error has
	check   string                            // what the error of a check has
	visits  []string                          // statements that make a table whose next number is plantedNumber
	several bool                              // workers can read it
}

// TestPlanted exports and copies ten thousand values that must not leave, in every way, and searches all that is
// written for them.
func TestPlanted(t *testing.T) {
	t.Parallel()
	values, statements := plant()
	secrets := planted.New(append(values, plantedNumber))
	for name, open := range map[string]func(t *testing.T, statements []string) plantedDatabase{
		"PostgreSQL": plantedPostgres, "MariaDB": plantedMariaDB, "SQLite": plantedSQLite,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "PostgreSQL" {
				testkit.Long(t)
			}
			r := &plantedRun{t, t.TempDir(), secrets}
			d := open(t, statements)
			if err := os.WriteFile(filepath.Join(r.dir, "mask.key"), []byte(plantedMaskKey), 0o600); err != nil {
				t.Fatal(err)
			}
			r.run("", "keygen")
			as, err := r.command("export", d.source, "people", "--no-encrypt", "-c", "none", "-o", "-").Output()
			if err != nil || secrets.In(as) == "" {
				t.Fatalf("nothing is found in values that are not masked: %v: %.300s", err, as)
			}
			r.exports(d)
			r.copies(d)
			r.positions(d)
			r.failures(d)
			key, err := os.Open(filepath.Join(r.dir, "home", ".config", "culvert", "identity.txt"))
			if err != nil {
				t.Fatal(err)
			}
			defer key.Close()
			identities, err := age.ParseIdentities(key)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range secrets.Under(r.dir, identities...) {
				t.Error(found)
			}
		})
	}
}

// exports writes files of each format in each way, and compares them with the database.
func (r *plantedRun) exports(d plantedDatabase) {
	r.t.Helper()
	tables := []string{d.source, "people", "orders"}
	export := func(to string, options ...string) {
		r.t.Helper()
		r.masked("", append(append([]string{"export"}, tables...), append(options, "-v", "--json", "-o", to)...)...)
		r.run("", "verify", to, "--against", d.source, "--mask-key", "mask.key", "-v", "--json")
	}
	export("csv", "--no-encrypt", "-c", "none")
	export("jsonl", "--no-encrypt", "-f", "jsonl", "-c", "gzip")
	export("parts", "--part-size", "64KiB")
	export("parquet", "--no-encrypt", "-f", "parquet")
	export("arrow", "--no-encrypt", "-f", "arrow")
	r.masked("", "export", d.source, "people", "--no-encrypt", "-c", "none", "--csv", "delimiter=;,header=no,null=NULL",
		"-o", "other.csv", "--metrics-file", "export.prom", "--notify", "cat >notified.json", "-v")
	r.masked("", "export", d.source, "people", "-f", "text", "--line", "{id} {email} {doc}", "--no-encrypt", "-o",
		"people.txt")
	r.masked("", "export", d.source, "-q", "SELECT * FROM people ORDER BY born", "--no-encrypt", "-o", "query.csv")
	r.masked("", "export", d.source, "--all", "-o", "all")
	r.masked("", "export", d.source, "--all", "--dry-run")
	r.masked("", "export", d.source, "--all", "--dry-run", "--json", "--strict")
	r.run("have no rule", "export", d.source, "--all", "--strict", "--mask", "people.note=text", "--mask-key",
		"mask.key", "-o", "strict")
	r.run("", "mask", "suggest", d.source)
	r.run("", "mask", "suggest", d.source, "--json")
	for _, file := range []string{"people.parquet", "people.arrow"} {
		r.run("", "inspect", filepath.Join(strings.TrimPrefix(filepath.Ext(file), "."), file), "--json")
	}
	r.run("", "inspect", "csv/people.csv")
	if !d.several {
		return
	}
	export("workers", "--workers", "2", "--part-size", "64KiB")
	queue := natsserver.New(r.t)
	export("queue", "--workers", "2", "--part-size", "64KiB", "--queue", queue.URL())
	r.kill("cut/*", "export", d.source, "people", "orders", "--workers", "2", "--part-size", "64KiB", "--queue",
		queue.URL(), "-o", "cut")
	another := natsserver.New(r.t) // on which no job has been left
	r.apart(d, another.URL())
	for _, found := range append(r.secrets.Under(queue.Data()), r.secrets.Under(another.Data())...) {
		r.t.Error("a queue: ", found)
	}
}

// copies fills other databases, and writes what they have to files.
func (r *plantedRun) copies(d plantedDatabase) {
	r.t.Helper()
	copied, loaded := d.fresh(), d.fresh()
	r.masked("", "copy", d.source, "people", "orders", copied, "--create", "-v", "--json")
	r.run("", "load", "all", loaded, "--create", "-v", "--json")
	for name, source := range map[string]string{"copied": copied, "loaded": loaded} {
		r.run("", "export", source, "--all", "--no-encrypt", "-c", "none", "-o", name)
	}
}

// positions exports tables whose numbers are masked, with and without their rows.
func (r *plantedRun) positions(d plantedDatabase) {
	r.t.Helper()
	visits := d.fresh(d.visits...)
	for i, options := range [][]string{
		{"--all"},
		{"--all", "--data-only"},
		{"--all", "--exclude-rows", "visits"},
		{"--all", "--schema-only"},
		{"visits", "people", "--part-size", "64KiB"},
	} {
		r.run("", append(append([]string{"export", visits}, options...), "-o", fmt.Sprint("positions", i), "--mask",
			"*.id=hash", "--mask-key", "mask.key")...)
	}
}

// failures fails midway.
func (r *plantedRun) failures(d plantedDatabase) {
	r.t.Helper()
	for i, condition := range d.raises {
		to := fmt.Sprint("raised", i)
		r.masked(d.code, "export", d.source, "people", "--where", condition, "-v", "-o", to,
			"--part-size", "64KiB", "--json")
		r.masked(d.code, "export", d.source, "people", "--where", condition, "-o", to+".csv", "--no-encrypt")
		if d.several {
			r.masked(d.code, "export", d.source, "people", "--where", condition, "-v", "-o", to+"shared", "--workers",
				"2", "--part-size", "64KiB", "--json")
		}
		job := fmt.Sprintf("tables:\n  people: { where: %q }\n", condition)
		if err := os.WriteFile(filepath.Join(r.dir, to+".yaml"), []byte(job), 0o600); err != nil {
			r.t.Fatal(err)
		}
		r.masked(d.code, "copy", d.source, "people", d.fresh(), "--create", "--job", to+".yaml")
	}
	unfit := slices.Concat(plantedMasks, []string{"--mask", "people.name=year"})
	for _, args := range [][]string{
		{"export", d.source, "people", "orders", "-o", "unfit", "--json"},
		{"copy", d.source, "people", "orders", d.fresh(), "--create"},
	} {
		r.run("cannot be masked", append(args, unfit...)...)
	}
	narrow := d.fresh(`CREATE TABLE people (id int, email varchar(60) CHECK (email < 'a'), name varchar(60),
		phone varchar(30), card varchar(20), born date, note text, doc json)`)
	r.masked(d.check, "copy", d.source, "people", narrow, "--json")
	r.run(d.check, "load", "csv", narrow, "people", "--redact-errors", "--json")
	if err := os.Mkdir(filepath.Join(r.dir, "rejected"), 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.run("rejected", "load", "csv", narrow, "people", "--reject", "rejected", "--no-encrypt", "--max-rejects", "2000",
		"--ledger", "loaded_files", "-v", "--json")
	if all, err := filepath.Glob(filepath.Join(r.dir, "rejected", "people*")); len(all) != 1 {
		r.t.Errorf("rejected are %q, %v", all, err)
	}
	r.kill("killed/*", "export", d.source, "people", "orders", "--part-size", "64KiB", "--no-encrypt", "-o", "killed")
	d.change("UPDATE people SET name = 'Zoë Planted0001 Vogel' WHERE id = 2")
	r.run("differ", "verify", "csv", "--against", d.source, "--mask-key", "mask.key", "-v", "--json")
	r.run("were masked", "verify", "csv", "--against", d.source)
}

func plantedPostgres(t *testing.T, statements []string) plantedDatabase {
	server := testkit.Postgres(t)
	fresh := func(statements ...string) string {
		database := server.NewDatabase(t)
		for _, sql := range statements {
			database.Exec(t, sql)
		}
		return "postgres:" + database.ConnString()
	}
	was := server.NewDatabase(t)
	for _, sql := range statements {
		was.Exec(t, sql)
	}
	return plantedDatabase{
		source: "postgres:" + was.ConnString(), fresh: fresh, several: true,
		change: func(sql string) { was.Exec(t, sql) },
		code:   "22P02|22007", check: "23514",
		visits: []string{
			"CREATE TABLE people (id int)", "CREATE TABLE visits (id bigserial PRIMARY KEY)",
			"SELECT setval('visits_id_seq', " + plantedNumber + ", false)",
		},
		raises: [2]string{"id < 900 OR email::int > 0", "(doc->'to'->>'mail')::date > now()"},
	}
}

func plantedMariaDB(t *testing.T, statements []string) plantedDatabase {
	server := testkit.MariaDB(t)
	was := server.NewDatabase(t)
	for _, sql := range statements {
		was.Exec(t, sql)
	}
	return plantedDatabase{
		source: was.URL(), change: func(sql string) { was.Exec(t, sql) },
		fresh: func(statements ...string) string {
			database := server.NewDatabase(t)
			for _, sql := range statements {
				database.Exec(t, sql)
			}
			return database.URL()
		},
		code: "1105", check: "4025",
		visits: []string{
			"CREATE TABLE people (id int)",
			"CREATE TABLE visits (id bigint PRIMARY KEY AUTO_INCREMENT) AUTO_INCREMENT=" + plantedNumber,
		},
		raises: [2]string{
			"id < 900 OR extractvalue(1, concat('~', email)) = 1", "updatexml(1, concat('~', name), 1) = 1",
		},
	}
}

func plantedSQLite(t *testing.T, statements []string) plantedDatabase {
	dir, n := t.TempDir(), 0
	run := func(path string, statements ...string) {
		db, err := sqlite3.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range statements {
			if err := db.Exec(sql); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	was := filepath.Join(dir, "was.db")
	run(was, statements...)
	return plantedDatabase{
		source: was, change: func(sql string) { run(was, sql) },
		fresh: func(statements ...string) string {
			n++
			path := filepath.Join(dir, fmt.Sprintf("fresh%d.db", n))
			run(path, append(statements, "PRAGMA user_version = 0")...)
			return path
		},
		code: "SQL logic error", check: "CHECK",
		visits: []string{
			"CREATE TABLE people (id int)", "CREATE TABLE visits (id integer PRIMARY KEY AUTOINCREMENT)",
			"INSERT INTO visits VALUES (" + plantedNumber + ")", "DELETE FROM visits",
		},
		raises: [2]string{"id < 900 OR json(email) = 1", "note LIKE name ESCAPE email"},
	}
}
