package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// uninstrumented are packages that only compute, in one goroutine: SQLite, which is C that was translated into Go,
// compression and hashes. They take five times as long if the race detector looks at each access to their memory. It
// still sees what their callers do with that memory. Packages that start goroutines or use sync/atomic must not be
// here: the detector would not see what they wait for, and report races that are none.
var uninstrumented = []string{
	"github.com/ncruces/go-sqlite3-wasm/...", "github.com/klauspost/compress/flate",
	"github.com/klauspost/compress/huff0", "github.com/zeebo/xxh3", "culvert/internal/compress/internal/zstdenc",
}

// raceFlags are those of go test for the race detector.
func raceFlags() []string {
	flags := append(slices.Clone(unneeded), "-race")
	for _, pattern := range uninstrumented {
		flags = append(flags, "-gcflags="+pattern+"=-race=false")
	}
	return flags
}

// raceEnvironment has a program with the race detector end at once: it waits for a second otherwise, and the tests
// start hundreds.
var raceEnvironment = []string{"GORACE=atexit_sleep_ms=0"}

// throughOthers are packages whose goroutines run below the tests of other packages too, with the race detector: those
// of export, load and workers read and write databases from many goroutines. The tests of their own look at values and
// at errors. As those of the program, they are run under the race detector by a slice of the long forms.
var throughOthers = []string{
	"./internal/testkit", "./internal/testkit/crashfs", "./internal/testkit/stores", "./internal/testkit/testrun",
	"./gormdb", "./mysql", "./mysql/internal/fill", "./mysql/internal/read", "./postgres", "./postgres/internal/fill",
	"./postgres/internal/read", "./sqldb", "./sqlite", "./sqlite/internal/read",
}

// valueTests are tests of the values that come out, by packages. They take the same way through the same goroutines as
// the other tests of the package do, and are run under the race detector by a slice of the long forms. Tests are left
// out by their names, in all packages at once. So every package with a test of such a name must be listed.
var valueTests = map[string][]string{
	"./agefile": {"VectorsReader", "VectorsReaderAt", "VectorsWriter"},
	"./bytebuf": {"BadInput"},
	"./export": {
		"CanonicalSum", "OpenDamaged", "PostgresAnyBytes", "PostgresDeepJSON", "PostgresEncodings", "PostgresHighChar",
		"PostgresJSONLimits", "PostgresJSONOnOneLine", "PostgresRandom", "PostgresReadersSQLASCII",
		"PostgresRowSecurity", "PostgresTables", "PostgresValues", "SQLiteAnyBytes", "SQLiteFullText",
		"SQLiteJSONLimits", "SQLiteOtherTables", "SQLiteRandom", "SQLiteShell", "SQLiteValues", "SumOfPostgres",
		"SumOfPrinted", "TablesWaiting",
	},
	"./load": {
		"Across", "AcrossAffinities", "AcrossCollations", "AcrossEnums", "AcrossExisting", "AcrossLists",
		"AcrossNoEqual", "AcrossOnUpdate", "AcrossRelated", "AcrossTextKeys", "AcrossTypes", "AcrossUnsigned",
		"CreateFromMariaDB", "CreateNoEqual", "CreateOther", "CreateUntyped", "EqualAcross", "InfinityOfSQLite",
		"JSONInJSONL", "JSONTextOfSQLite", "LongNames", "RandomAcross", "RandomSchemasMariaDB",
		"RandomSchemasPostgres", "RandomSchemasSQLite", "RandomTables", "ReadBack", "ReadBackFitted",
		"ReadBackGenerated", "RowNumber", "SumOfJSONL", "TimesOfSQLite", "ValuesOfSQLite",
	},
	"./secureconn": {"Golden", "Nonces"},
	"./wal": {
		"BadInput", "DamageAfterRecovery", "DamagedShortSegment", "DoubtfulHeads", "Exhaustive", "FlippedBits",
		"ForeignSegment", "ForgedHeads", "Golden", "Mutants", "Nonces", "NoncesAfterFailures", "StaleRecords",
		"Strangers",
	},
}

// raceTurns is the number of parts of the packages in which something runs at the same time. ./dev test takes one of
// them under the race detector, another each day, and each is a slice of the long forms.
const raceTurns = 6

// turnOf returns the turn of a day, from 0 on. It is never that of the slice of the long forms on the same day.
func turnOf(day int) int { return (day + 1) % raceTurns }

// turnUnderRace returns the packages of a turn, from 0 on: every sixth of them, since the first take longest.
func turnUnderRace(turn int) (packages []string, err error) {
	concurrent, err := concurrentPackages(".")
	for i := turn; i < len(concurrent); i += raceTurns {
		packages = append(packages, concurrent[i])
	}
	return packages, err
}

// laterUnderRace returns a regular expression for tests that ./dev test leaves out of the pass with the race detector:
// those that slices have.
func laterUnderRace() string { return testsOfValues() + "|" + laterTests }

// testsOfValues returns a regular expression for all names of [valueTests].
func testsOfValues() string {
	var names []string
	for _, pkg := range slices.Sorted(maps.Keys(valueTests)) {
		names = append(names, valueTests[pkg]...)
	}
	return "^Test(" + strings.Join(names, "|") + ")$"
}

var concurrency = regexp.MustCompile(
	`(?m)^\s*go |^\s*"(sync|sync/atomic|database/sql|testing/synctest)"|\.Parallel\(\)|\.Go\(`)

// concurrentPackages returns the packages in which something may run at the same time: in the package, in its tests, or
// in database/sql, which closes rows from a goroutine of its own. It leaves out those whose own tests under the race
// detector are a long form.
func concurrentPackages(root string) ([]string, error) {
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			name := entry.Name()
			hidden := path != "." && strings.HasPrefix(name, ".")
			if path == "bench" || path == "tools" || name == "testdata" || hidden {
				return fs.SkipDir
			}
			return nil
		}
		dir := "./" + filepath.ToSlash(filepath.Dir(path))
		if filepath.Ext(path) != ".go" || found[dir] {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		found[dir] = err == nil && concurrency.Match(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	later := append([]string{program}, throughOthers...)
	for _, dir := range later {
		delete(found, dir)
	}
	packages := slices.DeleteFunc(slices.Clone(longest), func(dir string) bool { return slices.Contains(later, dir) })
	first := len(packages)
	for dir, is := range found {
		if is && !slices.Contains(longest, dir) {
			packages = append(packages, dir)
		}
	}
	slices.Sort(packages[first:])
	return packages, nil
}
