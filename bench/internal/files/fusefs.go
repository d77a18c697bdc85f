package files

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"culvert/bench/internal/harness"
)

// mounts is what the benchmarks of mounts share. The servers run all the time; each sample has a mount of its own, of
// which nothing is in the page cache, while the files of the server are in it.
type mounts struct {
	*transfers
	at        string // where mounts are
	fileMount string // the program that mounts a file from memory
	server    *fileServer
	sshd      *sshd  // nil if there is none
	readAhead []byte // KiB that the kernel reads ahead for culvert mount, in decimal

	culvertMount, culvertWritable, decrypting, sshfs, inMemory mountable
}

// PrepareFusefs compares culvert mount with sshfs, with a file that go-fuse serves from memory, and with the file
// system below.
func PrepareFusefs(s *harness.Session) ([]harness.Benchmark, error) {
	if err := CanMount(); err != nil {
		s.Say("no mounts: %v", err)
		return nil, nil
	}
	t, err := newTransfers(s)
	if err != nil {
		return nil, err
	}
	m := &mounts{transfers: t, at: filepath.Join(s.Dir, "mount")}
	if err := os.Mkdir(m.at, 0o755); err != nil {
		return nil, err
	}
	s.Cleanup(m.sweep)
	if m.fileMount, err = s.Build(".", "./cmd/memorymount"); err != nil {
		return nil, err
	}
	if m.server, err = t.serve(here, "127.0.0.1", "--writable"); err != nil {
		return nil, err
	}
	s.Cleanup(m.server.Stop)
	if _, err := exec.LookPath("sshfs"); err != nil {
		s.Say("no sshfs: %v", err)
		t.ssh = nil
	}
	if m.sshd, err = t.ssh.serve(here, "127.0.0.1"); err != nil {
		return nil, err
	}
	large, files := int64(s.Size(1<<30, 4<<20)), s.Size(10_000, 200)
	if err := writeRandom(filepath.Join(t.source, "large"), large); err != nil {
		return nil, err
	}
	if err := writePeople(filepath.Join(t.source, "many"), files); err != nil {
		return nil, err
	}
	m.kinds()
	benchmarks := []harness.Benchmark{
		m.cold("large", large), m.warm("large", large), m.random("large", large), m.list(files), m.grep(files),
		m.write("large", large),
	}
	decrypted, err := m.decrypted()
	if err != nil {
		return nil, err
	}
	memory, err := m.memory()
	return append(benchmarks, decrypted, memory), err
}

// CanMount says what mounts need and this machine lacks.
func CanMount() error {
	for _, tool := range []string{"fusermount3", "dd"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
	}
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return device.Close()
}

// kinds says how each mount is made.
func (m *mounts) kinds() {
	culvert := func(flags ...string) func(string) *exec.Cmd {
		return func(dir string) *exec.Cmd {
			args := append([]string{"mount", "--quiet", "--json"}, flags...)
			return m.command(m.transfers.culvert, append(args, m.server.url, dir)...)
		}
	}
	sshfs := func(dir string) *exec.Cmd {
		args := []string{"-f", m.ssh.user + "@127.0.0.1:" + m.source, dir}
		return m.command("sshfs", append(args, m.ssh.options(m.sshd)...)...)
	}
	ours := mountable{impl: "culvert", announces: true, server: m.server.tree}
	m.culvertMount, m.culvertWritable, m.decrypting = ours, ours, ours
	m.culvertMount.command = culvert()
	m.culvertWritable.command = culvert("--rw")
	m.decrypting.impl, m.decrypting.command = "culvert-decrypt", culvert("--decrypt", "-i", m.identityFile())
	if m.sshd != nil {
		m.sshfs = mountable{impl: "sshfs", command: sshfs, server: m.sshd.tree}
	}
	m.inMemory = mountable{impl: "gofuse", readAhead: true, command: func(dir string) *exec.Cmd {
		return m.command(m.fileMount, filepath.Join(m.source, "large"), dir)
	}}
}

// identityFile is culvert's own identity, which all encryption is to.
func (m *mounts) identityFile() string { return filepath.Join(m.config, "culvert", "identity.txt") }

// besideSSHFS has sshfs, if it is there, and then others.
func (m *mounts) besideSSHFS(others ...mountable) []mountable {
	if m.sshd == nil {
		return others
	}
	return append([]mountable{m.sshfs}, others...)
}

// variants have one sample of the same work with each mount.
func (m *mounts) variants(what []mountable, work func(*mounted) (harness.Sample, error)) []harness.Variant {
	var variants []harness.Variant
	for _, w := range what {
		variants = append(variants, harness.Variant{Key: "impl=" + w.impl, Run: func() (harness.Sample, error) {
			return m.mounted(w, work)
		}})
	}
	return variants
}

// read gives the sample of dd that reads a file below servers.
func (m *mounts) read(file string, bytes int64, servers ...*harness.Tree) (harness.Sample, error) {
	got, err := harness.Work{Bytes: bytes}.Between(harness.Reader, servers, func() (harness.Sample, error) {
		return m.Pipeline("", m.command("dd", "if="+file, "of="+os.DevNull, "bs=1M", "status=none"))
	})
	if err != nil {
		return nil, err
	}
	got.SetSpeed(bytes)
	return got, nil
}

const mountMemory = 128 << 20 // what each process may take at most

func mountGoal(peer, unit string, least, most float64) harness.Goal {
	return harness.Goal{Variant: "impl=culvert", Peer: peer, Unit: unit, Min: least, Max: most}
}

// cold reads a file for the first time. What dd reads is thrown away, so it is compared with the source afterwards,
// when the kernel has it.
func (m *mounts) cold(name string, bytes int64) harness.Benchmark {
	return harness.Benchmark{
		Name: "MountRead/cache=cold",
		Variants: m.variants(m.besideSSHFS(m.culvertMount, m.inMemory), func(on *mounted) (harness.Sample, error) {
			if err := usePages(bytes); err != nil {
				return nil, err
			}
			got, err := m.read(on.path(name), bytes, on.trees...)
			if err != nil {
				return nil, err
			}
			return got, same(filepath.Join(m.source, name), on.path(name))
		}),
		Goals: slices.Concat(
			harness.On(2, mountGoal("impl=sshfs", "MB/s", 3.5, 0)),
			harness.On(4, mountGoal("impl=sshfs", "MB/s", 4, 0)),
			[]harness.Goal{
				mountGoal("impl=gofuse", "MB/s", 0.5, 0), mountGoal("", "MB/s", 500, 0),
				mountGoal("", "mount-peak-bytes", 0, mountMemory),
			}),
	}
}

// warm reads a file again, and what the file system below has in the page cache.
func (m *mounts) warm(name string, bytes int64) harness.Benchmark {
	again := func(path string, servers ...*harness.Tree) (harness.Sample, error) {
		return harness.Steady(func() (harness.Sample, error) { return m.read(path, bytes, servers...) })
	}
	files := harness.Variant{Key: "impl=files", Run: func() (harness.Sample, error) {
		return again(filepath.Join(m.source, name))
	}}
	return harness.Benchmark{
		Name: "MountRead/cache=warm",
		Variants: append(m.variants([]mountable{m.culvertMount}, func(on *mounted) (harness.Sample, error) {
			return again(on.path(name), on.trees...)
		}), files),
		Goals: []harness.Goal{mountGoal("impl=files", "MB/s", 0.8, 0)},
	}
}

// memory measures both ends with a new mount and a new server, for a sparse file and for one of ten times its size.
func (m *mounts) memory() (harness.Benchmark, error) {
	const serverUnit = "server-peak-bytes"
	small := int64(m.Size(1024, 4))
	sizes := [2]int64{small, 10 * small} // MiB
	name := func(size int64) string { return fmt.Sprintf("sparse-%d", size) }
	for _, size := range sizes {
		file, err := os.Create(filepath.Join(m.source, name(size)))
		if err := errors.Join(err, file.Truncate(size<<20), file.Close()); err != nil {
			return harness.Benchmark{}, err
		}
	}
	units := []string{"mount-peak-bytes", serverUnit}
	return harness.Flat("MountMemory", "MiB", sizes, mountMemory, units, func(size int64) (harness.Sample, error) {
		own := *m
		var err error
		if own.server, err = m.serve(here, "127.0.0.1"); err != nil {
			return nil, err
		}
		own.kinds()
		got, err := own.mounted(own.culvertMount, func(on *mounted) (harness.Sample, error) {
			return m.read(on.path(name(size)), size<<20, on.trees...)
		})
		if err = errors.Join(err, own.server.Stop()); err != nil {
			return nil, err
		}
		got[serverUnit] = float64(own.server.Peak.Load())
		return got, nil
	}), nil
}
