package exports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"culvert/bench/internal/harness"
)

// smallCase is a database of many tables of a hundred rows, each with a key, a sequence and a default.
type smallCase struct {
	*exporter
	name   string // of the database
	tables int
	size   int64 // of the rows as CSV
	dump   string
	export string
}

// PrepareSmall compares culvert with the tools of the databases where the tables are many and small: exports and loads
// of whole databases, also over a round trip of 20 ms, and a copy of one with a large schema.
func PrepareSmall(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s, durable, "max_locks_per_transaction=256")
	if err != nil {
		return nil, err
	}
	var all []harness.Benchmark
	for _, tables := range []int{s.Size(500, 20), s.Size(10_000, 40)} {
		if !s.Wants(smallName("export", "socket", tables)) && !s.Wants(smallName("load", "socket", tables)) {
			continue
		}
		c, err := newSmallCase(e, tables)
		if err != nil {
			return nil, err
		}
		all = append(all, c.exports("socket", c.into(c.name)), c.loads("socket", c.into(target)))
	}
	for _, prepare := range []func() ([]harness.Benchmark, error){e.smallFar, e.copySchema, e.smallMaria} {
		some, err := prepare()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// smallName is the name of a benchmark of tables of PostgreSQL.
func smallName(work, path string, tables int) string {
	return fmt.Sprintf("Small/source=postgres/work=%s/path=%s/tables=%d", work, path, tables)
}

// smallFar compares exports and loads over a long round trip.
func (e *exporter) smallFar() ([]harness.Benchmark, error) {
	const path = "20ms"
	tables := e.Size(50, 10)
	if !e.Wants(smallName("export", path, tables)) && !e.Wants(smallName("load", path, tables)) {
		return nil, nil
	}
	far, err := newSmallCase(e, tables)
	if err != nil {
		return nil, err
	}
	proxy, err := newFarProxy(e.Session, filepath.Join(e.server.Home(), ".s.PGSQL.5432"), 20*time.Millisecond)
	if err != nil {
		return nil, err
	}
	remote := append(far.into(far.name), "PGHOST=127.0.0.1", "PGPORT="+proxy.port)
	return []harness.Benchmark{
		far.exports(path, remote), far.loads(path, append(remote, "PGDATABASE="+target)),
	}, nil
}

func newSmallCase(e *exporter, tables int) (*smallCase, error) {
	c := &smallCase{exporter: e, name: fmt.Sprintf("small_%d", tables), tables: tables}
	c.dump, c.export = filepath.Join(e.Dir, c.name+".dump"), filepath.Join(e.Dir, c.name+".export")
	fill := fmt.Sprintf(`DO $do$ BEGIN FOR i IN 1 .. %d LOOP EXECUTE format(
		'CREATE TABLE small_%%s (id serial PRIMARY KEY, name text NOT NULL, price numeric(10,2),
			at timestamptz DEFAULT now());
		INSERT INTO small_%%1$s (name, price) SELECT md5(n::text), n * 1.1 FROM generate_series(1, 100) AS n', i);
		IF i %% 20 = 0 THEN COMMIT; END IF;
	END LOOP; END $do$`, tables)
	env := c.into(c.name)
	if err := errors.Join(c.Run(c.command("createdb", c.name)),
		c.Run(c.in(env, "psql", "-qc", fill, "-c", "ANALYZE")),
		c.Run(c.pgDump(env, c.dump)), c.Run(c.culvertExport(env, c.export))); err != nil {
		return nil, err
	}
	one, err := c.in(env, "psql", "-qc", "COPY small_1 TO STDOUT (FORMAT csv, HEADER)").Output()
	c.size = int64(tables * len(one))
	return c, err
}

func (c *smallCase) pgDump(env []string, to string) *exec.Cmd {
	return c.in(env, "pg_dump", "-Fd", "-j", strconv.Itoa(parallelJobs), "-f", to)
}

func (c *smallCase) culvertExport(env []string, to string) *exec.Cmd {
	return c.in(env, c.culvert, "export", "postgres:", "--all", "-j", strconv.Itoa(parallelJobs), "-r", c.recipient,
		"-o", to)
}

// exports compares exports of the whole database with its schema.
func (c *smallCase) exports(path string, env []string) harness.Benchmark {
	return c.benchmark("export", path, "impl=pg_dump",
		harness.Variant{Key: "impl=pg_dump", Run: c.kept(c.name, func(dir string) (harness.Sample, error) {
			return c.cost(c.size, func() (harness.Sample, error) {
				return withoutPeak(c.Pipeline("", c.pgDump(env, dir)))
			})
		})},
		harness.Variant{Key: "impl=culvert", Run: c.kept(c.name, func(dir string) (harness.Sample, error) {
			got, err := c.cost(c.size, func() (harness.Sample, error) {
				return c.Pipeline("", c.culvertExport(env, dir))
			})
			if err != nil {
				return nil, err
			}
			return got, c.expectFiles(dir)
		})})
}

// kept is a run that writes a directory, after which it waits until the disk has it. The directory stays to the end of
// the session: for a while after many files were removed, some file systems take much longer to create others.
func (e *exporter) kept(name string, run func(dir string) (harness.Sample, error)) harness.Run {
	return func() (harness.Sample, error) {
		dir, err := os.MkdirTemp(e.Dir, name)
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(dir, "export")
		got, err := run(dir)
		if err != nil {
			return nil, err
		}
		return got, syncAll(dir)
	}
}

// syncAll waits until the disk has all files of a directory.
func syncAll(dir string) error {
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(file.Sync(), file.Close())
	})
}

func (c *smallCase) expectFiles(dir string) error {
	found, err := filepath.Glob(filepath.Join(dir, "public.small_*.csv.zst.age"))
	if err == nil && len(found) != c.tables {
		err = fmt.Errorf("culvert writes %d of %d tables", len(found), c.tables)
	}
	return err
}

// loads compares loads into an empty database.
func (c *smallCase) loads(path string, env []string) harness.Benchmark {
	into := &loadCase{exporter: c.exporter}
	tell := func() (string, error) {
		out, err := c.in(c.into(target), "psql", "-qAtc", "SELECT count(*), sum((xpath('/row/n/text()', query_to_xml("+
			"'SELECT count(*) AS n FROM ' || oid::regclass, true, true, '')))[1]::text::bigint), "+
			"(SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND connamespace = 'public'::regnamespace) "+
			"FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace").Output()
		return strings.TrimSpace(string(out)), err
	}
	filled := filling{
		c.size,
		[]*harness.Tree{c.database},
		func() error { return into.newTarget() }, tell,
		fmt.Sprintf("%d|%d|%[1]d", c.tables, c.tables*100),
	}
	jobs := strconv.Itoa(parallelJobs)
	return c.benchmark("load", path, "impl=pg_restore",
		filled.by("impl=pg_restore", func() (harness.Sample, error) {
			return withoutPeak(c.Pipeline("", c.in(env, "pg_restore", "-j", jobs, "-d", target, c.dump)))
		}),
		filled.by("impl=culvert", func() (harness.Sample, error) {
			return c.Pipeline("", c.in(env, c.culvert, "load", "--create", "--from", "anyone", "-i", c.identity,
				"-j", jobs, c.export, "postgres:"))
		}))
}

func (c *smallCase) benchmark(work, path, peer string, variants ...harness.Variant) harness.Benchmark {
	most := 1.0
	if path != "socket" {
		most = 0.8
	}
	return harness.Benchmark{
		Name:     smallName(work, path, c.tables),
		Rotate:   true,
		Variants: variants,
		Goals:    []harness.Goal{{Variant: "impl=culvert", Peer: peer, Unit: "ns/op", Max: most}},
	}
}

// copySchema compares a copy of a database whose schema takes longer than its rows with pgcopydb.
func (e *exporter) copySchema() ([]harness.Benchmark, error) {
	tables := e.Size(300, 6)
	benchmark := fmt.Sprintf("Small/source=postgres/work=copy/path=socket/schema=%d", tables)
	if !e.Wants(benchmark) {
		return nil, nil
	}
	program, err := exec.LookPath("pgcopydb")
	if err != nil {
		e.Say("pgcopydb is not installed, and copies of a large schema are not compared")
		return nil, nil
	}
	const name = "schema"
	fill := fmt.Sprintf(largeSchema, tables)
	if err := errors.Join(e.Run(e.command("createdb", name)),
		e.Run(e.in(e.into(name), "psql", "-q", "--set", "ON_ERROR_STOP=1", "-c", fill, "-c", "ANALYZE"))); err != nil {
		return nil, err
	}
	into := &loadCase{exporter: e}
	schemaOf := func(database string) (string, error) {
		out, err := e.command("pg_dump", "-s", "-d", database).Output()
		var lines []string
		for line := range strings.Lines(string(out)) {
			if !strings.HasPrefix(line, `\`) { // which have another key in each dump
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, ""), err
	}
	wanted, err := schemaOf(name)
	if err != nil {
		return nil, err
	}
	filled := filling{
		1 << 20,
		[]*harness.Tree{e.database},
		func() error { return into.newTarget() },
		func() (string, error) { return schemaOf(target) }, wanted,
	}
	jobs, work := strconv.Itoa(parallelJobs), filepath.Join(e.Dir, "pgcopydb")
	from, to := e.server.ConnString(name), e.server.ConnString(target)
	return []harness.Benchmark{{
		Name:   benchmark,
		Rotate: true,
		Variants: []harness.Variant{
			filled.by("impl=pgcopydb", func() (harness.Sample, error) {
				got, err := withoutPeak(e.Pipeline("", e.command(program, "clone", "--source", from, "--target", to,
					"--table-jobs", jobs, "--index-jobs", jobs, "--no-owner", "--no-acl", "--dir", work)))
				return got, errors.Join(err, os.RemoveAll(work))
			}),
			filled.by("impl=culvert", func() (harness.Sample, error) {
				return e.Pipeline("", e.command(e.culvert, "copy", "postgres:"+from, "--all", "--create", "-j", jobs,
					"postgres:"+to))
			}),
		},
		Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=pgcopydb", Unit: "ns/op", Max: 1}},
	}}, nil
}

// largeSchema makes tables with keys, four indexes for three of them, views, functions and triggers.
const largeSchema = `DO $do$ BEGIN FOR i IN 1 .. %d LOOP EXECUTE format($sql$
	CREATE TABLE t_%%1$s (id serial PRIMARY KEY, name text NOT NULL, up int REFERENCES t_%%1$s, price numeric(10,2)
		CHECK (price >= 0));
	CREATE INDEX ON t_%%1$s (name);
	CREATE VIEW v_%%1$s AS SELECT id, upper(name) AS name FROM t_%%1$s WHERE price > 1;
	CREATE FUNCTION f_%%1$s() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.name := trim(NEW.name); RETURN NEW; END';
	CREATE TRIGGER g_%%1$s BEFORE INSERT ON t_%%1$s FOR EACH ROW EXECUTE FUNCTION f_%%1$s();
	INSERT INTO t_%%1$s (name, price) SELECT md5(n::text), n FROM generate_series(1, 20) AS n$sql$, i);
	IF i %% 3 = 0 THEN EXECUTE format('CREATE INDEX ON t_%%s (price DESC) WHERE price > 1', i); END IF;
	IF i %% 20 = 0 THEN COMMIT; END IF;
END LOOP; END $do$`
