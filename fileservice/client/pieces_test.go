package client_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// TestSmallReadsShareCalls has many readers of small ranges of several files.
func TestSmallReadsShareCalls(t *testing.T) {
	const readers, reads = 200, 10
	sizes := map[string]int{"a": 300_000, "b": 700_000, "c": 65_537}
	dir, _ := filetest.Tree(t, sizes)
	client, calls := counted(t, dir)
	contents, files := map[string][]byte{}, map[string]fs.File{}
	for name := range sizes {
		var err error
		if contents[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if files[name], err = client.Open(name); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			name := []string{"a", "b", "c"}[i%3]
			for range reads {
				p := make([]byte, 1+random.IntN(10_000))
				offset := random.IntN(len(contents[name]) - len(p))
				n, err := files[name].(io.ReaderAt).ReadAt(p, int64(offset))
				if n != len(p) || err != nil || !bytes.Equal(p, contents[name][offset:offset+n]) {
					t.Errorf("%s: %d bytes at %d, %v", name, n, offset, err)
				}
			}
		})
	}
	all.Wait()
	if n := calls("ReadPieces"); n == 0 || n >= readers*reads {
		t.Errorf("%d calls for %d reads", n, readers*reads)
	}
	if n := calls("Read"); n != 0 {
		t.Errorf("%d reads had calls of their own", n)
	}
}

// TestSmallReadsFailAlone reads, all at once, files of which one has changed, one is gone and one is as it was.
func TestSmallReadsFailAlone(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"same": 100_000, "changed": 100_000, "gone": 100_000})
	client := filetest.Serve(t, dir, nil)
	files := openAll(t, client, "same", "changed", "gone")
	if err := os.WriteFile(filepath.Join(dir, "changed"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	want := map[string]error{"same": nil, "changed": fileservice.ErrChanged, "gone": fs.ErrNotExist}
	var all sync.WaitGroup
	for i := range 90 {
		all.Go(func() {
			name := []string{"same", "changed", "gone"}[i%3]
			n, err := files[name].(io.ReaderAt).ReadAt(make([]byte, 1000), int64(i)*1000)
			if !errors.Is(err, want[name]) || n != 0 && err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
			if pathError, is := errors.AsType[*fs.PathError](err); err != nil && (!is || pathError.Path != name) {
				t.Errorf("%s: %v names another file", name, err)
			}
		})
	}
	all.Wait()
}

func TestPiecesThatLie(t *testing.T) {
	for what, response := range map[string]*fileservicepb.ReadPiecesResponse{
		"nothing":           {},
		"less":              {Data: make([]byte, 99)},
		"more":              {Data: make([]byte, 101)},
		"much more":         {Data: make([]byte, 300<<10)},
		"failed, with data": {Data: make([]byte, 100), Failed: []uint32{0}},
		"failed twice":      {Failed: []uint32{0, 0}},
		"another failed":    {Data: make([]byte, 100), Failed: []uint32{1}},
		"an early end":      nil,
	} {
		client := filetest.Lie(t, &filetest.Liar{
			OnOpen: func() *fileservicepb.OpenResponse {
				return &fileservicepb.OpenResponse{Entry: filetest.Entry("file", 100_000)}
			},
			OnPieces: func(*fileservicepb.ReadPiecesRequest) *fileservicepb.ReadPiecesResponse { return response },
		})
		file, err := client.Open("file")
		if err != nil {
			t.Fatal(err)
		}
		n, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), 7)
		if n != 0 || !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
}

func TestPiecesThatAreWrong(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 100})
	client := filetest.Raw(t, filetest.Listen(t, dir, nil))
	entry, err := client.Stat(t.Context(), &fileservicepb.StatRequest{Path: "file"})
	if err != nil {
		t.Fatal(err)
	}
	piece := func(offset, length int64) *fileservicepb.ReadRequest {
		return &fileservicepb.ReadRequest{Path: "file", Version: entry.GetVersion(), Offset: offset, Length: length}
	}
	many := func(n int, length int64) (pieces []*fileservicepb.ReadRequest) {
		for range n {
			pieces = append(pieces, piece(0, length))
		}
		return pieces
	}
	for what, pieces := range map[string][]*fileservicepb.ReadRequest{
		"none":        nil,
		"empty":       {piece(0, 0)},
		"negative":    {piece(0, -1)},
		"before":      {piece(-1, 10)},
		"long":        {piece(0, 64<<10+1)},
		"too many":    many(65, 1),
		"too much":    many(5, 64<<10),
		"one of some": {piece(0, 10), piece(0, 0)},
		"any version": {{Path: "file", Length: 10}},
	} {
		_, err := filetest.AskPieces(t.Context(), client, pieces...)
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, c := range map[string]struct {
		pieces []*fileservicepb.ReadRequest
		failed []uint32
		bytes  int
	}{
		"beyond the end": {
			[]*fileservicepb.ReadRequest{piece(0, 10), piece(95, 6), piece(1<<62, 1), piece(95, 5)}, []uint32{1, 2}, 15,
		},
		"no path": {
			[]*fileservicepb.ReadRequest{piece(0, 1), {Path: "../file", Version: entry.GetVersion(), Length: 1}},
			[]uint32{1},
			1,
		},
		"all of them": {[]*fileservicepb.ReadRequest{piece(100, 1)}, []uint32{0}, 0},
	} {
		got, err := filetest.AskPieces(t.Context(), client, c.pieces...)
		if err != nil || !slices.Equal(got.GetFailed(), c.failed) || len(got.GetData()) != c.bytes {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

// TestSmallReadsOfLongPaths has more names at once than fit in a request to a server that is not writable.
func TestSmallReadsOfLongPaths(t *testing.T) {
	name := strings.Repeat(strings.Repeat("d", 200)+"/", 10) + "file"
	dir, _ := filetest.Tree(t, map[string]int{name: 300_000})
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	file, err := filetest.Serve(t, dir, nil).Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range int64(1000) {
		all.Go(func() {
			p := make([]byte, 100)
			n, err := file.(io.ReaderAt).ReadAt(p, i*100)
			if err != nil || !bytes.Equal(p, content[i*100:i*100+100]) {
				t.Errorf("read %d: %d bytes, %v", i, n, err)
			}
		})
	}
	all.Wait()
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

func TestPiecesFarTooLong(t *testing.T) {
	client := filetest.Lie(t, piecesOf(func(*fileservicepb.ReadPiecesRequest) *fileservicepb.ReadPiecesResponse {
		return &fileservicepb.ReadPiecesResponse{Data: make([]byte, 500<<10)}
	}))
	file, err := client.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), 7); !errors.Is(err, fileservice.ErrIntegrity) {
		t.Errorf("%v", err)
	}
}
