package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
	"culvert/secureconn"
)

// smallBeside adds small files, more than go into one call.
func smallBeside(files map[string]int) map[string]int {
	for i := range fileservice.MaxSmallFiles + 9 {
		files[fmt.Sprint("small/", i)] = 100 * i
	}
	return files
}

// TestTransferFaults has a fault of an encrypted connection after any number of bytes. With Retry the transfer is done
// in the end, and no file under a final name is ever another than that at the source.
func TestTransferFaults(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{"file": 3*fileservice.BlockSize + 9, "sub/small": 5000, "empty": 0}
	from, _ := filetest.Tree(t, smallBeside(sizes))
	serverKey, serverName := filetest.NewKey(t)
	clientKey, clientName := filetest.NewKey(t)
	peer := &secureconn.Config{Key: clientKey, Peers: []string{serverName}}
	sourceAddress := filetest.ListenSecurely(t, from, serverKey, clientName, nil)
	offsets := []int64{0, 100, 5000, 2<<20 + 77}
	switch {
	case testkit.RaceDetector():
		offsets = []int64{100, 2<<20 + 77}
	case testkit.Soak():
		offsets = append(offsets, 1, 2, 9, 30, 60, 300, 1000, 16<<10, 70_000, 1<<20, 1<<20+50, 3<<20)
	}
	for role, run := range filetest.Transfers() {
		for name, fault := range filetest.TransferFaults() {
			for _, offset := range offsets {
				t.Run(fmt.Sprint(role, " ", name, " at ", offset), func(t *testing.T) {
					t.Parallel() // most of it is waiting
					to := t.TempDir()
					address, here := sourceAddress, to
					if role == "push" {
						address, here = filetest.ListenSecurely(t, to, serverKey, clientName, filetest.Impatient), from
					}
					client := filetest.Ail(t, address, peer, 2, filetest.Soon, offset, fault)
					config := transfer.Config{
						Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".",
						Retry: func(error) bool { return true },
					}
					if _, err := run(t.Context(), client, config); err != nil {
						t.Error(err)
					}
					filetest.SeeSame(t, from, to)
				})
			}
		}
	}
}

// seeNoOther sees that files under their final names are those at the source.
func seeNoOther(t *testing.T, from, to string) {
	t.Helper()
	want := map[string]bool{}
	for _, line := range filetest.Contents(t, from) {
		want[line] = true
	}
	for _, line := range filetest.Contents(t, to) {
		if !want[line] && !strings.Contains(line, ".culvert.") {
			t.Errorf("a file that is not at the source: %s", line)
		}
	}
}

// Without Retry, a pull over a connection that breaks continues over another one, and fails if there is none.
func TestTransferGivesUp(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"file": 8 << 20})
	address := filetest.Listen(t, from, nil)
	faults := filetest.TransferFaults()
	faults["sever"] = nil
	for name, fault := range faults {
		timeout := filetest.Soon
		if name == "slow" || name == "cut" {
			timeout = 0 // it must not be given up: each message may be behind the whole window of the connection
		}
		// In the middle of a block, so that a call is under way.
		const offset = 7 * fileservice.BlockSize / 2
		remote := filetest.Sever(t, address, offset)
		if fault != nil {
			remote = filetest.Ail(t, address, nil, 1, timeout, offset, fault)
		}
		to := t.TempDir()
		config := transfer.Config{Remote: "file", Root: filetest.OpenRoot(t, to), Local: "file"}
		result, err := transfer.Pull(t.Context(), remote.Place(), config)
		switch name {
		case "sever", "stall":
			if !errors.Is(err, fileservice.ErrUnreachable) {
				t.Errorf("%s: %v", name, err)
			}
		case "cut", "slow":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		seeNoOther(t, from, to)
		sound := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
		again, err := transfer.Pull(t.Context(), sound.Place(), config)
		if err != nil || result.Files == 0 && again.Resumed+again.Bytes != 8<<20 {
			t.Errorf("%s: %v %+v", name, err, again)
		}
	}
}

// TestSourceChanges changes a file when its first block has come.
func TestSourceChanges(t *testing.T) {
	const size = 24 << 20
	for name, test := range map[string]struct {
		change func(path string) error
		want   error
	}{
		"changed": {func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("new"), size/3), 0o600)
		}, nil},
		"truncated": {func(path string) error { return os.Truncate(path, 5) }, nil},
		"replaced": {func(path string) error {
			return errors.Join(os.WriteFile(path+"2", []byte("new"), 0o600), os.Rename(path+"2", path))
		}, nil},
		"removed": {os.Remove, fs.ErrNotExist},
		"a link": {func(path string) error {
			return errors.Join(os.Symlink("x", path+"2"), os.Rename(path+"2", path))
		}, fs.ErrInvalid},
	} {
		for role, run := range filetest.Transfers() {
			from, _ := filetest.Tree(t, map[string]int{"file": size})
			to := t.TempDir()
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			var once sync.Once
			var changing error
			address := filetest.Listen(t, served, filetest.Writable)
			client := filetest.Ail(t, address, nil, 1, 0, 1<<20, func(*filetest.Ailing, []byte) error {
				once.Do(func() { changing = test.change(filepath.Join(from, "file")) })
				return nil
			})
			changed := 0
			config := transfer.Config{
				Remote: "file", Root: filetest.OpenRoot(t, here), Local: "file",
				Notify: func(e transfer.Event) {
					if e.Kind == transfer.FileChanged {
						changed++
					}
				},
			}
			_, err := run(t.Context(), client, config)
			if changing != nil {
				t.Fatal(changing)
			}
			if test.want != nil {
				if role == "pull" && !errors.Is(err, test.want) {
					t.Errorf("%s, %s: %v", role, name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", role, name, err)
				continue
			}
			want, err := os.ReadFile(filepath.Join(from, "file"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(to, "file"))
			if err != nil {
				t.Fatal(err)
			}
			// Who pushes has the old file open still when another one gets its name.
			if !bytes.Equal(got, want) && (role != "push" || name != "replaced" || len(got) != size) {
				t.Errorf("%s, %s: %d bytes, and not the %d at the source", role, name, len(got), len(want))
			}
			if changed == 0 && name != "replaced" {
				t.Errorf("%s, %s: without a word", role, name)
			}
		}
	}
}

func TestDestinationRemoved(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"sub/file": 24 << 20})
	to := t.TempDir()
	gone := filepath.Join(to, "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	root := filetest.OpenRoot(t, gone)
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	client := filetest.Serve(t, from, nil)
	config := transfer.Config{Remote: ".", Root: root, Local: "."}
	if _, err := transfer.Pull(t.Context(), client.Place(), config); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestDiskFull pulls and pushes to a disk that is too small, and again when there is room.
func TestDiskFull(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		testkit.Missing(t, "a small disk", "run the tests as root on Linux")
	}
	from, _ := filetest.Tree(t, map[string]int{"file": 24 << 20})
	if err := os.Remove(filepath.Join(from, "void")); err != nil {
		t.Fatal(err)
	}
	for role, move := range filetest.Transfers() {
		to := t.TempDir()
		mount := exec.Command("mount", "-t", "tmpfs", "-o", "size=18m", "tmpfs", to)
		if out, err := mount.CombinedOutput(); err != nil {
			testkit.Missing(t, "mount: "+string(out), "run the tests where file systems may be mounted")
		}
		t.Cleanup(func() {
			if out, err := exec.Command("umount", "-l", to).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		served, here := from, to
		if role == "push" {
			served, here = to, from
		}
		client := filetest.Serve(t, served, filetest.Writable)
		config := transfer.Config{Remote: "file", Root: filetest.OpenRoot(t, here), Local: "file"}
		_, err := move(t.Context(), client, config)
		want := error(syscall.ENOSPC)
		if role == "push" {
			want = fileservice.ErrRefused // with the words of the other end
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", role, err)
		}
		if _, err := os.Stat(filepath.Join(to, "file")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: there is a file: %v", role, err)
		}
		if out, err := exec.Command("mount", "-o", "remount,size=64m", to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, err := move(t.Context(), client, config); err != nil {
			t.Errorf("%s: %v", role, err)
		}
		if want, got := filetest.Contents(t, from), filetest.Contents(t, to); want[1] != got[1] {
			t.Errorf("%s: %q and %q", role, want, got)
		}
	}
}

// TestPullFromLiar pulls from a server whose listings are hostile, and writes nothing.
func TestPullFromLiar(t *testing.T) {
	for _, names := range [][]string{
		{"../x"}, {"/x"}, {"a\x00"}, {"a\x1b[2J"}, {".."}, {""}, {strings.Repeat("n", 256)}, {"same", "same"},
	} {
		client := filetest.Lie(t, &filetest.Liar{
			OnStat: func() (*fileservicepb.Entry, error) {
				return &fileservicepb.Entry{
					Name: ".", Mode: 0o040755, Version: &fileservicepb.Version{},
				}, nil
			},
			OnList: func(send func(*fileservicepb.ListResponse) error) error {
				response := &fileservicepb.ListResponse{}
				for _, name := range names {
					response.Entries = append(response.Entries, filetest.Entry(name, 1))
				}
				return send(response)
			},
		})
		to := t.TempDir()
		config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, to), Local: "."}
		if _, err := transfer.Pull(t.Context(), client.Place(), config); !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%q: %v", names, err)
		}
		if entries, err := os.ReadDir(to); err != nil || len(entries) != 0 {
			t.Errorf("%q: %v %v", names, entries, err)
		}
	}
}

// TestPullThroughLinks pulls into a tree in which links lead elsewhere.
func TestPullThroughLinks(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"sub/file": 100, "large": 3 << 20, "fine": 5})
	outside, to := t.TempDir(), t.TempDir()
	for name, target := range map[string]string{
		"sub": outside, "large": filepath.Join(outside, "x"), "large.culvert.part": filepath.Join(outside, "y"),
		"fine.culvert.journal": outside,
	} {
		if err := os.Symlink(target, filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	client := filetest.Serve(t, from, nil)
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, to), Local: ".", Overwrite: true}
	result, err := transfer.Pull(t.Context(), client.Place(), config)
	if !errors.Is(err, transfer.ErrPartial) || result.Files != 1 {
		t.Errorf("%v %+v", err, result)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("%v %v", entries, err)
	}
}
