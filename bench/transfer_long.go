package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// longPaths compares what round trips, and the loss of packets, leave of the speed.
func (t *transfers) longPaths() ([]benchmark, error) {
	var benchmarks []benchmark
	for _, c := range []struct {
		delay time.Duration // of a round trip
		loss  float64
		bytes int64
		least float64 // times scp; 0 to record it only
	}{
		{time.Millisecond, 0, int64(t.size(256<<20, 4<<20)), 0},
		{24 * time.Millisecond, 0, int64(t.size(256<<20, 4<<20)), 3},
		{200 * time.Millisecond, 0, int64(t.size(64<<20, 1<<20)), 3},
		{24 * time.Millisecond, 0.01, int64(t.size(64<<20, 1<<20)), 0},
	} {
		ends, err := t.newPath(c.delay/2, c.loss)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
			t.say("no long paths: %v", err)
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		over := *t
		over.ends = ends
		name := fmt.Sprintf("%dms", c.delay.Milliseconds())
		if c.loss > 0 {
			name += fmt.Sprintf("-%g%%", 100*c.loss)
		}
		b, err := over.longPath("Pull/path="+name+"/files=1", c.bytes, c.least)
		if err != nil {
			return nil, err
		}
		benchmarks = append(benchmarks, b)
	}
	return benchmarks, nil
}

func (t *transfers) longPath(name string, bytes int64, least float64) (benchmark, error) {
	what := fetched{fmt.Sprintf("file-%d", bytes), bytes, 1}
	b := benchmark{name: name, rounds: 5}
	if err := writeRandom(filepath.Join(t.source, what.name), bytes); err != nil {
		return b, err
	}
	url, server, err := t.serve(t.ends.server, serverAddress)
	if err != nil {
		return b, err
	}
	t.cleanup(server.stop)
	if t.ssh != nil {
		port, err := t.ssh.serve(t.ends.server, serverAddress)
		if err != nil {
			return b, err
		}
		b.variants = t.peers(what, serverAddress, port)
	}
	b.variants = append(b.variants, t.pull(what, url))
	b.goals = []goal{{variant: "impl=culvert", unit: "peak-bytes", max: 96 << 20}}
	if least > 0 {
		b.goals = append(b.goals, goal{variant: "impl=culvert", peer: "impl=scp", unit: "MB/s", min: least})
	}
	return b, nil
}
