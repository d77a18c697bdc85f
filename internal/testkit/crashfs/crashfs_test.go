package crashfs

import (
	"errors"
	"syscall"
	"testing"

	"culvert/internal/disk"
)

// written makes a file of which a part is synced and the rest is not, and whose name is synced or not.
func written(t *testing.T, d *Disk, name string, syncName bool) disk.File {
	t.Helper()
	s := d.Boot()
	f, err := s.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("synced"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if syncName {
		if err := s.SyncDir("/d"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteAt([]byte(" not"), 6); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCrashAndKill(t *testing.T) {
	tests := []struct {
		name     string
		syncName bool
		end      func(*Disk)
		want     string // "" for no file
	}{
		{"kill", false, (*Disk).Kill, "synced not"},
		{"crash that loses all", true, func(d *Disk) { d.Crash(func(int) int { return 0 }) }, "synced"},
		{"crash that keeps all", true, func(d *Disk) { d.Crash(func(int) int { return 1 }) }, "synced not"},
		{"crash that loses the name", false, func(d *Disk) { d.Crash(func(int) int { return 0 }) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := New("/d")
			f := written(t, d, "/d/file", test.syncName)
			test.end(d)
			if got := string(d.Files("/d")["file"]); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if err := f.Sync(); !errors.Is(err, ErrStopped) {
				t.Errorf("a program that has ended goes on: %v", err)
			}
		})
	}
}

// TestFailedSync sees that a sync after one that failed claims what is not true.
func TestFailedSync(t *testing.T) {
	d := New("/d")
	f := written(t, d, "/d/file", true)
	d.Hook = func(o Operation) Fault {
		if o.Kind == Sync {
			return IO
		}
		return None
	}
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	d.Hook = nil
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := string(d.Files("/d")["file"]); got != "synced not" {
		t.Errorf("in memory there is %q", got)
	}
	d.Crash(func(int) int { return 1 })
	if got := string(d.Files("/d")["file"]); got != "synced" {
		t.Errorf("on the disk there is %q", got)
	}
}
