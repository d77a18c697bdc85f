package transfer_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
	"culvert/wal"
)

// TestResumeOfDamaged damages what an earlier transfer has left, as a disk or another program may. What has other bytes
// than it had is transferred again, and nothing else.
func TestResumeOfDamaged(t *testing.T) {
	const blocks = 24
	for role, run := range filetest.Transfers() {
		from, _ := filetest.Tree(t, map[string]int{"file": blocks * fileservice.BlockSize})
		to := t.TempDir()
		if err := os.Mkdir(filepath.Join(to, "void"), 0o755); err != nil {
			t.Fatal(err)
		}
		served, here := from, to
		if role == "push" {
			served, here = to, from
		}
		root := filetest.OpenRoot(t, here)
		// Each time with another server, which knows nothing of what the one before has received.
		move := func(most int64) (transfer.Result, error) {
			listener := testkit.ListenTCP(t)
			tree := filetest.OpenRoot(t, served)
			srv, _ := filetest.StartServer(t, listener, server.Config{Root: tree, Writable: true})
			defer func() {
				if err := srv.Close(); err != nil {
					t.Error(err)
				}
			}()
			config := transfer.Config{Remote: "file", Root: root, Local: "file"}
			return run(t.Context(), filetest.Sever(t, listener.Addr().String(), most), config)
		}
		if _, err := move(blocks * fileservice.BlockSize / 2); !errors.Is(err, fileservice.ErrUnreachable) {
			t.Fatalf("%s: %v", role, err)
		}
		before := journalled(t, to, blocks*fileservice.BlockSize)
		if before < 4*fileservice.BlockSize {
			t.Fatalf("%s: the journal speaks of %d bytes only", role, before)
		}
		damage(t, filepath.Join(to, "file.culvert.part"), someJournalled(t, to)*fileservice.BlockSize+7)

		result, err := move(1 << 62)
		if err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		if strings.Join(filetest.Contents(t, from), "\n") != strings.Join(filetest.Contents(t, to), "\n") {
			t.Errorf("%s: it is verified, and has other bytes than the source: %+v", role, result)
		}
		if result.Resumed != before-fileservice.BlockSize {
			t.Errorf("%s: %d bytes were resumed, of %d and a damaged block", role, result.Resumed, before)
		}
	}
}

// someJournalled returns the number of a block that the journal names.
func someJournalled(t *testing.T, dir string) (block int64) {
	t.Helper()
	reader, _, err := wal.OpenReader(filepath.Join(dir, "file.culvert.journal"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for record, err := range reader.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		block = int64(binary.LittleEndian.Uint64(record.Data)) // the last entry is not the first
	}
	return block
}

// damage changes a byte.
func damage(t *testing.T, path string, offset int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	_, err = file.ReadAt(b, offset)
	b[0] ^= 1
	if err == nil {
		_, err = file.WriteAt(b, offset)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}
