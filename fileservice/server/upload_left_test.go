package server_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestAgedUploads starts a server on a tree with two uploads that an earlier server has left: one is of today.
func TestAgedUploads(t *testing.T) {
	dir := t.TempDir()
	names := []string{"new", "old"}
	start := func() (*server.Server, string) {
		listener, root := testkit.ListenTCP(t), filetest.OpenRoot(t, dir)
		srv, _ := filetest.StartServer(t, listener, server.Config{Root: root, Writable: true})
		return srv, listener.Addr().String()
	}
	srv, address := start()
	client := filetest.Sever(t, address, 1<<62)
	version := fileservice.Version{Size: 2 * fileservice.BlockSize, ModifiedUnixNano: 1}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := client.QueryWrite(t.Context(), "sub/"+name, version, false)
		if err != nil {
			t.Fatal(err)
		}
		content := testSource(make([]byte, version.Size))
		none := func(int64, []byte, fileservice.Sum) {}
		if err := client.WriteBlocks(t.Context(), "sub/"+name, version, 0, 1, content, none); err != nil {
			t.Fatal(err)
		}
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-8 * 24 * time.Hour)
	left, err := filepath.Glob(filepath.Join(dir, "sub", "old*", "*"))
	if err != nil || len(left) == 0 {
		t.Fatal(left, err)
	}
	left = append(left, filepath.Join(dir, "sub", "old.culvert.journal"), filepath.Join(dir, "sub", "old.culvert.part"))
	for _, path := range left {
		if err := os.Chtimes(path, time.Time{}, long); err != nil {
			t.Fatal(err)
		}
	}
	srv, _ = start()
	testkit.WaitFor(t, "the old upload is removed", func() bool {
		old, err := filepath.Glob(filepath.Join(dir, "sub", "old*"))
		return err == nil && len(old) == 0
	})
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if now, err := filepath.Glob(filepath.Join(dir, "sub", "new*")); len(now) != 2 || err != nil {
		t.Errorf("of today's upload there are %q, %v", now, err)
	}
}

// testSource is what an upload reads.
type testSource []byte

func (s testSource) ReadAt(p []byte, offset int64) (int, error) { return copy(p, s[offset:]), nil }
