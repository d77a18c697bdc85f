package transfer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
)

// TestTransferOfUnfitNames has files, and directories with files, whose names cannot travel. The others do, and none is
// left out in silence.
func TestTransferOfUnfitNames(t *testing.T) {
	from := t.TempDir()
	for _, name := range []string{"good", "a\nb", "sub/good", "sub/\xff", "sub/tab\t", "d\x1b/file"} {
		err := errors.Join(
			os.MkdirAll(filepath.Join(from, filepath.Dir(name)), 0o755),
			os.WriteFile(filepath.Join(from, name), []byte("content"), 0o644),
		)
		if err != nil {
			t.Skip(err) // a file system that has no such names
		}
	}
	want := map[string][]string{
		"pull": {".", "sub"}, // in which there are more than the server gives
		"push": {"a\nb", "d\x1b", "sub/tab\t", "sub/\xff"},
	}
	for role, run := range filetest.Transfers() {
		for _, dry := range []bool{false, true} {
			to := t.TempDir()
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			result, err := run(t.Context(), filetest.Serve(t, served, filetest.Writable), transfer.Config{
				Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".", DryRun: dry,
			})
			var faults []string
			for _, fault := range result.Faults {
				faults = append(faults, fault.Name)
				if !errors.Is(fault.Err, fs.ErrInvalid) {
					t.Errorf("%s: %q: %v", role, fault.Name, fault.Err)
				}
			}
			slices.Sort(faults)
			if !errors.Is(err, transfer.ErrPartial) || result.Files != 2 || !slices.Equal(faults, want[role]) {
				t.Errorf("%s: %v, %d files, faults of %q", role, err, result.Files, faults)
			}
			if _, err := os.Stat(filepath.Join(to, "sub/good")); (err == nil) == dry {
				t.Errorf("%s: what could be transferred: %v", role, err)
			}
		}
	}
}

// TestPullOfWhatIsIncluded does not take what cannot be listed for a failure where only some files are wanted.
func TestPullOfWhatIsIncluded(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"good", "a\nb"} {
		if err := os.WriteFile(filepath.Join(from, name), nil, 0o644); err != nil {
			t.Skip(err) // a file system that has no such names
		}
	}
	result, err := transfer.Pull(t.Context(), filetest.Serve(t, from, nil).Place(), transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, to), Local: ".", Include: []string{"g*"},
	})
	if err != nil || result.Files != 1 || result.Skipped != 1 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestPullOfRefusedListing has a server end a listing in the middle.
func TestPullOfRefusedListing(t *testing.T) {
	dir := filetest.Entry("tree", 0)
	dir.Mode = 0o040755
	client := filetest.Lie(t, &filetest.Liar{
		OnStat: func() (*fileservicepb.Entry, error) { return dir, nil },
		OnList: func(send func(*fileservicepb.ListResponse) error) error {
			err := send(&fileservicepb.ListResponse{Entries: []*fileservicepb.Entry{filetest.Entry("a", 1)}})
			return errors.Join(err, status.Error(codes.ResourceExhausted, "too many calls"))
		},
	})
	_, err := transfer.Pull(t.Context(), client.Place(), transfer.Config{
		Remote: "tree", Root: filetest.OpenRoot(t, t.TempDir()), Local: "tree", DryRun: true,
	})
	if !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("it ends with %v", err)
	}
}
