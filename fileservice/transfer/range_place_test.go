package transfer_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
	"culvert/place"
)

// countingPlace counts the bytes that are read at once. Reads of large files wait until there are as many as there may
// be.
type countingPlace struct {
	*summedPlace
	want int

	mu         sync.Mutex
	reads      int
	bytes      int
	mostBytes  int
	mostReads  int
	arrived    chan struct{}
	allArrived sync.Once
}

func (p *countingPlace) Open(name string) (fs.File, error) {
	f, err := p.summedPlace.Open(name)
	if err != nil {
		return nil, err
	}
	return &countingFile{f.(*summedFile), p}, nil
}

type countingFile struct {
	*summedFile
	counting *countingPlace
}

func (f *countingFile) ReadAt(b []byte, offset int64) (int, error) {
	p := f.counting
	p.count(1, len(b))
	<-p.arrived
	defer p.count(-1, -len(b))
	return f.summedFile.ReadAt(b, offset)
}

func (p *countingPlace) count(reads, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads += reads
	p.bytes += bytes
	p.mostReads, p.mostBytes = max(p.mostReads, p.reads), max(p.mostBytes, p.bytes)
	if p.reads == p.want {
		p.allArrived.Do(func() { close(p.arrived) })
	}
}

// TestPullPlaceParallel reads as many ranges at once as Config.Parallel says, whatever the checksum is made of, and
// never more than 80 MiB.
func TestPullPlaceParallel(t *testing.T) {
	sums := map[string]map[string]place.Sum{"none": {}, "CRC": {}, "whole": {}, "parts": {}}
	trees := map[string]string{}
	for kind := range sums {
		blocks := 32
		if kind == "whole" && !testkit.RaceDetector() {
			blocks = 64 // so that ranges that are too long take more memory than they may
		}
		from, names := filetest.Tree(t, map[string]int{
			"one": blocks*fileservice.BlockSize + 5, "two": blocks*fileservice.BlockSize + 5,
		})
		trees[kind] = from
		for _, name := range names {
			content := readFile(t, filepath.Join(from, name))
			switch kind {
			case "CRC":
				sums[kind][name] = sumOf(place.CRC64NVME, content, 0)
			case "whole":
				sums[kind][name] = sumOf(place.SHA256, content, 0)
			case "parts":
				sums[kind][name] = sumOf(place.MD5, content, 8<<20)
			}
		}
	}
	readsByParallel := map[int]int{0: 4, 7: 7, 13: 13, 20: 16}
	if testkit.RaceDetector() {
		readsByParallel = map[int]int{0: 4, 20: 16}
	}
	for kind, sums := range sums {
		for parallel, want := range readsByParallel {
			t.Run(fmt.Sprint(kind, parallel), func(t *testing.T) {
				if parallel > 10 && kind != "whole" {
					want = 8 // calls for several ranges leave fewer
				}
				from, target := trees[kind], t.TempDir()
				p := &countingPlace{
					summedPlace: &summedPlace{openVersioned(t, from), sums, func(string, []byte, int64) {}},
					want:        want, arrived: make(chan struct{}),
				}
				config := transfer.Config{
					Remote: ".", Root: filetest.OpenRoot(t, target), Local: ".", Parallel: parallel,
				}
				result, err := transfer.Pull(t.Context(), p, config)
				if err != nil || result.Files != 2 || result.Verified != int64(len(sums)) {
					t.Errorf("%+v, %v", result, err)
				}
				if parallel < 10 && p.mostReads != want || p.mostReads > max(parallel, 4) || p.mostBytes > 80<<20 {
					t.Errorf("%d ranges of %d bytes were read at once", p.mostReads, p.mostBytes)
				}
				filetest.SeeSame(t, from, target)
			})
		}
	}
}
