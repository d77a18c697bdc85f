package transfer_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
)

// leftIn returns the names of unfinished files in a directory.
func leftIn(t *testing.T, dir string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(dir, "*.culvert.*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestPushAbandons pushes a file that changes and is removed meanwhile. Nothing of it is left, though the client stays
// connected.
func TestPushAbandons(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"large": 70 * fileservice.BlockSize, "other": 1})
	to := t.TempDir()
	path := filepath.Join(from, "large")
	var once sync.Once
	client := filetest.Serve(t, to, func(c *server.Config) {
		c.Writable = true
		c.Observer.Called = func(call server.Call) {
			if call.Method != "PutBlock" {
				return
			}
			once.Do(func() {
				if err := errors.Join(os.Chtimes(path, time.Time{}, time.Unix(1, 0)), os.Remove(path)); err != nil {
					t.Error(err)
				}
			})
		}
	})
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
	result, err := transfer.Push(t.Context(), client.Place(), config)
	if !errors.Is(err, fs.ErrNotExist) || result.Failed != 1 || result.Files != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	if left := leftIn(t, to); len(left) > 0 {
		t.Errorf("there are %q", left)
	}
}

// TestPushPresentLeftover pushes files that are present, beside what an interrupted push has left of them.
func TestPushPresentLeftover(t *testing.T) {
	for _, single := range []bool{false, true} {
		for _, overwrite := range []bool{false, true} {
			from, _ := filetest.Tree(t, map[string]int{"large": 2 * fileservice.BlockSize, "small": 10})
			to := t.TempDir()
			there := filetest.Serve(t, to, filetest.Writable).Place()
			config := transfer.Config{
				Remote: ".", Root: filetest.OpenRoot(t, from), Local: ".", Overwrite: overwrite,
			}
			if _, err := transfer.Push(t.Context(), there, config); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"large", "small"} {
				part := filepath.Join(to, name+fileservice.PartSuffix)
				if err := os.WriteFile(part, make([]byte, 100), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if single {
				for _, name := range []string{"large", "small"} {
					config.Remote, config.Local = name, name
					if result, err := transfer.Push(t.Context(), there, config); err != nil || result.Present != 1 {
						t.Errorf("%+v, %v", result, err)
					}
				}
			} else if result, err := transfer.Push(t.Context(), there, config); err != nil || result.Present != 2 {
				t.Errorf("%+v, %v", result, err)
			}
			if left := leftIn(t, to); len(left) > 0 {
				t.Errorf("single %v, overwrite %v: there are %q", single, overwrite, left)
			}
		}
	}
}

// TestPushCanceledAbandons ends a push amid a file: the server is told, so that it keeps nothing open for it.
func TestPushCanceledAbandons(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"large": 70 * fileservice.BlockSize})
	root := filetest.OpenRoot(t, t.TempDir())
	listener := testkit.ListenTCP(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan string, 10)
	config := server.Config{Root: root, Writable: true}
	config.Observer.Called = func(call server.Call) {
		switch call.Method {
		case "PutBlock":
			cancel()
		case "AbandonWrite":
			told <- call.Path
		}
	}
	srv, served := filetest.StartServer(t, listener, config)
	c := filetest.Connect(t, client.Config{Dial: filetest.Dialer(listener.Addr().String())})
	push := transfer.Config{Remote: "copy", Root: filetest.OpenRoot(t, from), Local: "large"}
	_, err := transfer.Push(ctx, c.Place(), push)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := errors.Join(srv.Close(), <-served); err != nil { // after its calls
		t.Error(err)
	}
	if len(told) != 1 {
		t.Errorf("the server was told of %d files", len(told))
	}
}

// TestPushLosesRace pushes a file whose name another one gets meanwhile. Nothing is left of the loser.
func TestPushLosesRace(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"large": 70 * fileservice.BlockSize})
	to := t.TempDir()
	var once sync.Once
	there := filetest.Serve(t, to, func(c *server.Config) {
		c.Writable = true
		c.Observer.Called = func(call server.Call) {
			if call.Method != "PutBlock" {
				return
			}
			once.Do(func() {
				if err := os.WriteFile(filepath.Join(to, "large"), []byte("other"), 0o600); err != nil {
					t.Error(err)
				}
			})
		}
	}).Place()
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
	result, err := transfer.Push(t.Context(), there, config)
	if !errors.Is(err, fs.ErrExist) || result.Failed != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	if left := leftIn(t, to); len(left) > 0 {
		t.Errorf("there are %q", left)
	}
}
