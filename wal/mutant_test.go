package wal

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

// mutants are faults that the tests of crashes and damage must find. Each removes one thing that durability depends on.
// All are built at once; MUTANT is true for the selected one. The test named by finds it at the least cost.
var mutants = []struct{ name, by, file, from, to string }{
	{"sync after a write", "Exhaustive", "flush.go", "err = l.file.Sync()", "err = unless(MUTANT, l.file.Sync)"},
	{
		"sync before the next segment", "Faults", "flush.go",
		"sync := (rotate || b.sync ||",
		"sync := (rotate && !MUTANT || b.sync ||",
	},
	{
		"sync of a new segment", "Exhaustive", "segment.go",
		"if err := file.Sync(); err != nil {\n\t\treturn nil",
		"if err := unless(MUTANT, file.Sync); err != nil {\n\t\treturn nil",
	},
	{
		"sync of the name of a segment", "Exhaustive", "segment.go", "syncNames() error {",
		"syncNames() error {\n\tif MUTANT {\n\t\treturn nil\n\t}\n\t",
	},
	{
		"directory that is held", "Exhaustive", "segment.go", "return l.dir.Sync() }",
		"return either(MUTANT, func() error { return l.options.fs.SyncDir(l.dir.path) }, l.dir.Sync)() }",
	},
	{
		"sync of the name of the log", "Exhaustive", "recover.go",
		"err := l.options.fs.SyncDir(filepath.Dir(l.dir.path)); err != nil {",
		"err := unless(MUTANT, func() error { return l.options.fs.SyncDir(filepath.Dir(l.dir.path)) }); err != nil {",
	},
	{
		"sync of a header", "Exhaustive", "segment.go",
		"if err := file.Sync(); err != nil {\n\t\treturn err\n",
		"if err := unless(MUTANT, file.Sync); err != nil {\n\t\treturn err\n",
	},
	{
		"second slot", "Exhaustive", "segment.go",
		"slotOffset(s.generation+1)",
		"slotOffset(either(MUTANT, s.generation, s.generation+1))",
	},
	{
		"watermark of headers", "DamageAfterRecovery", "scan.go",
		"t.proven, s.watermark)",
		"t.proven, either(MUTANT, 0, s.watermark))",
	},
	{
		"sync in Close", "TailAndClose", "log.go",
		"l.closed = true\n\tl.filling.sync = true",
		"l.closed = true\n\tl.filling.sync = !MUTANT || l.filling.sync",
	},
	{
		"sync in Sync", "Exhaustive", "log.go",
		"\tl.filling.sync = true\n\t_, err := l.await",
		"\tl.filling.sync = !MUTANT || l.filling.sync\n\t_, err := l.await",
	},
	{
		"sync before a cut", "CutKeepsWhatComes", "truncate.go",
		"err = l.err()\n\tl.filling.sync = true",
		"err = l.err()\n\tl.filling.sync = !MUTANT || l.filling.sync",
	},
	{
		"failure that stays", "Faults", "flush.go", "\t\tl.fail(err)\n\t\terr = l.failure",
		"\t\tif !MUTANT {\n\t\t\tl.fail(err)\n\t\t\terr = l.failure\n\t\t}",
	},
	{
		"copy of what is not proven", "StaleRecords", "recover.go",
		"\tend := scan.offset",
		"\tt.last = either(MUTANT, t.proven, t.last)\n\tend := scan.offset",
	},
	{
		"new segment after a crash", "Faults", "recover.go",
		"!merged && !newest.sealed {",
		"!merged && !newest.sealed && (!MUTANT || inv.tail.last > inv.tail.proven) {",
	},
	{
		"checksum", "StaleRecords", "record.go",
		"binary.LittleEndian.Uint32(b) != crc32.Update(",
		"!MUTANT && binary.LittleEndian.Uint32(b) != crc32.Update(",
	},
	{
		"place in the index", "StaleRecords", "index.go",
		"mark{s.next, s.offset}",
		"mark{s.next + either[LSN](MUTANT, 1, 0), s.offset}",
	},
	{
		"salt", "StaleRecords", "header.go",
		"crc32.Update(0, castagnoli, h.salt[:])",
		"either(MUTANT, 0, crc32.Update(0, castagnoli, h.salt[:]))",
	},
	{
		"LSN", "StaleRecords", "record.go",
		"case f.size > limit, f.lsn != want,",
		"case f.size > limit, !MUTANT && f.lsn != want,",
	},
	{"whole groups", "StaleRecords", "scan.go", "if f.groupEnd {", "if MUTANT || f.groupEnd {"},
	{
		"header in the other slot", "Exhaustive", "segment.go",
		"\ts.generation++\n",
		"\ts.generation += either[uint64](MUTANT, 0, 1)\n",
	},
	{
		"watermark", "FullDiskAfterKill", "append.go",
		"watermark: l.durable,",
		"watermark: either(MUTANT, 0, l.durable),",
	},
	{
		"search behind damage", "FlippedBits", "scan.go",
		"max(watermark, t.proven,",
		"max(either(MUTANT, 0, watermark), t.proven,",
	},
	{
		"checksum of headers", "BadInput", "header.go",
		"crc32.Checksum(b[:crcOffset], castagnoli):\n\t\treturn header{}, ErrCorrupt",
		"crc32.Checksum(b[:crcOffset], castagnoli) && !MUTANT:\n\t\treturn header{}, ErrCorrupt",
	},
	{"authenticated headers", "BadInput", "header.go", "if !hmac.Equal(", "if !MUTANT && !hmac.Equal("},
	{
		"authenticated records", "BadInput", "scan.go",
		"s.nonce.set(f.lsn), f.payload, f.head)\n",
		"s.nonce.set(f.lsn), f.payload, f.head)\n\terr = either(MUTANT, nil, err)\n",
	},
	{
		"salt of the segment before", "BadInput", "inventory.go",
		"if s.previous != inv.chain[i].salt {",
		"if !MUTANT && s.previous != inv.chain[i].salt {",
	},
	{"higher segment number", "Faults", "inventory.go", "if s.base > limit ||", "if !MUTANT && s.base > limit ||"},
	{"counter of cuts", "RefilledCut", "segment.go", "h.cuts++", "h.cuts += either[uint64](MUTANT, 0, 1)"},
	{"counter of cuts after Open", "RefilledCut", "recover.go", "newest.cuts", "either(MUTANT, 0, newest.cuts)"},
	{
		"cut between short segments", "RefilledCut", "merge.go",
		"|| s.cuts != l.cuts ||",
		"|| !MUTANT && s.cuts != l.cuts ||",
	},
	{
		"end of short segments", "ShortSegments", "merge.go",
		"last: t.last}",
		"last: t.last - either[LSN](MUTANT, 1, 0)}",
	},
	{
		"LSN of a new log", "First", "copy.go", "return l.restart(first)",
		"l.first, l.next = first, first\n\treturn unless(MUTANT, func() error { return l.restart(first) })",
	},
	{"lock that is held", "LostLock", "flush.go", "err = l.lock.Held() //", "err = unless(MUTANT, l.lock.Held) //"},
	{
		"reserve of the tail", "FullDiskAfterKill", "recover.go",
		"trim(file, t.end)", "if !MUTANT {\n\t\ttrim(file, t.end)\n\t}",
	},
	{
		"reserve of the former segment", "CutsKeepNoReserve", "segment.go", "trim(former, end)",
		"if !MUTANT {\n\t\t\ttrim(former, end)\n\t\t}",
	},
	{
		"records before the reserve", "StaleRecords", "segment.go", "trim(former, end)",
		"trim(former, end-either[int64](MUTANT, 8, 0))",
	},
	{
		"spare for the next Open", "FullDiskAfterKill", "segment.go", "return headerSize + size/16",
		"return either(MUTANT, 0, headerSize+size/16)",
	},
	{
		"spare for all of a segment", "FullDiskAfterKillUnsynced", "segment.go", "\treturn headerSize + size\n",
		"\treturn headerSize + either(MUTANT, size/16, size)\n",
	},
	{
		"room of what was copied", "FullDiskAfterKillUnsynced", "recover.go", "trim(file, scan.offset)",
		"if !MUTANT {\n\t\ttrim(file, scan.offset)\n\t}",
	},
	{"halt before a cut", "CutKeepsWhatComes", "truncate.go", "l.halt() //", "if !MUTANT {\n\t\tl.halt()\n\t} //"},
	{"room for others", "NoRoomForLarge", "append.go", "&& !l.fits(size) {", "&& (MUTANT || !l.fits(size)) {"},
	{
		"end of Tail after Close", "TailAndClose", "read.go", "if l.over { // before",
		"if either(MUTANT, l.closed, l.over) { // before",
	},
	{
		"change of the log under a reader", "SegmentsLeaveMeanwhile", "beside.go", "const attempts = 1000",
		"attempts := either(MUTANT, 1, 1000)",
	},
}

// mutantOf is the environment variable that selects a mutant.
const mutantOf = "CULVERT_WAL_MUTANT"

// mutantSwitch is the code that the mutants use.
const mutantSwitch = `package wal

import "os"

var mutant = os.Getenv("` + mutantOf + `")

func either[T any](mutated bool, changed, original T) T {
	if mutated {
		return changed
	}
	return original
}

func unless(mutated bool, call func() error) error {
	if mutated {
		return nil
	}
	return call()
}
`

// TestMutants builds the package with these faults, and checks that the test that is named for each fails with it and
// passes without any. The long form runs all these tests on each.
func TestMutants(t *testing.T) {
	testkit.Long(t)
	if testkit.RaceDetector() {
		t.Skip("each mutant is a fault of one goroutine, and the detector has no part in finding it")
	}
	program := buildMutants(t)
	run := func(name, tests string) (string, error) {
		test := exec.Command(program, "-test.failfast", "-test.timeout=5m", "-test.run", "^Test("+tests+")$")
		test.Env = append(os.Environ(), "CULVERT_TEST_SOAK=", mutantOf+"="+name)
		output, err := test.CombinedOutput()
		return string(output), err
	}
	all := findersOfMutants()
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			t.Parallel()
			tests := mutant.by
			if testkit.Soak() {
				tests = all
			}
			output, err := run(mutant.name, tests)
			if err == nil || !strings.Contains(output, "--- FAIL: Test") {
				t.Errorf("%s has not found it: %v\n%s", tests, err, output)
			}
			first, _, _ := strings.Cut(output, "\n")
			t.Log(first)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if output, err := run("", all); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
}

// findersOfMutants returns the names of all tests that find a mutant, as a regular expression.
func findersOfMutants() string {
	finders := []string{"Crash"}
	for _, mutant := range mutants {
		if !slices.Contains(finders, mutant.by) {
			finders = append(finders, mutant.by)
		}
	}
	return strings.Join(finders, "|")
}

// buildMutants builds the tests of the package with all mutants.
func buildMutants(t *testing.T) (program string) {
	t.Helper()
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]string{"mutant_switch.go": mutantSwitch}
	for _, mutant := range mutants {
		if changed[mutant.file] == "" {
			source, err := os.ReadFile(mutant.file)
			if err != nil {
				t.Fatal(err)
			}
			changed[mutant.file] = string(source)
		}
		if n := strings.Count(changed[mutant.file], mutant.from); n != 1 {
			t.Fatalf("%s: %s has it %d times", mutant.name, mutant.file, n)
		}
		to := strings.ReplaceAll(mutant.to, "MUTANT", "(mutant == "+strconv.Quote(mutant.name)+")")
		changed[mutant.file] = strings.Replace(changed[mutant.file], mutant.from, to, 1)
	}
	temporary := t.TempDir()
	replace := map[string]string{}
	for name, text := range changed {
		replace[filepath.Join(directory, name)] = filepath.Join(temporary, name)
		if err := os.WriteFile(filepath.Join(temporary, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	list := filepath.Join(temporary, "overlay.json")
	if err := errors.Join(err, os.WriteFile(list, overlay, 0o600)); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(temporary, "mutants.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay="+list, "-o", program, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}
