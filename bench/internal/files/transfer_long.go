package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"culvert/bench/internal/harness"
)

// longPaths compares what round trips leave of the speed.
func (t *transfers) longPaths() ([]harness.Benchmark, error) {
	var benchmarks []harness.Benchmark
	for _, c := range []struct {
		delay time.Duration // of a round trip
		bytes int64
		least float64 // times scp
	}{
		{24 * time.Millisecond, int64(t.Size(256<<20, 4<<20)), 3.8},
		{200 * time.Millisecond, int64(t.Size(64<<20, 1<<20)), 3.3},
	} {
		ends, err := newPath(t.Session, c.delay/2)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
			t.Say("no long paths: %v", err)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		over := *t
		over.ends = ends
		name := fmt.Sprintf("Pull/path=%dms/files=1", c.delay.Milliseconds())
		b, err := over.longPath(name, c.bytes, c.least)
		if err != nil {
			return nil, err
		}
		benchmarks = append(benchmarks, b)
	}
	return benchmarks, nil
}

func (t *transfers) longPath(name string, bytes int64, least float64) (harness.Benchmark, error) {
	what := fetched{fmt.Sprintf("file-%d", bytes), bytes, 1}
	b := harness.Benchmark{Name: name, Rounds: 5}
	if err := writeRandom(filepath.Join(t.source, what.name), bytes); err != nil {
		return b, err
	}
	server, err := t.serve(t.ends.server, serverAddress)
	if err != nil {
		return b, err
	}
	t.Cleanup(server.Stop)
	peer, err := t.ssh.serve(t.ends.server, serverAddress)
	if err != nil {
		return b, err
	}
	b.Variants = append(t.peers(what, serverAddress, peer), t.pull(what, server))
	b.Goals = []harness.Goal{
		{Variant: "impl=culvert", Unit: "peak-bytes", Max: 96 << 20},
		{Variant: "impl=culvert", Peer: "impl=scp", Unit: "MB/s", Min: least},
	}
	return b, nil
}
