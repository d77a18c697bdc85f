package files

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"culvert/bench/internal/harness"
)

// writePeople makes files of 48 rows, about 4 KiB.
func writePeople(dir string, n int) error {
	p, next := harness.NewPeople(), 0
	return writeFiles(dir, n, ".csv", func() []byte {
		var rows bytes.Buffer
		for range 48 {
			rows.WriteString(strings.Join(p.Records[next%len(p.Records)], ",") + "\n")
			next++
		}
		return rows.Bytes()
	})
}

// list has ls describe all files of a tree.
func (m *mounts) list(files int) harness.Benchmark {
	return m.tree("MountList", files, []harness.Goal{mountGoal("impl=sshfs", "ns/op", 0, 0.5)}, "ls", "-lR", ".")
}

// grep looks for a line in all files of a tree. Rows repeat, so that there are several.
func (m *mounts) grep(files int) harness.Benchmark {
	return m.tree("MountGrep", files, slices.Concat(
		harness.On(2, mountGoal("impl=sshfs", "files/s", 2.5, 0), mountGoal("impl=sshfs", "cpu-µs/op", 0, 1)),
		harness.On(4, mountGoal("impl=sshfs", "files/s", 2, 0))), "grep", "-r", "^345,", ".")
}

// tree runs a command in a tree of small files. It has to print as many lines as in the source; the order is that of
// the directories.
func (m *mounts) tree(name string, files int, goals []harness.Goal, command ...string) harness.Benchmark {
	output := filepath.Join(m.Dir, "output")
	in := func(dir string, servers ...*harness.Tree) (harness.Sample, int, error) {
		cmd := m.command(command[0], command[1:]...)
		cmd.Dir = dir
		got, err := harness.Work{Ops: files}.Between(harness.Reader, servers, func() (harness.Sample, error) {
			return m.Pipeline(output, cmd)
		})
		if err != nil {
			return nil, 0, err
		}
		got["files/s"] = float64(files) / (got["ns/op"] / 1e9)
		text, err := os.ReadFile(output)
		return got, bytes.Count(text, []byte("\n")), err
	}
	return harness.Benchmark{
		Name: fmt.Sprintf("%s/files=%d", name, files),
		Variants: m.variants(m.besideSSHFS(m.culvertMount), func(on *mounted) (harness.Sample, error) {
			got, lines, err := in(on.path("many"), on.trees...)
			if err != nil {
				return nil, err
			}
			_, want, err := in(filepath.Join(m.source, "many"))
			if err == nil && (lines != want || lines == 0) {
				err = fmt.Errorf("%s prints %d lines in the mount, and %d in the source", command[0], lines, want)
			}
			return got, err
		}),
		Goals: goals,
	}
}

// randomThreads read at once.
const randomThreads = 16

// random reads 4 KiB at a time, each at another place, and compares it with the source.
func (m *mounts) random(name string, size int64) harness.Benchmark {
	const page = 4 << 10
	places := rand.New(rand.NewPCG(1, 2)).Perm(int(size / page))
	places = places[:min(m.Size(16_384, 256), len(places))]
	return harness.Benchmark{
		Name: fmt.Sprintf("MountRandom/bytes=%d/threads=%d/reads=%d", page, randomThreads, len(places)),
		Variants: m.variants(m.besideSSHFS(m.culvertMount, m.inMemory), func(on *mounted) (harness.Sample, error) {
			source, err := mapFile(filepath.Join(m.source, name))
			if err != nil {
				return nil, err
			}
			// A thread that waits for a read keeps others of Go from nothing.
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(randomThreads))
			moved := harness.Work{Bytes: int64(len(places)) * page, Ops: len(places)}
			got, err := moved.Between(harness.Reader, on.trees, func() (harness.Sample, error) {
				return harness.Work{}.Here(func() error { return readAtOnce(on.path(name), source, places, page) })
			})
			if err == nil {
				got.SetSpeed(moved.Bytes)
				got["reads/s"] = float64(len(places)) / (got["ns/op"] / 1e9)
			}
			return got, errors.Join(err, syscall.Munmap(source))
		}),
		Goals: slices.Concat(
			harness.On(2, mountGoal("impl=sshfs", "reads/s", 1.5, 0), mountGoal("", "mount-cpu-µs/op", 0, 40)),
			harness.On(4, mountGoal("impl=sshfs", "reads/s", 2, 0), mountGoal("impl=sshfs", "reads/s", 3, 0))),
	}
}

// readAtOnce has threads read all places, each so many-th of them.
func readAtOnce(name string, source []byte, places []int, page int) error {
	errs := make([]error, randomThreads)
	var all sync.WaitGroup
	for first := range errs {
		all.Go(func() {
			file, err := os.Open(name)
			p := make([]byte, page)
			for i := first; i < len(places) && err == nil; i += randomThreads {
				at := places[i] * page
				_, err = file.ReadAt(p, int64(at))
				if err == nil && !bytes.Equal(p, source[at:at+page]) {
					err = fmt.Errorf("%s: other bytes than in the source at %d", name, at)
				}
			}
			errs[first] = errors.Join(err, file.Close())
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// mapFile maps a file of which all pages are there, so that to compare with it costs little.
func mapFile(name string) (_ []byte, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED|syscall.MAP_POPULATE)
}
