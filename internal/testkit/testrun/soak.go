package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// slice is a part of the long forms of tests, which takes a few minutes.
type slice struct {
	name     string
	module   string // its directory, if it is not the root
	packages []string
	tests    string // a regular expression for -run
	system   string // GOOS/GOARCH, if it is a build for another system in place of tests
	race     bool   // the usual forms, under the race detector
	turn     int    // from 1 on, of the packages that take turns under the race detector, if packages is empty
	server   string // which ./dev has put into the directory of the tests, for their usual forms
}

// soakSlices are all long forms.
var soakSlices = []slice{
	{
		name: "log-crashes", packages: []string{"./wal"},
		tests: "^Test(Crash|FlippedBits|Kill|Nonces|Readers|Many|Close)",
	},
	{name: "log-mutants", packages: []string{"./wal"}, tests: "^TestMutants$"},
	{name: "transfers", packages: []string{"./fileservice/..."}, tests: "."},
	{name: "mounts", packages: []string{"./fusefs", "./cmd/culvert"}, tests: "^Test(Suite|ManyReaders|Mount)"},
	{name: "program-race", packages: []string{"./cmd/culvert"}, tests: ".", race: true},
	{name: "databases-race", packages: throughOthers, tests: ".", race: true},
	{
		name: "values-race", packages: slices.Sorted(maps.Keys(valueTests)), tests: testsOfValues(),
		race: true,
	},
	{
		name: "random", packages: []string{
			"./export", "./load", "./mysql/internal/fill", "./postgres/internal/fill", "./sqlite/internal/fill",
		},
		tests: "^Test(PostgresRandom|SQLiteRandom|RandomTables|RandomAcross|Sink)$",
	},
	{
		name: "readers", packages: []string{
			"./format", "./format/arrow", "./format/arrow/arrowread", "./format/parquet",
			"./format/parquet/parquetread", "./format/sniff", "./load",
		},
		tests: "^(TestReaders|TestReadersSpark|TestForeign|TestDamaged|TestStreamDamaged|TestParquetTypes|" +
			"TestArrowTypes|TestDialectReaders|TestDialectPeers|TestDialectDuckDB|TestKindsDuckDB|TestPeers)$",
	},
	{
		name: "schemas", packages: []string{"./load"},
		tests: "^Test(RandomSchemas|RandomTablesPostgres$|Circles$|CopyGenerated$|EqualAcross$|ThousandPartitions$)",
	},
	{
		name: "memory", packages: []string{"./cmd/culvert"},
		tests: "^Test(Export|Load)Memory$|^Test(Load)?MemoryOfLargeRows",
	},
	{name: "schedules", packages: []string{"./workers"}, tests: "^TestSoak$"},
	{name: "coordinators", packages: []string{"./workers"}, tests: "^TestCoordinatorIsKilled$"},
	{name: "coordinators-race", packages: []string{"./workers"}, tests: "^TestCoordinatorIsKilled$", race: true},
	{
		name: "cuts", packages: []string{"./place/bucket", "./export"},
		tests: "^Test(CutRange|CutPart|Sum|AfterFailures)$",
	},
	{name: "benchmarks", module: "bench", packages: []string{"."}, tests: "^TestWorkloads$"},
	{name: "postgres-13", packages: ofPostgres[:1], tests: ".", server: "postgres-13"},
	{name: "postgres-14", packages: ofPostgres, tests: ".", server: "postgres-14"},
	{name: "postgres-16", packages: ofPostgres, tests: ".", server: "postgres-16"},
	{name: "postgres-17", packages: ofPostgres, tests: ".", server: "postgres-17"},
	{name: "postgres-18", packages: ofPostgres, tests: ".", server: "postgres-18"},
	{name: "mysql", packages: []string{"./mysql/..."}, tests: ".", server: "mysql"},
	{name: "windows-amd64", system: "windows/amd64"},
	{name: "linux-arm64", system: "linux/arm64"},
	{name: "darwin-arm64", system: "darwin/arm64"},
	{name: "release", module: "tools/release", packages: []string{"./..."}, tests: "."},
	{name: "module", module: "tools", packages: []string{"./modulepath"}, tests: "."},
	{name: "race-1", tests: ".", race: true, turn: 1},
	{name: "race-2", tests: ".", race: true, turn: 2},
	{name: "race-3", tests: ".", race: true, turn: 3},
	{name: "race-4", tests: ".", race: true, turn: 4},
	{name: "race-5", tests: ".", race: true, turn: 5},
	{name: "race-6", tests: ".", race: true, turn: 6},
}

// ofPostgres are the packages whose tests depend on the version of the server. Workers need version 14.
var ofPostgres = []string{"./postgres/...", "./workers"}

// newestPostgres has pg_dump and psql.
const newestPostgres = "postgres-18/lib/postgresql/18/bin"

// serverEnvironment has tests use a server other than the shared one.
func serverEnvironment(name string) []string {
	if name == "mysql" {
		program := filepath.Join(os.TempDir(), "mysql/bin/mysqld")
		return []string{"CULVERT_TEST_MARIADB=", "CULVERT_TEST_MYSQL=" + program}
	}
	programs := []string{filepath.Join(os.TempDir(), newestPostgres), os.Getenv("PATH")}
	if !strings.HasPrefix(newestPostgres, name) {
		programs = append([]string{filepath.Join(os.TempDir(), name, "bin")}, programs...)
	}
	return []string{"CULVERT_TEST_POSTGRES=", "PATH=" + strings.Join(programs, string(filepath.ListSeparator))}
}

// soak runs slices of the long forms of tests: those that are named, all, or the one whose turn it is today. So each
// gets its turn where it runs once a day or at each change.
func soak(ctx context.Context, r *report, names []string) error {
	r.environment = append(r.environment, "CULVERT_TEST_ALL=1")
	chosen, err := chosenSlices(names)
	if err != nil {
		return err
	}
	for _, s := range chosen {
		if s.system != "" {
			if err := r.build(ctx, s); err != nil {
				return err
			}
			continue
		}
		if s.turn > 0 {
			var err error
			if s.packages, err = turnUnderRace(s.turn - 1); err != nil {
				return err
			}
		}
		p := pass{
			name: "soak " + s.name, dir: cmp.Or(s.module, "."), packages: s.packages,
			flags: []string{parallel, "-run", s.tests}, env: []string{"CULVERT_TEST_SOAK=1"},
		}
		if s.server != "" {
			p.env, p.flags = serverEnvironment(s.server), append(p.flags, "-skip", laterTests)
		}
		if s.race {
			p.flags, p.env = append(raceFlags(), p.flags...), raceEnvironment
		}
		if s.turn > 0 {
			p.flags = append(p.flags, "-skip", laterUnderRace())
		}
		_, _ = fmt.Fprintf(os.Stdout, "\nto repeat this: ./dev soak %s\n", s.name)
		if err := r.goTest(ctx, p); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// chosenSlices returns the slices that names choose: without any, all.
func chosenSlices(names []string) (chosen []slice, err error) {
	if len(names) == 0 {
		names = []string{"all"}
	}
	for _, name := range names {
		switch {
		case name == "all":
			chosen = append(chosen, soakSlices...)
		case name == "today":
			chosen = append(chosen, soakSlices[today()%len(soakSlices)])
		default:
			i := slices.IndexFunc(soakSlices, func(s slice) bool { return s.name == name })
			if i < 0 {
				all := strings.Join(namesOf(soakSlices), ", ")
				return nil, fmt.Errorf("there is no slice %q: there are %s", name, all)
			}
			chosen = append(chosen, soakSlices[i])
		}
	}
	return chosen, nil
}

// build builds the module for another system, with the tests, and vets it. ./dev lint checks types, which takes
// seconds.
func (r *report) build(ctx context.Context, s slice) error {
	goos, goarch, _ := strings.Cut(s.system, "/")
	for _, verb := range []string{"build", "vet"} {
		_, _ = fmt.Fprintf(os.Stdout, "\n== go %s for %s\n", verb, s.system)
		cmd := exec.CommandContext(ctx, "go", verb, "./...")
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		output, err := cmd.CombinedOutput()
		if err != nil {
			lines := strings.Split(strings.TrimSpace(string(output)), "\n")
			r.add(failedTest{pass: "soak", pkg: s.system, name: "go " + verb, lines: append(lines, err.Error())})
			return nil
		}
		r.passed++
	}
	return nil
}

// today is the number of a day, from which the tests that take turns are chosen.
func today() int { return int(time.Now().Unix() / (24 * 60 * 60)) }

func namesOf(all []slice) (names []string) {
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}
