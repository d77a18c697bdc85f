package transfer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/place"
)

// boastingPlace says that its files are larger than any memory.
type boastingPlace struct{ *summedPlace }

type boastingInfo struct{ fs.FileInfo }

func (boastingInfo) Size() int64 { return 1 << 62 }

func (p *boastingPlace) Stat(name string) (fs.FileInfo, error) {
	info, err := p.summedPlace.Stat(name)
	return boastingInfo{info}, err
}

func (p *boastingPlace) Open(name string) (fs.File, error) {
	f, err := p.summedPlace.Open(name)
	if err != nil {
		return nil, err
	}
	return &boastingFile{f.(*summedFile)}, nil
}

type boastingFile struct{ *summedFile }

func (f *boastingFile) Stat() (fs.FileInfo, error) {
	info, err := f.summedFile.Stat()
	return boastingInfo{info}, err
}

// TestPullBoastedSize pulls a file whose place says a size that cannot be. The sums of its blocks would not fit into
// memory.
func TestPullBoastedSize(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"file": 2 * fileservice.BlockSize})
	content, err := os.ReadFile(filepath.Join(from, "file"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]place.Sum{"file": sumOf(place.CRC64NVME, content, 0)}
	p := &boastingPlace{&summedPlace{openVersioned(t, from), sums, func(string, []byte, int64) {}}}
	target := t.TempDir()
	config := transfer.Config{Remote: "file", Root: filetest.OpenRoot(t, target), Local: "copy"}
	if _, err := transfer.Pull(t.Context(), p, config); !errors.Is(err, place.ErrIntegrity) {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(target, "copy")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}
