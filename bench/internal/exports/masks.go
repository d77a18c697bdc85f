package exports

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"culvert/bench/internal/harness"
)

// masksCase is the export of a table of which three columns are masked.
type masksCase struct {
	*tablesCase
	key string // a file
}

// peopleSQL makes people with texts that differ in each row, since equal ones would compress better than real ones.
const peopleSQL = `CREATE TABLE people AS SELECT i AS id,
	'name ' || md5(i::text) AS name,
	'user.' || to_hex(i::bigint * 7919) || '@mail' || i %% 16 || '.example.net' AS email,
	'+49 ' || 100 + i %% 900 || ' ' || lpad((i::bigint * 7919 %% 100000000)::text, 8, '0') AS phone,
	(i::bigint * 104729 %% 10000019)::numeric(12, 2) AS amount,
	timestamptz '2020-01-01 00:00:00+00' + make_interval(secs => i::bigint * 1299709 %% 157680000) AS created,
	i %% 3 = 0 AS done,
	'note ' || i %% 977 || ' ' || md5((i / 7)::text) AS note
	FROM generate_series(1, %d) AS i`

// PrepareMasks compares an export whose columns are masked with one whose columns are not, and with greenmask, which
// hashes the same columns, compresses with pgzip and does not encrypt.
func PrepareMasks(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	c := masksCase{&tablesCase{exporter: e}, filepath.Join(s.Dir, "mask.key")}
	rows := s.Size(3_000_000, 10_000)
	if err := s.Run(c.command(c.culvert, "keygen", "--mask", "-o", c.key)); err != nil {
		return nil, err
	}
	if err := s.Run(c.command("psql", "-qc", fmt.Sprintf(peopleSQL, rows), "-c", "VACUUM (FREEZE, ANALYZE) people",
		"-c", "CHECKPOINT")); err != nil {
		return nil, err
	}
	var printed lines
	if err := printed.addOutput(e, c.command("psql", "-qc", "COPY people TO STDOUT (FORMAT csv, HEADER)")); err != nil {
		return nil, err
	}
	c.size = printed.size
	return []harness.Benchmark{c.benchmark()}, nil
}

func (c *masksCase) benchmark() harness.Benchmark {
	plain, chosen, hashed := c.export(), c.export("email", "name", "phone"), c.export("hash", "hash", "hash")
	b := harness.Benchmark{
		Name: "Masks/source=postgres/columns=3",
		Variants: []harness.Variant{
			{Key: "impl=unmasked", Run: c.settled(c.size, plain)},
			{Key: "impl=culvert", Run: c.settled(c.size, chosen)},
			{Key: "impl=culvert-hash", Run: c.settled(c.size, hashed)},
		},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=unmasked", Unit: "ns/op", Max: 1.15},
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}
	if _, err := exec.LookPath("greenmask"); err != nil {
		c.Say("greenmask is not in PATH, and left out")
		return b
	}
	b.Variants = append(b.Variants, harness.Variant{Key: "impl=greenmask", Run: c.settled(c.size, c.runGreenmask)})
	b.Goals = append(b.Goals,
		harness.Goal{Variant: "impl=culvert-hash", Peer: "impl=greenmask", Unit: "ns/op", Max: 0.3},
		harness.Goal{Variant: "impl=culvert-hash", Peer: "impl=greenmask", Unit: "client-cpu-s/GiB", Max: 0.25},
	)
	return b
}

// export returns an export with rules for email, name and phone, or with none.
func (c *masksCase) export(rules ...string) func(dir string) (harness.Sample, error) {
	return func(dir string) (harness.Sample, error) {
		file := filepath.Join(dir, "people.csv.zst.age")
		args := []string{"export", "postgres:", "people", "-r", c.recipient, "-o", file}
		for i, rule := range rules {
			args = append(args, "--mask", "people."+[]string{"email", "name", "phone"}[i]+"="+rule)
		}
		if len(rules) > 0 {
			args = append(args, "--mask-key", c.key)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		return c.Pipeline("", c.command(c.culvert, args...))
	}
}

const greenmaskConfig = `common: {pg_bin_path: %q, tmp_dir: %q}
log: {level: warn, format: text}
storage: {type: directory, directory: {path: %q}}
dump:
  pg_dump_options: {dbname: "dbname=postgres", jobs: %d, table: "public.people", pgzip: true}
  transformation:
    - schema: public
      name: people
      transformers:
        - {name: Hash, params: {column: email, function: sha256}}
        - {name: Hash, params: {column: name, function: sha256}}
        - {name: Hash, params: {column: phone, function: sha256}}
`

func (c *masksCase) runGreenmask(dir string) (harness.Sample, error) {
	cmd, err := c.greenmask(dir, greenmaskConfig)
	if err != nil {
		return nil, err
	}
	return withoutPeak(c.Pipeline("", cmd))
}

// greenmask returns a dump into a directory, with a configuration that takes the directory of pg_dump, a directory for
// temporary files, that of the dump, and the number of jobs.
func (c *tablesCase) greenmask(dir, configuration string) (*exec.Cmd, error) {
	pgDump, err := exec.LookPath("pg_dump")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(c.Dir, "greenmask.yml")
	text := fmt.Sprintf(configuration, filepath.Dir(pgDump)+"/", c.Dir, dir, parallelJobs)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cmd := c.command("greenmask", "--config", config, "dump")
	cmd.Env = append(cmd.Env, "GREENMASK_GLOBAL_SALT=0123456789abcdef")
	return cmd, nil
}
