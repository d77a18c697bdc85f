package client_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// TestSums asks for the sums of files of all sizes, and of files that have none.
func TestSums(t *testing.T) {
	const large = 2*fileservice.BlockSize + 300_000
	dir, names := filetest.Tree(t, map[string]int{
		"d/empty": 0, "d/one": 1, "d/block": fileservice.BlockSize, "d/large": large,
	})
	remote := filetest.Serve(t, dir, nil)
	var files []client.NamedVersion
	for _, name := range append(names, "d") {
		info, err := remote.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, client.NamedVersion{
			Name: strings.TrimPrefix(name, "d/"), Version: fileservice.VersionOf(info),
		})
	}
	changed := files[0]
	changed.Version.Tag++
	files = append(files, changed, client.NamedVersion{Name: "none"}, client.NamedVersion{Name: "../d/one"})
	sums, errs, err := remote.Sums(t.Context(), "d", files)
	if err != nil || len(sums) != len(files) || len(errs) != len(files) {
		t.Fatal(sums, errs, err)
	}
	for i, name := range names {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var want fileservice.FileSum
		for block := range fileservice.Blocks(int64(len(content))) {
			begin := block * fileservice.BlockSize
			end := min(begin+fileservice.BlockSize, int64(len(content)))
			want.Append(fileservice.SumBlock(content[begin:end], block))
		}
		if errs[i] != nil || sums[i] != want.Sum() {
			t.Errorf("%s: %v, %v", name, sums[i], errs[i])
		}
	}
	for i, want := range []error{fs.ErrNotExist, fileservice.ErrChanged, fs.ErrNotExist, fs.ErrInvalid} {
		if err := errs[len(names)+i]; !errors.Is(err, want) {
			t.Errorf("%v: %v", files[len(names)+i], err)
		}
	}
	if _, _, err := remote.Sums(t.Context(), ".", files[4:5]); err != nil {
		t.Error(err)
	}
	many := make([]client.NamedVersion, fileservice.MaxSmallFiles+1)
	if _, _, err := remote.Sums(t.Context(), ".", many); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("too many files: %v", err)
	}
}

// sumLiar answers a request for sums as a test says.
type sumLiar struct {
	filetest.Liar
	response *fileservicepb.SumResponse
}

func (l *sumLiar) Sum(context.Context, *fileservicepb.SumRequest) (*fileservicepb.SumResponse, error) {
	return l.response, nil
}

// TestSumsThatLie asks servers that do not answer as they should, and one that does not know the call.
func TestSumsThatLie(t *testing.T) {
	good := &fileservicepb.SumResult{Hash: make([]byte, fileservice.SumSize)}
	short := &fileservicepb.SumResult{Hash: make([]byte, fileservice.SumSize-1)}
	ask := func(l filetest.HostileServer) error {
		_, _, err := filetest.Lie(t, l).Sums(t.Context(), ".", []client.NamedVersion{{Name: "file"}})
		return err
	}
	for what, results := range map[string][]*fileservicepb.SumResult{
		"none": {}, "too many": {good, good}, "a short one": {short}, "nothing of it": {{}},
	} {
		if err := ask(&sumLiar{response: &fileservicepb.SumResponse{Files: results}}); !errors.Is(
			err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := ask(&filetest.Liar{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an older server: %v", err)
	}
}
