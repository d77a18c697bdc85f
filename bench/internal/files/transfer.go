// Package files has the workloads that read and write the files of another machine: calls, transfers and mounts.
package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"culvert/bench/internal/harness"
)

// transfers is what the benchmarks of whole processes share. The servers run all the time, and each sample is one
// client from its start to its end.
type transfers struct {
	*harness.Session
	culvert  string // the program
	config   string // directory of culvert's own identity, which the server lets in
	identity string // its fingerprint
	source   string // directory that is served
	into     string // directory that is written
	ssh      *sshServer
	ends     *path // nil for loopback
	kept     int   // trees that were written
}

// newTransfers makes the directories, the programs and the keys.
func newTransfers(s *harness.Session) (*transfers, error) {
	t := &transfers{
		Session: s, config: filepath.Join(s.Dir, "config"), source: filepath.Join(s.Dir, "source"),
		into: filepath.Join(s.Dir, "into"),
	}
	for _, dir := range []string{t.config, t.source, t.into} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	var err error
	if t.culvert, err = s.Build("..", "./cmd/culvert"); err != nil {
		return nil, err
	}
	out, err := t.command(t.culvert, "keygen", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("culvert keygen: %w", err)
	}
	var made struct{ Fingerprint string }
	if err := json.Unmarshal(out, &made); err != nil {
		return nil, fmt.Errorf("culvert keygen: %w", err)
	}
	t.identity = made.Fingerprint
	t.ssh, err = newSSH(s)
	return t, err
}

// PrepareTransfer compares culvert pull with scp, rsync over ssh, and cp: one large file, many small ones, and long
// paths.
func PrepareTransfer(s *harness.Session) ([]harness.Benchmark, error) {
	t, err := newTransfers(s)
	if err != nil {
		return nil, err
	}
	large := int64(s.Size(1<<30, 8<<20))
	if err := writeRandom(filepath.Join(t.source, "large"), large); err != nil {
		return nil, err
	}
	files := s.Size(10_000, 200)
	random, content := rand.NewChaCha8([32]byte{1}), make([]byte, 4<<10)
	err = writeFiles(filepath.Join(t.source, "many"), files, "", func() []byte {
		_, _ = random.Read(content)
		return content
	})
	if err != nil {
		return nil, err
	}
	benchmarks, err := t.loopback(large, files)
	if err != nil {
		return nil, err
	}
	long, err := t.longPaths()
	return slices.Concat(t.disk(large), benchmarks, long), err
}

// writeRandom makes a file of size bytes, the same each time.
func writeRandom(name string, size int64) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.CopyN(file, rand.NewChaCha8([32]byte{}), size)
	return err
}

// writeFiles makes n files, a hundred in each directory. content returns the content of the next file.
func writeFiles(dir string, n int, extension string, content func() []byte) error {
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("%03d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("%05d", i)+extension), content(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// command is a program with the identity of the session.
func (t *transfers) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Ctx, name, args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.config)
	return cmd
}

// fileServer is a server that runs all the time.
type fileServer struct {
	*harness.Process
	url  string // the beginning of the URLs of its files
	tree *harness.Tree
}

// serve starts culvert serve at an address, with more flags if there are any.
func (t *transfers) serve(where func(*exec.Cmd) *exec.Cmd, host string, more ...string) (*fileServer, error) {
	args := append([]string{"serve", "--json", "--quiet", "--allow", t.identity, "--listen", host + ":0"}, more...)
	cmd := where(t.command(t.culvert, append(args, t.source)...))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	server := &fileServer{tree: harness.NewTree("server", cmd)}
	if server.Process, err = harness.StartProcess(cmd); err != nil {
		return nil, err
	}
	var said struct{ URLs []string }
	if err = json.NewDecoder(stdout).Decode(&said); err != nil || len(said.URLs) == 0 {
		return nil, errors.Join(fmt.Errorf("culvert serve says %v", said.URLs), err, server.Stop())
	}
	server.url = said.URLs[0]
	return server, nil
}

// here leaves a command as it is: it runs where this program does.
func here(cmd *exec.Cmd) *exec.Cmd { return cmd }

// fetched is what a variant copies out of the source: a file or a directory.
type fetched struct {
	name  string
	bytes int64
	files int
}

// work returns what a sample moves. Many files are as many small operations.
func (f fetched) work() harness.Work {
	if f.files > 1 {
		return harness.Work{Bytes: f.bytes, Ops: f.files}
	}
	return harness.Work{Bytes: f.bytes}
}

// sample times a command that copies into the directory for it, from servers. What it wrote is compared with the
// source, synced and put away afterwards.
func (t *transfers) sample(
	what fetched, command func() *exec.Cmd, servers ...*harness.Tree,
) (harness.Sample, error) {
	if err := os.MkdirAll(t.into, 0o755); err != nil {
		return nil, err
	}
	if err := syncAll(t.into); err != nil {
		return nil, err
	}
	got, err := what.work().Between("client", servers, func() (harness.Sample, error) {
		return t.Pipeline("", command())
	})
	if err != nil {
		return nil, err
	}
	got.SetSpeed(what.bytes)
	if what.files > 1 {
		got["files/s"] = float64(what.files) / (got["ns/op"] / 1e9)
	}
	err = same(filepath.Join(t.source, what.name), filepath.Join(t.into, what.name))
	return got, errors.Join(err, t.putAway(what), syncAll(t.Dir))
}

// putAway removes what a sample wrote, or keeps it to the end of the session if it is a tree: ext4 without a journal
// does not use an inode again within a minute, and searches linearly past all those that were removed, so that each
// variant would pay for the files of the ones before it (recently_deleted in fs/ext4/ialloc.c of Linux).
func (t *transfers) putAway(what fetched) error {
	if what.files == 1 {
		return os.RemoveAll(t.into)
	}
	t.kept++
	return os.Rename(t.into, filepath.Join(t.Dir, fmt.Sprint("kept-", t.kept)))
}

// syncAll has everything written to the disk, so that the next process does not pay for it.
func syncAll(dir string) error {
	out, err := exec.Command("sync", "-f", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("sync: %w\n%s", err, out)
	}
	return nil
}

// same compares two files or directories.
func same(want, got string) error {
	out, err := exec.Command("diff", "-rq", want, got).CombinedOutput()
	if err != nil {
		return fmt.Errorf("what was copied is not what was there: %w\n%s", err, out)
	}
	return nil
}

// pull is a variant that pulls from a server that is there.
func (t *transfers) pull(what fetched, from *fileServer) harness.Variant {
	return harness.Variant{Key: "impl=culvert", Run: func() (harness.Sample, error) {
		return t.sample(what, func() *exec.Cmd {
			return t.ends.client(t.command(t.culvert, "pull", "--quiet", "-o", t.into, from.url+what.name))
		}, from.tree)
	}}
}

// peers are the variants of ssh, as far as it is installed.
func (t *transfers) peers(what fetched, host string, from *sshd) []harness.Variant {
	if from == nil {
		return nil
	}
	source := t.ssh.user + "@" + host + ":" + filepath.Join(t.source, what.name)
	return []harness.Variant{
		{Key: "impl=scp", Run: func() (harness.Sample, error) {
			return t.sample(what, func() *exec.Cmd {
				return t.ends.client(t.command("scp", append(t.ssh.options(from), "-qrp", source, t.into)...))
			}, from.tree)
		}},
		{Key: "impl=rsync", Run: func() (harness.Sample, error) {
			return t.sample(what, func() *exec.Cmd {
				ssh := strings.Join(append([]string{"ssh"}, t.ssh.options(from)...), " ")
				return t.ends.client(t.command("rsync", "-aW", "-e", ssh, source, t.into))
			}, from.tree)
		}},
	}
}

// loopback compares one large file, and many small ones, on one machine.
func (t *transfers) loopback(large int64, files int) ([]harness.Benchmark, error) {
	server, err := t.serve(here, "127.0.0.1")
	if err != nil {
		return nil, err
	}
	t.Cleanup(server.Stop)
	peer, err := t.ssh.serve(here, "127.0.0.1")
	if err != nil {
		return nil, err
	}
	file := fetched{"large", large, 1}
	tree := fetched{"many", int64(files) * 4 << 10, files}
	copied := func(what fetched) harness.Variant {
		return harness.Variant{Key: "impl=cp-sync", Run: func() (harness.Sample, error) {
			return t.sample(what, func() *exec.Cmd {
				return t.command("sh", "-c", `cp -r "$1" "$2" && sync -f "$2"`, "sh",
					filepath.Join(t.source, what.name), t.into)
			})
		}}
	}
	ratio := func(peer string, least float64) harness.Goal {
		return harness.Goal{Variant: "impl=culvert", Peer: "impl=" + peer, Unit: "MB/s", Min: least}
	}
	const cost = "cpu-s/GiB"
	return []harness.Benchmark{{
		Name:   "Pull/path=loopback/files=1",
		Rotate: true, // the memory that one has given back is new to the next, or is not
		Variants: slices.Concat(t.peers(file, "127.0.0.1", peer), t.limit(file),
			[]harness.Variant{copied(file), t.pull(file, server)}),
		Goals: slices.Concat(
			harness.On(2, ratio("scp", 2), ratio("cp-sync", 0.6),
				harness.Goal{Variant: "impl=culvert", Peer: "impl=scp", Unit: cost, Max: 0.6},
				harness.Goal{Variant: "impl=culvert", Unit: cost, Max: 2}),
			harness.On(4, ratio("scp", 2.5), ratio("cp-sync", 0.8)),
			[]harness.Goal{ratio("rsync", 2.5), {Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20}},
		),
	}, {
		Name:     fmt.Sprintf("Pull/path=loopback/files=%d", files),
		Rotate:   true,
		Variants: append(t.peers(tree, "127.0.0.1", peer), copied(tree), t.pull(tree, server)),
		Goals: []harness.Goal{
			ratio("scp", 2), ratio("rsync", 2),
			{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		},
	}}, nil
}
