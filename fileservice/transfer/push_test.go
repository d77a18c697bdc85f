package transfer_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
)

func TestPushTree(t *testing.T) {
	dir, _ := filetest.Tree(t, manyFiles())
	served := t.TempDir()
	client := filetest.Serve(t, served, filetest.Writable)
	config := transfer.Config{
		Remote: "copy/of it", Root: filetest.OpenRoot(t, dir), Local: ".", Progress: &transfer.Progress{},
	}
	config.DryRun = true
	result, err := transfer.Push(t.Context(), client.Place(), config)
	if err != nil || result.Files != 305 {
		t.Errorf("%v %+v", err, result)
	}
	if entries, err := os.ReadDir(served); err != nil || len(entries) != 0 {
		t.Errorf("a dry run has made %v, %v", entries, err)
	}
	config.DryRun = false
	transferTree(t, transfer.Push, client.Place(), config, dir, served)
}

// TestPushTreeRefused pushes many files to a server that takes none, which the first one shows.
func TestPushTreeRefused(t *testing.T) {
	files := map[string]int{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/file", i)] = 100
	}
	dir, _ := filetest.Tree(t, files)
	faults := 0
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, dir), Local: "."}
	config.Notify = func(e transfer.Event) {
		if e.Err != nil {
			faults++
		}
	}
	_, err := transfer.Push(t.Context(), filetest.Serve(t, t.TempDir(), nil).Place(), config)
	if !errors.Is(err, fileservice.ErrRefused) || faults > 1 {
		t.Errorf("%d faults, %v", faults, err)
	}
}

// TestPushWithheld pushes a directory with a key, which stays where it is, under whatever name.
func TestPushWithheld(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"sub/key": 100, "sub/other": 100, "large": 1 << 20})
	key, err := os.Stat(filepath.Join(dir, "sub/key"))
	if err != nil {
		t.Fatal(err)
	}
	withheld := errors.New("it is a key")
	served := t.TempDir()
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, dir), Local: "."}
	config.Withhold = func(info fs.FileInfo) error {
		if os.SameFile(info, key) {
			return withheld
		}
		return nil
	}
	var skipped []string
	config.Notify = func(e transfer.Event) {
		if e.Kind == transfer.FileSkipped && e.Err == withheld {
			skipped = append(skipped, e.Name)
		}
	}
	result, err := transfer.Push(t.Context(), filetest.Serve(t, served, filetest.Writable).Place(), config)
	if err != nil || result.Files != 2 || result.Skipped != 1 || len(skipped) != 1 || skipped[0] != "sub/key" {
		t.Errorf("%+v, %v, skipped %q", result, err, skipped)
	}
	if _, err := os.Lstat(filepath.Join(served, "sub/key")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was withheld: %v", err)
	}
}

func TestPushFile(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5<<20 + 1})
	served := t.TempDir()
	config := transfer.Config{Remote: "a/b/new", Root: filetest.OpenRoot(t, dir), Local: "file", Hash: true}
	_, err := transfer.Push(t.Context(), filetest.Serve(t, served, nil).Place(), config)
	if !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("a server that is not writable: %v", err)
	}
	client := filetest.Serve(t, served, filetest.Writable)
	result, err := transfer.Push(t.Context(), client.Place(), config)
	if err != nil || result.Files != 1 || result.Hash == (transfer.Hash{}) {
		t.Fatalf("%v %+v", err, result)
	}
	want, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(served, "a/b/new")); err != nil || string(got) != string(want) {
		t.Errorf("not the file: %v", err)
	}
	config.Local = "none"
	if _, err := transfer.Push(t.Context(), client.Place(), config); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestPrivateDirectories transfers directories that nobody else may enter, in which the files of others would be safe.
func TestPrivateDirectories(t *testing.T) {
	for role, run := range filetest.Transfers() {
		for _, include := range [][]string{nil, {"file"}} {
			from, _ := filetest.Tree(t, map[string]int{"private/sub/file": 5, "open/file": 6})
			to := t.TempDir()
			for name, mode := range map[string]fs.FileMode{"private": 0o700, "private/sub": 0o500, "open": 0o755} {
				if err := os.Chmod(filepath.Join(from, name), mode); err != nil {
					t.Fatal(err)
				}
			}
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".", Include: include}
			if _, err := run(t.Context(), filetest.Serve(t, served, filetest.Writable), config); err != nil {
				t.Fatal(role, err)
			}
			for name, want := range map[string]fs.FileMode{"private": 0o700, "private/sub": 0o700, "open": 0o755} {
				if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s, %q: %s: %v, %v", role, include, name, info, err)
				}
			}
		}
	}
}

// TestWhyAFileIsGivenUp pushes to a server that has no room for the first block, and has forgotten the file when it
// says so: the other calls for it are refused before.
func TestWhyAFileIsGivenUp(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"file": 40 * fileservice.BlockSize})
	full, err := status.New(codes.ResourceExhausted, "full").WithDetails(&fileservicepb.Failure{Errno: "ENOSPC"})
	if err != nil {
		t.Fatal(err)
	}
	head, err := proto.Marshal(full.Proto())
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	forgotten := false
	var first func() error // answers the first block
	client := filetest.Lie(t, &filetest.Liar{
		OnStat:  func() (*fileservicepb.Entry, error) { return nil, status.Error(codes.NotFound, "") },
		OnQuery: func() *fileservicepb.QueryWriteStatusResponse { return &fileservicepb.QueryWriteStatusResponse{} },
		OnData: func(block *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
			mu.Lock()
			defer mu.Unlock()
			if block.Offset() == 0 {
				first = func() error {
					return send(&filetest.DataMessage{ID: block.ID, Kind: filetest.Failed, Head: head})
				}
			} else if err := send(block.Fail(codes.FailedPrecondition, "there is no such upload")); err != nil {
				return err
			} else {
				forgotten = true
			}
			if first == nil || !forgotten {
				return nil
			}
			answer := first
			first = nil
			return answer()
		},
	})
	result, err := transfer.Push(t.Context(), client.Place(), transfer.Config{
		Remote: "file", Root: filetest.OpenRoot(t, from), Local: "file",
	})
	if !errors.Is(err, syscall.ENOSPC) || result.Failed != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}
