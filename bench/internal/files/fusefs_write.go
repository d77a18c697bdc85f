package files

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"culvert/bench/internal/harness"
)

// write copies a file into the mount, and then has the other side read it from its own disk.
func (m *mounts) write(name string, bytes int64) harness.Benchmark {
	const script = `dd if="$1" of="$2" bs=1M status=none && dd if="$3" of=/dev/null bs=1M status=none`
	return harness.Benchmark{
		Name: "MountWrite/read=peer",
		Variants: m.variants(m.besideSSHFS(m.culvertWritable), func(on *mounted) (harness.Sample, error) {
			from, written := filepath.Join(m.source, name), filepath.Join(m.source, "written")
			if err := syncAll(m.source); err != nil {
				return nil, err
			}
			var got harness.Sample
			// The last time counts: a guest that gives free memory back to its host waits for that memory, and for more
			// of it the larger the pages are that a program writes.
			for range 4 {
				to := on.path("written")
				var err error
				got, err = harness.Work{Bytes: bytes}.Between(harness.Reader, on.trees, func() (harness.Sample, error) {
					return m.Pipeline("", m.command("sh", "-c", script, "sh", from, to, written))
				})
				if err != nil {
					return nil, err
				}
				err = same(from, written)
				if err = errors.Join(err, os.Remove(to), syncAll(m.source)); err != nil {
					return nil, err
				}
			}
			got.SetSpeed(bytes)
			return got, nil
		}),
		Goals: slices.Concat(
			harness.On(2, mountGoal("impl=sshfs", "MB/s", 2.2, 0)),
			harness.On(4, mountGoal("impl=sshfs", "MB/s", 2, 0)),
			[]harness.Goal{mountGoal("", "mount-peak-bytes", 0, mountMemory)}),
	}
}
