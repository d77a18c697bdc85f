package transfer_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
)

// wideTree makes a tree with wide directories on several levels, and names that differ in case only or are not ASCII.
func wideTree(t *testing.T) (dir string, files int) {
	t.Helper()
	dir = t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	add := func(name string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		files++
	}
	for i := range 15 {
		add(fmt.Sprintf("%s%d", strings.Repeat("x", random.IntN(200)), i))
		add(fmt.Sprintf("dir%d/é%d", i, i))
		add(fmt.Sprintf("Dir%d/file", i))
		add(fmt.Sprintf("deep/Z%d/%d/%d/file", i%20, i%3, i))
		add(fmt.Sprintf("deep/twin%d", i))
		add(fmt.Sprintf("deep/TWIN%d", i))
	}
	for range 60 {
		add(fmt.Sprintf("deep/wide/%x", random.Uint64()))
	}
	return dir, files
}

// TestWideDirectories goes through directories that have no room in memory. All of a tree is found, and each file once,
// whatever room there is.
func TestWideDirectories(t *testing.T) {
	from, files := wideTree(t)
	rooms := []int64{1, 10_000}
	if testkit.RaceDetector() {
		rooms = rooms[1:]
	}
	for _, room := range rooms {
		for role, move := range filetest.Transfers() {
			to := t.TempDir()
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			client := filetest.Serve(t, served, filetest.Writable)
			run := func(kind transfer.EventKind, dry bool) {
				t.Helper()
				seen := map[string]int{}
				config := transfer.Config{
					Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".", DryRun: dry,
					Notify: func(e transfer.Event) {
						if e.Kind == kind {
							seen[e.Name]++
						}
					},
				}
				config.SetWalkRoom(room)
				result, err := move(t.Context(), client, config)
				if err != nil || result.Files+result.Present != int64(files) {
					t.Errorf("%s with %d bytes: %d files, %d present of %d, %v",
						role, room, result.Files, result.Present, files, err)
				}
				times := slices.Collect(maps.Values(seen))
				if len(seen) != files || slices.Max(times) != 1 {
					t.Errorf("%s with %d bytes: %d of %d files", role, room, len(seen), files)
				}
			}
			run(transfer.FilePlanned, true)
			run(transfer.FileDone, false)
			run(transfer.FilePresent, true)
			run(transfer.FilePresent, false)
			filetest.SeeSame(t, from, to)
		}
	}
}

// wideLiar serves directories of many long names, in no order.
type wideLiar struct {
	filetest.Liar
	dirs, names int
}

func (l *wideLiar) Stat(_ context.Context, request *fileservicepb.StatRequest) (*fileservicepb.Entry, error) {
	return dirEntry(path.Base(request.GetPath())), nil
}

func dirEntry(name string) *fileservicepb.Entry {
	dir := filetest.Entry(name, 0)
	dir.Mode = 0o040755
	return dir
}

func (l *wideLiar) List(
	request *fileservicepb.ListRequest, stream grpc.ServerStreamingServer[fileservicepb.ListResponse],
) error {
	page := &fileservicepb.ListResponse{}
	if request.GetPath() == "tree" {
		for i := range l.dirs {
			page.Entries = append(page.Entries, dirEntry(fmt.Sprint("dir", i)))
		}
		return stream.Send(page)
	}
	const stride = 1_000_003 // a prime
	for i := range l.names {
		name := fmt.Sprintf("%0200d", i*stride%l.names)
		page.Entries = append(page.Entries, filetest.Entry(name, 1))
		if len(page.Entries) == 256 || i+1 == l.names {
			if err := stream.Send(page); err != nil {
				return err
			}
			page.Entries = page.Entries[:0]
		}
	}
	return nil
}

// TestWideTree has several directories that would fill the memory of a walk together, and one that does so alone.
func TestWideTree(t *testing.T) {
	const inFlight = 32 << 20 // of both ends of the connections, on a busy machine
	room := int64(16 << 20)
	trees := []wideLiar{{dirs: 3, names: 25_000}}
	switch {
	case testkit.RaceDetector():
		room, trees = room/5, []wideLiar{{dirs: 3, names: 5000}}
	case testkit.Soak():
		room = 64 << 20 // which it has anyway
		trees = []wideLiar{{dirs: 4, names: 80_000}, {dirs: 1, names: 1_000_000}, {dirs: 20, names: 40_000}}
	}
	for _, l := range trees {
		client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(filetest.LieAt(t, &l))})
		heap := func() int64 {
			runtime.GC()
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			return int64(stats.HeapAlloc)
		}
		before, peak, planned := heap(), int64(0), 0
		config := transfer.Config{
			Remote: "tree", Root: filetest.OpenRoot(t, t.TempDir()), Local: "tree", DryRun: true,
			Notify: func(transfer.Event) {
				if planned++; planned%(l.dirs*l.names/4) == 1 {
					peak = max(peak, heap()-before)
				}
			},
		}
		config.SetWalkRoom(room)
		result, err := transfer.Pull(t.Context(), client.Place(), config)
		if want := l.dirs * l.names; err != nil || planned != want || result.Files != int64(want) {
			t.Errorf("%d of %d files, %v", result.Files, want, err)
		}
		t.Logf("%d directories of %d names take %d MiB", l.dirs, l.names, peak>>20)
		if peak > room+inFlight {
			t.Errorf("%d directories of %d names take %d MiB", l.dirs, l.names, peak>>20)
		}
	}
}
