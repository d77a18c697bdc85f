package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// sendFirstBlock sends the first block of an upload of three, and waits until it is committed.
func sendFirstBlock(t *testing.T, c *client.Client, name string, version fileservice.Version) {
	t.Helper()
	if _, err := c.QueryWrite(t.Context(), name, version, false); err != nil {
		t.Fatal(err)
	}
	content := testSource(make([]byte, version.Size))
	none := func(int64, []byte, fileservice.Sum) {}
	if err := c.WriteBlocks(t.Context(), name, version, 0, 1, content, none); err != nil {
		t.Fatal(err)
	}
	if _, err := c.QueryWrite(t.Context(), name, version, false); err != nil {
		t.Fatal(err)
	}
}

// namesIn returns the names in a directory.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

var abandonedVersion = fileservice.Version{Size: 3 * fileservice.BlockSize, ModifiedUnixNano: 1}

// TestAbandonWrite abandons uploads. Nothing holds them any more, so that another version can begin at once, and the
// same version goes on with what is there, unless that was discarded.
func TestAbandonWrite(t *testing.T) {
	for _, discard := range []bool{false, true} {
		dir := t.TempDir()
		address := filetest.Listen(t, dir, filetest.Writable)
		connect := func() *client.Client {
			return filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
		}
		first := connect()
		sendFirstBlock(t, first, "file", abandonedVersion)
		if err := first.AbandonWrite(t.Context(), "file", abandonedVersion, discard); err != nil {
			t.Fatal(err)
		}
		left := []string{"file.culvert.journal", "file.culvert.part"}
		if discard {
			left = nil
		}
		if got := namesIn(t, dir); !slices.Equal(got, left) {
			t.Errorf("discard %v: there are %q", discard, got)
		}
		committed, err := first.QueryWrite(t.Context(), "file", abandonedVersion, false)
		if err != nil || (len(committed) == 0) != discard {
			t.Errorf("discard %v: it goes on with %v, %v", discard, committed, err)
		}
		if err := first.AbandonWrite(t.Context(), "file", abandonedVersion, discard); err != nil {
			t.Error(err)
		}
		other := abandonedVersion
		other.Tag = 7
		if _, err := connect().QueryWrite(t.Context(), "file", other, false); err != nil {
			t.Errorf("discard %v: another version: %v", discard, err)
		}
		if err := first.AbandonWrite(t.Context(), "file", abandonedVersion, true); err != nil {
			t.Error(err)
		}
		if got := namesIn(t, dir); len(got) == 0 {
			t.Error("the upload of another version is gone")
		}
	}
}

// TestAbandonPresent has an upload left by an earlier server when the file is there. The client that finds it there, or
// cannot begin for that reason, has the server remove what is left; one that has another version does not.
func TestAbandonPresent(t *testing.T) {
	for what, act := range map[string]func(t *testing.T, c *client.Client, v fileservice.Version) error{
		"abandon": func(t *testing.T, c *client.Client, v fileservice.Version) error {
			return c.AbandonWrite(t.Context(), "file", v, true)
		},
		"begin": func(t *testing.T, c *client.Client, v fileservice.Version) error {
			_, err := c.QueryWrite(t.Context(), "file", v, false)
			if !errors.Is(err, os.ErrExist) {
				return err
			}
			return nil
		},
	} {
		dir := t.TempDir()
		root := filetest.OpenRoot(t, dir)
		listener := testkit.ListenTCP(t)
		srv, _ := filetest.StartServer(t, listener, server.Config{Root: root, Writable: true})
		sendFirstBlock(t, filetest.Sever(t, listener.Addr().String(), 1<<62), "file", abandonedVersion)
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "file")
		err := os.WriteFile(path, make([]byte, abandonedVersion.Size), 0o600)
		if err := errors.Join(err, os.Chtimes(path, time.Time{}, abandonedVersion.ModTime())); err != nil {
			t.Fatal(err)
		}
		c := filetest.Serve(t, dir, filetest.Writable)
		other := abandonedVersion
		other.Size++
		if err := act(t, c, other); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := namesIn(t, dir); len(got) != 3 {
			t.Errorf("%s, another version: there are %q", what, got)
		}
		if err := act(t, c, abandonedVersion); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := namesIn(t, dir); !slices.Equal(got, []string{"file"}) {
			t.Errorf("%s: there are %q", what, got)
		}
	}
}

// TestAbandonShared abandons an upload that another client has begun too, and for which that client makes no call at
// the moment: it goes on. If both abandon it, nothing is left.
func TestAbandonShared(t *testing.T) {
	for _, finish := range []bool{false, true} {
		dir := t.TempDir()
		address := filetest.Listen(t, dir, filetest.Writable)
		connect := func() *client.Client {
			return filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
		}
		first, second := connect(), connect()
		sendFirstBlock(t, first, "file", abandonedVersion)
		sendFirstBlock(t, second, "file", abandonedVersion)
		if err := first.AbandonWrite(t.Context(), "file", abandonedVersion, true); err != nil {
			t.Fatal(err)
		}
		var sum fileservice.FileSum
		note := func(_ int64, _ []byte, block fileservice.Sum) { sum.Append(block) }
		content := testSource(make([]byte, abandonedVersion.Size))
		if err := second.WriteBlocks(t.Context(), "file", abandonedVersion, 0, 3, content, note); err != nil {
			t.Fatal(err)
		}
		var err error
		want := []string{"file"}
		if finish {
			_, err = second.FinishWrite(t.Context(), "file", abandonedVersion, sum.Sum(), 0o600, false)
		} else {
			want = nil
			err = second.AbandonWrite(t.Context(), "file", abandonedVersion, true)
		}
		if err != nil {
			t.Error(err)
		}
		if got := namesIn(t, dir); !slices.Equal(got, want) {
			t.Errorf("there are %q instead of %q", got, want)
		}
	}
}
