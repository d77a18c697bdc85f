package transfer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
)

// TestPullOrigin ends a pull of a directory in the middle. Until a later one is complete, the copy is known by its
// origin, and by no other.
func TestPullOrigin(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"large": 20 * fileservice.BlockSize, "small": 1, "sub/one": 5})
	client := filetest.Serve(t, from, nil)
	target := t.TempDir()
	config := transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, target), Local: "sub/copy", Origin: "culvert://one/",
	}
	wantUnfinished := func(want bool) {
		t.Helper()
		if is, err := config.IsUnfinished(); err != nil || is != want {
			t.Errorf("it is unfinished: %t, %v, want %t", is, err, want)
		}
	}
	wantUnfinished(false)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	interrupted := config
	interrupted.Notify = func(transfer.Event) { cancel() }
	if _, err := transfer.Pull(ctx, client.Place(), interrupted); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	wantUnfinished(true)
	config.Origin = "culvert://one/other"
	wantUnfinished(false)
	config.Origin = "culvert://one/"

	// One file differs.
	taken := filepath.Join(target, "sub", "copy", "sub", "one")
	if err := os.WriteFile(taken, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Pull(t.Context(), client.Place(), config); err == nil {
		t.Error("a file was replaced")
	}
	wantUnfinished(true)
	if err := os.Remove(taken); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Pull(t.Context(), client.Place(), config); err != nil {
		t.Error(err)
	}
	wantUnfinished(false)
	filetest.SeeSame(t, from, filepath.Join(target, "sub", "copy"))
}
