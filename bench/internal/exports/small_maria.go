package exports

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"culvert/bench/internal/harness"
)

// smallMaria compares exports and loads of many small tables of MariaDB. mariadb-import reads text, one file a table,
// into tables that mariadb makes.
func (e *exporter) smallMaria() ([]harness.Benchmark, error) {
	tables := e.Size(500, 20)
	name := func(work string) string {
		return fmt.Sprintf("Small/source=mariadb/work=%s/path=socket/tables=%d", work, tables)
	}
	if !e.Wants(name("export")) && !e.Wants(name("load")) {
		return nil, nil
	}
	for _, program := range []string{"mariadb", "mariadb-dump", "mariadb-import", "mydumper"} {
		if _, err := exec.LookPath(program); err != nil {
			e.Say("%s is not installed, and small tables of MariaDB are not compared", program)
			return nil, nil
		}
	}
	maria, err := e.MariaDB()
	if err != nil {
		return nil, err
	}
	var fill strings.Builder
	for i := range tables {
		fmt.Fprintf(&fill, "CREATE TABLE small_%d (id int AUTO_INCREMENT PRIMARY KEY, name text NOT NULL, "+
			"price decimal(10,2), at timestamp DEFAULT now()); INSERT INTO small_%[1]d (name, price) "+
			"SELECT md5(seq), seq * 1.1 FROM seq_1_to_100;\n", i)
	}
	run := func(script, database string) error {
		cmd := e.in(maria.Env, "mariadb", database)
		cmd.Stdin = strings.NewReader(script)
		return e.Run(cmd)
	}
	texts, exported := filepath.Join(e.Dir, "small.texts"), filepath.Join(e.Dir, "small.maria")
	const source = "mysql://root@localhost/bench"
	export := func(to string) *exec.Cmd {
		return e.in(maria.Env, e.culvert, "export", source, "--all", "-j", strconv.Itoa(parallelJobs),
			"-r", e.recipient, "-o", to)
	}
	if err := errors.Join(run(fill.String(), "bench"), os.Mkdir(texts, 0o777), os.Chmod(texts, 0o777),
		e.Run(e.in(maria.Env, "mariadb-dump", "--tab", texts, "bench")), e.Run(export(exported))); err != nil {
		return nil, err
	}
	tell := func(database string) (string, error) {
		names := make([]string, tables)
		for i := range names {
			names[i] = fmt.Sprintf("small_%d", i)
		}
		out, err := e.in(maria.Env, "mariadb", "-Ne", "CHECKSUM TABLE "+strings.Join(names, ", "), database).Output()
		return strings.ReplaceAll(string(out), database+".", ""), err
	}
	wanted, err := tell("bench")
	if err != nil {
		return nil, err
	}
	servers, size := []*harness.Tree{maria.Tree}, int64(tables*6_000)
	dumped := func(command func(dir string) *exec.Cmd) harness.Run {
		return e.kept("maria", func(dir string) (harness.Sample, error) {
			return harness.Work{Bytes: size}.Between("client", servers, func() (harness.Sample, error) {
				return e.Pipeline("", command(dir))
			})
		})
	}
	filled := filling{size, servers, func() error {
		return run("DROP DATABASE IF EXISTS target; CREATE DATABASE target", "mysql")
	}, func() (string, error) { return tell("target") }, wanted}
	jobs := strconv.Itoa(parallelJobs)
	return []harness.Benchmark{
		{
			Name: name("export"), Rotate: true,
			Variants: []harness.Variant{
				{Key: "impl=mydumper", Run: dumped(func(dir string) *exec.Cmd {
					return e.in(maria.Env, "mydumper", "-t", jobs, "-c", "-B", "bench", "-o", dir)
				})},
				{Key: "impl=culvert", Run: dumped(export)},
			},
			Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=mydumper", Unit: "ns/op", Max: 1}},
		},
		{
			Name: name("load"), Rotate: true,
			Variants: []harness.Variant{
				filled.by("impl=mariadb-import", func() (harness.Sample, error) {
					return e.Pipeline("", e.in(maria.Env, "sh", "-c", `cat "$0"/*.sql | mariadb target && `+
						`mariadb-import --local --use-threads=`+jobs+` target "$0"/*.txt`, texts))
				}),
				filled.by("impl=culvert", func() (harness.Sample, error) {
					return e.Pipeline("", e.in(maria.Env, e.culvert, "load", "--create", "--from", "anyone",
						"-i", e.identity, "-j", jobs, exported, "mysql://root@localhost/target"))
				}),
			},
			Goals: []harness.Goal{{Variant: "impl=culvert", Peer: "impl=mariadb-import", Unit: "ns/op", Max: 1}},
		},
	}, nil
}
