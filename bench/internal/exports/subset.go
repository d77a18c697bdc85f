package exports

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"culvert/bench/internal/harness"
)

// subsetSQL makes twelve tables, of which all but products depend on customers, over up to four keys.
//
//go:embed sql/subset.sql
var subsetSQL string

// subsetConditions say in SQL which rows belong to the customers of a region, table by table.
var subsetConditions = map[string]string{
	"products":   "true",
	"customers":  "region = 7",
	"addresses":  "customer IN (SELECT id FROM customers WHERE region = 7)",
	"orders":     "customer IN (SELECT id FROM customers WHERE region = 7)",
	"items":      `"order" IN (SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE region = 7))`,
	"payments":   `"order" IN (SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE region = 7))`,
	"shipments":  `"order" IN (SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE region = 7))`,
	"reviews":    "customer IN (SELECT id FROM customers WHERE region = 7)",
	"carts":      "customer IN (SELECT id FROM customers WHERE region = 7)",
	"cart_items": "cart IN (SELECT id FROM carts WHERE customer IN (SELECT id FROM customers WHERE region = 7))",
	"refunds": `payment IN (SELECT id FROM payments WHERE "order" IN
		(SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE region = 7)))`,
	"events": `shipment IN (SELECT id FROM shipments WHERE "order" IN
		(SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE region = 7)))`,
}

// subsetCase is the export of a hundredth of these tables.
type subsetCase struct {
	*tablesCase
	job string // a file
}

// PrepareSubset compares a subset of several tables with psql, which runs the conditions one after the other and writes
// plain CSV, and with the subset of greenmask. It makes sure that Culvert and psql give the same rows.
func PrepareSubset(s *harness.Session) ([]harness.Benchmark, error) {
	e, err := newExporter(s)
	if err != nil {
		return nil, err
	}
	c := subsetCase{&tablesCase{exporter: e}, filepath.Join(s.Dir, "job.yaml")}
	for table := range subsetConditions {
		c.tables = append(c.tables, table)
	}
	slices.Sort(c.tables)
	fill := c.command("psql", "-q", "-v", "ON_ERROR_STOP=1", "-v", "customers="+strconv.Itoa(s.Size(100_000, 1_000)),
		"-f", "-")
	fill.Stdin = strings.NewReader(subsetSQL)
	if err := s.Run(fill); err != nil {
		return nil, err
	}
	text := "tables:\n  public.customers: { where: \"region = 7\" }\n"
	if err := errors.Join(os.WriteFile(c.job, []byte(text), 0o600), c.check()); err != nil {
		return nil, err
	}
	return []harness.Benchmark{c.benchmark()}, nil
}

func (c *subsetCase) benchmark() harness.Benchmark {
	b := harness.Benchmark{
		Name: "Subset/source=postgres/tables=" + strconv.Itoa(len(c.tables)),
		Variants: []harness.Variant{
			{Key: "impl=psql", Run: c.settled(c.size, c.runPsql)},
			{Key: "impl=culvert", Run: c.settled(c.size, c.runCulvert)},
		},
		Goals: []harness.Goal{{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20}},
	}
	if _, err := exec.LookPath("greenmask"); err != nil {
		c.Say("greenmask is not in PATH, and left out")
		return b
	}
	b.Variants = append(b.Variants, harness.Variant{Key: "impl=greenmask", Run: c.settled(c.size, c.runGreenmask)})
	b.Goals = append(b.Goals, harness.Goal{Variant: "impl=culvert", Peer: "impl=greenmask", Unit: "ns/op", Max: 0.7})
	return b
}

func (c *subsetCase) runCulvert(dir string) (harness.Sample, error) {
	return c.Pipeline("", c.command(c.culvert, "export", "postgres:", "--all", "--job", c.job, "-j",
		strconv.Itoa(parallelJobs), "-r", c.recipient, "-o", dir))
}

func (c *subsetCase) runPsql(dir string) (harness.Sample, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	cmd := c.command("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-")
	var script strings.Builder
	script.WriteString("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;\n")
	for _, table := range c.tables {
		condition := strings.ReplaceAll(subsetConditions[table], "\n", " ") // \copy is one line
		fmt.Fprintf(&script, "\\copy (SELECT * FROM %s WHERE %s) TO '%s' (FORMAT csv, HEADER)\n", table, condition,
			filepath.Join(dir, table+".csv"))
	}
	cmd.Stdin = strings.NewReader(script.String() + "COMMIT;\n")
	return c.Pipeline("", cmd)
}

const subsetConfig = `common: {pg_bin_path: %q, tmp_dir: %q}
log: {level: warn, format: text}
storage: {type: directory, directory: {path: %q}}
dump:
  pg_dump_options: {dbname: "dbname=postgres", jobs: %d, schema: "public", pgzip: true}
  transformation:
    - {schema: public, name: customers, subset_conds: ["public.customers.region = 7"]}
`

func (c *subsetCase) runGreenmask(dir string) (harness.Sample, error) {
	cmd, err := c.greenmask(dir, subsetConfig)
	if err != nil {
		return nil, err
	}
	return withoutPeak(c.Pipeline("", cmd))
}

// check makes sure that the rows of Culvert are those of psql.
func (c *subsetCase) check() error {
	ours, theirs := filepath.Join(c.Dir, "export"), filepath.Join(c.Dir, "psql")
	if _, err := c.runCulvert(ours); err != nil {
		return err
	}
	if _, err := c.runPsql(theirs); err != nil {
		return err
	}
	for _, table := range c.tables {
		var wanted, found lines
		decrypt := c.command(c.age, "-d", "-i", c.identity, filepath.Join(ours, "public."+table+".csv.zst.age"))
		if err := errors.Join(
			wanted.addFile(filepath.Join(theirs, table+".csv")),
			found.addOutput(c.exporter, decrypt, c.command("zstd", "-q", "-d")),
		); err != nil {
			return err
		}
		if found != wanted || found.count < 2 {
			return fmt.Errorf("of %s, psql gives %d lines, and culvert %d", table, wanted.count, found.count)
		}
		c.size += wanted.size
		c.rows += wanted.count - 1
	}
	c.Say("both give the same %d rows of %d tables", c.rows, len(c.tables))
	return errors.Join(settleAll(ours), settleAll(theirs))
}
