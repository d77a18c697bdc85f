package wal

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutants are faults that the tests of crashes and damage must find: each takes away one thing that durability is made
// of.
var mutants = []struct{ name, file, from, to string }{
	{"sync after a write", "flush.go", "err = l.file.Sync()", "err = nil"},
	{"sync before the next segment", "flush.go", "sync := (rotate || b.sync ||", "sync := (b.sync ||"},
	{
		"sync of a new segment", "segment.go", "if err := file.Sync(); err != nil {\n\t\treturn nil",
		"if err := error(nil); err != nil {\n\t\treturn nil",
	},
	{"sync of the name of a segment", "segment.go", "{ return l.dir.Sync() }", "{ return nil }"},
	{
		"sync of the name of the log", "recover.go",
		"err := l.options.fs.SyncDir(filepath.Dir(l.dir.path)); err != nil {",
		"err := error(nil); err != nil && filepath.Dir(l.dir.path) == \"\" {",
	},
	{
		"sync of a header", "segment.go", "if err := file.Sync(); err != nil {\n\t\treturn err\n",
		"if err := error(nil); err != nil {\n\t\treturn err\n",
	},
	{"second slot", "segment.go", "slotOffset(s.generation+1)", "slotOffset(s.generation)"},
	{"watermark of headers", "scan.go", "t.proven, s.watermark)", "t.proven)"},
	{"sync in Close", "log.go", "l.closed = true\n\tl.filling.sync = true", "l.closed = true"},
	{"sync in Sync", "log.go", "\tl.filling.sync = true\n\t_, err := l.await", "\t_, err := l.await"},
	{"sync before a cut", "truncate.go", "err = l.err()\n\tl.filling.sync = true", "err = l.err()"},
	{
		"failure that stays", "log.go", "l.failure = fmt.Errorf(\"%w: %w\", ErrFailed, err)\n\t}\n\tl.active = nil",
		"_ = err\n\t}",
	},
	{"copy of what is not proven", "recover.go", "\tend := scan.offset", "\tt.last = t.proven\n\tend := scan.offset"},
	{
		"new segment after a crash", "recover.go", "if !newest.sealed {",
		"if !newest.sealed && inv.tail.last > inv.tail.proven {",
	},
	{
		"checksum", "record.go", "binary.LittleEndian.Uint32(b) != crc32.Update(",
		"0*binary.LittleEndian.Uint32(b) != 0*crc32.Update(",
	},
	{"place after what is proven", "scan.go", "mark{scan.next, scan.offset}", "mark{scan.next + 1, scan.offset}"},
	{"salt", "header.go", "crc32.Update(0, castagnoli, h.salt[:])", "0"},
	{"LSN", "record.go", "case f.size > limit, f.lsn != want,", "case f.size > limit,"},
	{"whole groups", "scan.go", "if f.groupEnd {", "if true {"},
	{"header in the other slot", "segment.go", "\ts.generation++\n", "\t_ = s.generation\n"},
	{"watermark", "append.go", "watermark: l.durable,", "watermark: 0,"},
	{"search behind damage", "scan.go", "max(watermark, t.proven,", "max(0*watermark, t.proven,"},
	{
		"checksum of headers", "header.go",
		"crc32.Checksum(b[:crcOffset], castagnoli):\n\t\treturn header{}, ErrCorrupt",
		"crc32.Checksum(b[:crcOffset], castagnoli) && false:\n\t\treturn header{}, ErrCorrupt",
	},
	{"authenticated headers", "header.go", "if !hmac.Equal(", "if false && !hmac.Equal("},
	{
		"authenticated records", "scan.go", "s.nonce.set(f.lsn), f.payload, f.head)\n",
		"s.nonce.set(f.lsn), f.payload, f.head)\n\terr = nil\n",
	},
	{"salt of the segment before", "inventory.go", "if s.previous != inv.chain[i].salt {", "if false {"},
	{"higher segment number", "inventory.go", "if s.base > limit ||", "if"},
	{
		"directory that is held", "segment.go", "{ return l.dir.Sync() }",
		"{ return l.options.fs.SyncDir(l.dir.path) }",
	},
	{"lock that is held", "flush.go", "err = l.lock.Held() //", "err = nil //"},
	{"reserve of the tail", "recover.go", "trim(file, t.end)", "_ = s.size"},
	{"reserve of the former segment", "segment.go", "trim(former, end)", "_ = end"},
	{"records before the reserve", "segment.go", "trim(former, end)", "trim(former, end-8)"},
	{"spare for the next Open", "segment.go", "{ return headerSize + size/16 }", "{ return 0 * size }"},
	{"halt before a cut", "truncate.go", "l.halt() //", "//"},
	{"room for others", "append.go", "&& !l.fits(size) {", "{"},
	{"end of Tail after Close", "read.go", "if l.over { // before", "if l.closed { // before"},
	{"change of the log under a reader", "beside.go", "const attempts = 1000", "const attempts = 1"},
}

// TestMutants builds the package with each of these faults and sees that the tests fail.
func TestMutants(t *testing.T) {
	if !thorough() || raceEnabled {
		t.Skip("takes minutes: set CULVERT_TEST_ALL=1")
	}
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(directory, mutant.file)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), mutant.from); n != 1 {
				t.Fatalf("%s has it %d times", mutant.file, n)
			}
			temporary := t.TempDir()
			changed := filepath.Join(temporary, mutant.file)
			text := strings.Replace(string(source), mutant.from, mutant.to, 1)
			if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
			if err != nil {
				t.Fatal(err)
			}
			list := filepath.Join(temporary, "overlay.json")
			if err := os.WriteFile(list, overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			test := exec.Command("go", "test", "-count=1", "-failfast", "-timeout=2m", "-overlay="+list, "-run",
				"^Test(Crash|Faults|Exhaustive|FlippedBits|StaleRecords|BadInput|DamageAfterRecovery|"+
					"LostLock|FullDiskAfterKill|CutsKeepNoReserve|NoRoomForLarge|CutKeepsWhatComes|TailAndClose|"+
					"ReadersBesideFastWriter)$", ".")
			test.Env = append(os.Environ(), "CULVERT_TEST_ALL=")
			output, err := test.CombinedOutput()
			if err == nil || !strings.Contains(string(output), "--- FAIL: Test") {
				t.Errorf("nothing has found it: %v\n%s", err, output)
			}
			first, _, _ := strings.Cut(string(output), "\n")
			t.Log(first)
		})
	}
}
