package streams

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tidwall "github.com/tidwall/wal"

	"culvert/internal/testkit/crashfs"
)

// TestControl has the disk on which package wal is tested crash under github.com/tidwall/wal, whose fault is known: a
// write that a crash has torn makes it refuse the whole log (tidwall/wal#21). A harness that did not find that would
// prove nothing. The names of its files are taken to be durable, which it does not see to.
func TestControl(t *testing.T) {
	const crashes = 500
	found := map[string]int{}
	for seed := range uint64(crashes) {
		outcome, err := crashTidwall(t.TempDir(), rand.New(rand.NewPCG(seed, 1)))
		if err != nil {
			t.Fatal(err)
		}
		found[outcome]++
	}
	t.Logf("%d crashes: %v", crashes, found)
	if found["refused"] == 0 {
		t.Error("the harness does not find that a torn end is refused")
	}
	if found["right"] == 0 {
		t.Error("no log was right; the harness cannot be")
	}
}

// crashTidwall lets a log live until a crash in the middle of a write, and says what it is like afterwards.
func crashTidwall(dir string, random *rand.Rand) (outcome string, err error) {
	const name = "00000000000000000001"
	original := filepath.Join(dir, "original")
	log, err := tidwall.Open(original, nil)
	if err != nil {
		return "", err
	}
	disk, model := crashfs.New("/data"), crashfs.NewModel()
	session := disk.Boot()
	file, err := session.Create("/data/" + name)
	if err != nil {
		return "", err
	}
	if err := session.SyncDir("/data"); err != nil {
		return "", err
	}
	size := 0
	writes := 2 + random.IntN(4)
	for i := range writes {
		entry := strings.Repeat(string(rune('a'+i)), random.IntN(1500))
		model.Append(entry)
		if err := log.Write(uint64(i+1), []byte(entry)); err != nil {
			return "", err
		}
		content, err := os.ReadFile(filepath.Join(original, name))
		if err != nil {
			return "", err
		}
		if _, err := file.WriteAt(content[size:], int64(size)); err != nil {
			return "", err
		}
		size = len(content)
		if i < writes-1 {
			if err := file.Sync(); err != nil {
				return "", err
			}
			model.Told(true)
		}
	}
	if err := log.Close(); err != nil {
		return "", err
	}
	disk.Crash(random.IntN)
	return reopenTidwall(filepath.Join(dir, "crashed"), disk.Files("/data"), model)
}

// reopenTidwall opens what a crash has left.
func reopenTidwall(dir string, files map[string][]byte, model *crashfs.Model) (outcome string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return "", err
		}
	}
	log, err := tidwall.Open(dir, nil)
	if errors.Is(err, tidwall.ErrCorrupt) {
		return "refused", nil
	}
	if err != nil {
		return "", err
	}
	last, err := log.LastIndex()
	if err != nil {
		return "", err
	}
	var entries []string
	for i := range last {
		entry, err := log.Read(i + 1)
		if err != nil {
			return "", err
		}
		entries = append(entries, string(entry))
	}
	if err := log.Close(); err != nil {
		return "", err
	}
	if model.Match(1, entries, true) != nil {
		return "wrong", nil // entries that were never appended, or have changed
	}
	return "right", nil
}
