package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
	"culvert/place"
)

// summedPlace is a directory whose files have checksums, and which may damage what it sends.
type summedPlace struct {
	*versionedPlace
	sums   map[string]place.Sum
	damage func(name string, p []byte, offset int64)
}

func (s *summedPlace) Open(name string) (fs.File, error) {
	f, err := s.versionedPlace.Open(name)
	if err != nil {
		return nil, err
	}
	return &summedFile{f.(*versionedFile), s}, nil
}

type summedFile struct {
	*versionedFile
	summed *summedPlace
}

func (f *summedFile) Sum() (place.Sum, error) { return f.summed.sums[f.name], nil }

func (f *summedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.versionedFile.ReadAt(p, offset)
	f.summed.damage(f.name, p[:n], offset)
	return n, err
}

// sumOf computes a checksum as a store does: that of the content, or that of the sums of parts.
func sumOf(algorithm place.Algorithm, content []byte, partSize int64) place.Sum {
	hash := algorithm.New()
	sum := place.Sum{Algorithm: algorithm}
	var sums []byte
	for rest := content; partSize > 0 && len(rest) > 0; {
		part := rest[:min(partSize, int64(len(rest)))]
		hash.Reset()
		_, _ = hash.Write(part) // never fails
		sums = hash.Sum(sums)
		sum.Parts = append(sum.Parts, int64(len(part)))
		rest = rest[len(part):]
	}
	if partSize > 0 {
		content = sums
	}
	hash.Reset()
	_, _ = hash.Write(content) // never fails
	sum.Value = hash.Sum(nil)
	return sum
}

// openSummed returns a place with a large file, one of a block, a small one and an empty one, and a transfer from it.
func openSummed(t *testing.T, algorithm place.Algorithm, partSize int64) (
	p *summedPlace, from, target string, config transfer.Config,
) {
	t.Helper()
	from, _ = filetest.Tree(t, map[string]int{
		"large": 21*fileservice.BlockSize + 5, "block": 100_000, "small": 1000, "empty": 0,
	})
	p = &summedPlace{openVersioned(t, from), map[string]place.Sum{}, func(string, []byte, int64) {}}
	for _, name := range []string{"large", "block", "small", "empty"} {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(content) == 0 {
			partSize = 0
		}
		p.sums[name] = sumOf(algorithm, content, partSize)
	}
	target = t.TempDir()
	return p, from, target, transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, target), Local: "."}
}

// sumCase is how a place makes its sums: over the content if there is no size of parts.
type sumCase struct {
	algorithm place.Algorithm
	partSize  int64
}

// allSums are sums of each algorithm, over the content, and over parts of whole blocks and of others.
func allSums() (cases []sumCase) {
	for _, algorithm := range []place.Algorithm{place.CRC32, place.CRC32C, place.CRC64NVME, place.MD5, place.SHA256} {
		for _, partSize := range []int64{0, 8 << 20, 5_000_000} {
			cases = append(cases, sumCase{algorithm, partSize})
		}
	}
	return cases
}

// sumsOfEachForm are sums of each form that package transfer distinguishes.
func sumsOfEachForm() []sumCase {
	if testkit.Soak() {
		return allSums()
	}
	return []sumCase{{place.CRC64NVME, 0}, {place.SHA256, 0}, {place.CRC32C, 8 << 20}, {place.MD5, 5_000_000}}
}

func forEachSum(t *testing.T, cases []sumCase, run func(t *testing.T, algorithm place.Algorithm, partSize int64)) {
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s/%d", c.algorithm, c.partSize), func(t *testing.T) { run(t, c.algorithm, c.partSize) })
	}
}

func TestPullPlaceVerifies(t *testing.T) {
	sums := allSums()
	if testkit.RaceDetector() {
		sums = sumsOfEachForm()
	}
	forEachSum(t, sums, func(t *testing.T, algorithm place.Algorithm, partSize int64) {
		p, from, target, config := openSummed(t, algorithm, partSize)
		events := 0
		config.Notify = func(e transfer.Event) {
			if e.Kind == transfer.FileDone && e.Verified {
				events++
			}
		}
		result, err := transfer.Pull(t.Context(), p, config)
		if err != nil || result.Files != 4 || result.Verified != 4 || events != 4 {
			t.Errorf("%+v, %v, %d events", result, err, events)
		}
		filetest.SeeSame(t, from, target)
	})
}

// TestPullPlaceDamaged changes a byte of each file on its way, one file after the other.
func TestPullPlaceDamaged(t *testing.T) {
	forEachSum(t, sumsOfEachForm(), func(t *testing.T, algorithm place.Algorithm, partSize int64) {
		for name, at := range map[string]int64{"large": 13*fileservice.BlockSize + 7, "block": 99_999, "small": 0} {
			p, _, target, config := openSummed(t, algorithm, partSize)
			p.damage = func(read string, b []byte, offset int64) {
				if read == name && offset <= at && at < offset+int64(len(b)) {
					b[at-offset] ^= 1
				}
			}
			result, err := transfer.Pull(t.Context(), p, config)
			if !errors.Is(err, transfer.ErrPartial) || !errors.Is(err, place.ErrIntegrity) || result.Verified != 3 {
				t.Errorf("%s: %+v, %v", name, result, err)
			}
			if left, err := filepath.Glob(filepath.Join(target, name+"*")); err != nil || len(left) != 0 {
				t.Errorf("%q is left, %v", left, err)
			}
			p.damage = func(string, []byte, int64) {}
			result, err = transfer.Pull(t.Context(), p, config)
			if err != nil || result.Verified != 1 || result.Resumed != 0 {
				t.Errorf("%s: %+v, %v", name, result, err)
			}
		}
	})
}

// TestPullPlaceResumesDamaged damages a block that is on the disk when the transfer is interrupted.
func TestPullPlaceResumesDamaged(t *testing.T) {
	forEachSum(t, sumsOfEachForm(), func(t *testing.T, algorithm place.Algorithm, partSize int64) {
		for _, damaged := range []bool{false, true} {
			p, from, target, config := openSummed(t, algorithm, partSize)
			config.Remote, config.Local = "large", "large"
			var interrupts atomic.Bool
			interrupts.Store(true)
			p.reading = func(_ string, offset int64) error {
				if interrupts.Load() && offset >= 13*fileservice.BlockSize {
					return place.ErrUnreachable
				}
				return nil
			}
			p.damage = func(_ string, b []byte, offset int64) {
				if damaged && interrupts.Load() && offset == 0 {
					b[100] ^= 1
				}
			}
			if result, err := transfer.Pull(t.Context(), p, config); !errors.Is(err, place.ErrUnreachable) {
				t.Fatalf("%+v, %v", result, err)
			}
			interrupts.Store(false)
			result, err := transfer.Pull(t.Context(), p, config)
			if !damaged {
				if err != nil || result.Verified != 1 || result.Resumed == 0 {
					t.Errorf("%+v, %v", result, err)
				}
				seeSameFile(t, filepath.Join(from, "large"), filepath.Join(target, "large"))
				continue
			}
			if !errors.Is(err, place.ErrIntegrity) || result.Verified != 0 {
				t.Errorf("damaged: %+v, %v", result, err)
			}
			if left, err := os.ReadDir(target); err != nil || len(left) != 0 {
				t.Errorf("%v is left, %v", left, err)
			}
		}
	})
}

func seeSameFile(t *testing.T, want, got string) {
	t.Helper()
	wanted, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(got); err != nil || !bytes.Equal(content, wanted) {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

// TestPullPlaceUnknownSums has sums that cannot be used: then nothing counts as verified.
func TestPullPlaceUnknownSums(t *testing.T) {
	for name, sum := range map[string]place.Sum{
		"none":        {},
		"algorithm":   {Algorithm: "SHA-3", Value: []byte{1}},
		"parts":       {Algorithm: place.SHA256, Value: make([]byte, 32), Parts: []int64{1, 2}},
		"other parts": {Algorithm: place.CRC32C, Value: make([]byte, 4), Parts: []int64{1 << 40}},
	} {
		t.Run(name, func(t *testing.T) {
			p, from, target, config := openSummed(t, place.SHA256, 0)
			for name := range p.sums {
				p.sums[name] = sum
			}
			delete(p.sums, "empty")
			result, err := transfer.Pull(t.Context(), p, config)
			if err != nil || result.Files != 4 || result.Verified != 0 {
				t.Errorf("%+v, %v", result, err)
			}
			filetest.SeeSame(t, from, target)
		})
	}
}
