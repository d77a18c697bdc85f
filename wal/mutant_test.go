package wal

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mutants are faults that the tests of crashes and damage must find. Each removes one thing that durability depends on.
// All are built at once; MUTANT is true for the selected one.
var mutants = []struct{ name, file, from, to string }{
	{"sync after a write", "flush.go", "err = l.file.Sync()", "err = unless(MUTANT, l.file.Sync)"},
	{
		"sync before the next segment", "flush.go",
		"sync := (rotate || b.sync ||",
		"sync := (rotate && !MUTANT || b.sync ||",
	},
	{
		"sync of a new segment", "segment.go",
		"if err := file.Sync(); err != nil {\n\t\treturn nil",
		"if err := unless(MUTANT, file.Sync); err != nil {\n\t\treturn nil",
	},
	{
		"sync of the name of a segment", "segment.go", "syncNames() error {",
		"syncNames() error {\n\tif MUTANT {\n\t\treturn nil\n\t}\n\t",
	},
	{
		"directory that is held", "segment.go", "return l.dir.Sync() }",
		"return either(MUTANT, func() error { return l.options.fs.SyncDir(l.dir.path) }, l.dir.Sync)() }",
	},
	{
		"sync of the name of the log", "recover.go",
		"err := l.options.fs.SyncDir(filepath.Dir(l.dir.path)); err != nil {",
		"err := unless(MUTANT, func() error { return l.options.fs.SyncDir(filepath.Dir(l.dir.path)) }); err != nil {",
	},
	{
		"sync of a header", "segment.go",
		"if err := file.Sync(); err != nil {\n\t\treturn err\n",
		"if err := unless(MUTANT, file.Sync); err != nil {\n\t\treturn err\n",
	},
	{
		"second slot", "segment.go",
		"slotOffset(s.generation+1)",
		"slotOffset(either(MUTANT, s.generation, s.generation+1))",
	},
	{
		"watermark of headers", "scan.go",
		"t.proven, s.watermark)",
		"t.proven, either(MUTANT, 0, s.watermark))",
	},
	{
		"sync in Close", "log.go",
		"l.closed = true\n\tl.filling.sync = true",
		"l.closed = true\n\tl.filling.sync = !MUTANT || l.filling.sync",
	},
	{
		"sync in Sync", "log.go",
		"\tl.filling.sync = true\n\t_, err := l.await",
		"\tl.filling.sync = !MUTANT || l.filling.sync\n\t_, err := l.await",
	},
	{
		"sync before a cut", "truncate.go",
		"err = l.err()\n\tl.filling.sync = true",
		"err = l.err()\n\tl.filling.sync = !MUTANT || l.filling.sync",
	},
	{
		"failure that stays", "flush.go", "\t\tl.fail(err)\n\t\terr = l.failure",
		"\t\tif !MUTANT {\n\t\t\tl.fail(err)\n\t\t\terr = l.failure\n\t\t}",
	},
	{
		"copy of what is not proven", "recover.go",
		"\tend := scan.offset",
		"\tt.last = either(MUTANT, t.proven, t.last)\n\tend := scan.offset",
	},
	{
		"new segment after a crash", "recover.go",
		"if !newest.sealed {",
		"if !newest.sealed && (!MUTANT || inv.tail.last > inv.tail.proven) {",
	},
	{
		"checksum", "record.go",
		"binary.LittleEndian.Uint32(b) != crc32.Update(",
		"!MUTANT && binary.LittleEndian.Uint32(b) != crc32.Update(",
	},
	{
		"place in the index", "index.go",
		"mark{s.next, s.offset}",
		"mark{s.next + either[LSN](MUTANT, 1, 0), s.offset}",
	},
	{
		"salt", "header.go",
		"crc32.Update(0, castagnoli, h.salt[:])",
		"either(MUTANT, 0, crc32.Update(0, castagnoli, h.salt[:]))",
	},
	{
		"LSN", "record.go",
		"case f.size > limit, f.lsn != want,",
		"case f.size > limit, !MUTANT && f.lsn != want,",
	},
	{"whole groups", "scan.go", "if f.groupEnd {", "if MUTANT || f.groupEnd {"},
	{
		"header in the other slot", "segment.go",
		"\ts.generation++\n",
		"\ts.generation += either[uint64](MUTANT, 0, 1)\n",
	},
	{"watermark", "append.go", "watermark: l.durable,", "watermark: either(MUTANT, 0, l.durable),"},
	{
		"search behind damage", "scan.go",
		"max(watermark, t.proven,",
		"max(either(MUTANT, 0, watermark), t.proven,",
	},
	{
		"checksum of headers", "header.go",
		"crc32.Checksum(b[:crcOffset], castagnoli):\n\t\treturn header{}, ErrCorrupt",
		"crc32.Checksum(b[:crcOffset], castagnoli) && !MUTANT:\n\t\treturn header{}, ErrCorrupt",
	},
	{"authenticated headers", "header.go", "if !hmac.Equal(", "if !MUTANT && !hmac.Equal("},
	{
		"authenticated records", "scan.go",
		"s.nonce.set(f.lsn), f.payload, f.head)\n",
		"s.nonce.set(f.lsn), f.payload, f.head)\n\terr = either(MUTANT, nil, err)\n",
	},
	{
		"salt of the segment before", "inventory.go",
		"if s.previous != inv.chain[i].salt {",
		"if !MUTANT && s.previous != inv.chain[i].salt {",
	},
	{"higher segment number", "inventory.go", "if s.base > limit ||", "if !MUTANT && s.base > limit ||"},
	{"counter of cuts", "segment.go", "h.cuts++", "h.cuts += either[uint64](MUTANT, 0, 1)"},
	{"counter of cuts after Open", "recover.go", "newest.cuts", "either(MUTANT, 0, newest.cuts)"},
	{
		"LSN of a new log", "copy.go", "return l.restart(first)",
		"l.first, l.next = first, first\n\treturn unless(MUTANT, func() error { return l.restart(first) })",
	},
	{"lock that is held", "flush.go", "err = l.lock.Held() //", "err = unless(MUTANT, l.lock.Held) //"},
	{"reserve of the tail", "recover.go", "trim(file, t.end)", "if !MUTANT {\n\t\ttrim(file, t.end)\n\t}"},
	{
		"reserve of the former segment", "segment.go", "trim(former, end)",
		"if !MUTANT {\n\t\t\ttrim(former, end)\n\t\t}",
	},
	{
		"records before the reserve", "segment.go", "trim(former, end)",
		"trim(former, end-either[int64](MUTANT, 8, 0))",
	},
	{
		"spare for the next Open", "segment.go", "return headerSize + size/16",
		"return either(MUTANT, 0, headerSize+size/16)",
	},
	{
		"spare for all of a segment", "segment.go", "\treturn headerSize + size\n",
		"\treturn headerSize + either(MUTANT, size/16, size)\n",
	},
	{
		"room of what was copied", "recover.go", "trim(file, scan.offset)",
		"if !MUTANT {\n\t\ttrim(file, scan.offset)\n\t}",
	},
	{"halt before a cut", "truncate.go", "l.halt() //", "if !MUTANT {\n\t\tl.halt()\n\t} //"},
	{"room for others", "append.go", "&& !l.fits(size) {", "&& (MUTANT || !l.fits(size)) {"},
	{
		"end of Tail after Close", "read.go", "if l.over { // before",
		"if either(MUTANT, l.closed, l.over) { // before",
	},
	{
		"change of the log under a reader", "beside.go", "const attempts = 1000",
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

// TestMutants builds the package with these faults, and checks that the tests fail with each of them and pass with
// none.
func TestMutants(t *testing.T) {
	if !thorough() || raceEnabled {
		t.Skip("takes a minute: set CULVERT_TEST_ALL=1")
	}
	program := buildMutants(t)
	run := func(name string) (string, error) {
		test := exec.Command(program, "-test.failfast", "-test.timeout=2m", "-test.run",
			"^Test(Crash|Faults|Exhaustive|FlippedBits|StaleRecords|BadInput|DamageAfterRecovery|"+
				"LostLock|FullDiskAfterKill.*|CutsKeepNoReserve|NoRoomForLarge|CutKeepsWhatComes|TailAndClose|"+
				"ReadersBesideFastWriter|RefilledCut|First)$")
		test.Env = append(os.Environ(), "CULVERT_TEST_ALL=", mutantOf+"="+name)
		output, err := test.CombinedOutput()
		return string(output), err
	}
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			t.Parallel()
			output, err := run(mutant.name)
			if err == nil || !strings.Contains(output, "--- FAIL: Test") {
				t.Errorf("nothing has found it: %v\n%s", err, output)
			}
			first, _, _ := strings.Cut(output, "\n")
			t.Log(first)
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if output, err := run(""); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
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
