package exports

import (
	"fmt"
	"path/filepath"
	"strconv"

	"culvert/bench/internal/harness"
)

// smallTables are tables of a hundred rows, each with a key, a sequence and a default, in a database of their own.
const smallTables = "small_tables"

// small compares the export of a whole database of many small tables, with its schema, with pg_dump.
func (c *tablesCase) small() (harness.Benchmark, error) {
	tables := c.Session.Size(500, 20)
	fill := fmt.Sprintf(`DO $do$ BEGIN FOR i IN 1 .. %d LOOP EXECUTE format(
		'CREATE TABLE small_%%s (id serial PRIMARY KEY, name text NOT NULL, price numeric(10,2),
			at timestamptz DEFAULT now());
		INSERT INTO small_%%1$s (name, price) SELECT md5(n::text), n * 1.1 FROM generate_series(1, 100) AS n', i);
		IF i %% 20 = 0 THEN COMMIT; END IF;
	END LOOP; END $do$`, tables)
	env := c.into(smallTables)
	if err := c.Run(c.command("createdb", smallTables)); err != nil {
		return harness.Benchmark{}, err
	}
	if err := c.Run(c.in(env, "psql", "-qc", fill, "-c", "ANALYZE")); err != nil {
		return harness.Benchmark{}, err
	}
	one, err := c.in(env, "psql", "-qc", "COPY small_1 TO STDOUT (FORMAT csv, HEADER)").Output()
	if err != nil {
		return harness.Benchmark{}, err
	}
	size, jobs := int64(tables*len(one)), strconv.Itoa(parallelJobs)
	return harness.Benchmark{
		Name: fmt.Sprintf("Tables/source=postgres/small=%d", tables),
		Variants: []harness.Variant{
			{Key: "impl=pg_dump", Run: c.settled(size, func(dir string) (harness.Sample, error) {
				return withoutPeak(c.Pipeline("", c.in(env, "pg_dump", "-Fd", "-j", jobs, "-f", dir)))
			})},
			{Key: "impl=culvert", Run: c.settled(size, func(dir string) (harness.Sample, error) {
				got, err := c.Pipeline("", c.in(env, c.culvert, "export", "postgres:", "--all", "-j", jobs,
					"-r", c.recipient, "-o", dir))
				if err != nil {
					return nil, err
				}
				found, err := filepath.Glob(filepath.Join(dir, "public.small_*.csv.zst.age"))
				if err == nil && len(found) != tables {
					err = fmt.Errorf("culvert writes %d of %d tables", len(found), tables)
				}
				return got, err
			})},
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=pg_dump", Unit: "ns/op", Max: 1},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}, nil
}
