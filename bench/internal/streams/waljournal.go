package streams

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"culvert/bench/internal/harness"
	"culvert/wal"
)

// study reproduces the comparison of https://bbengfort.github.io/2017/08/buffered-writes: a log with a header of fixed
// length at its top that each append writes anew, behind entries that are lines of JSON, through a bufio.Writer of its
// own or straight to the file. One more writes all lines of an append at once; and package wal stands beside them.
func study(s *harness.Session) []harness.Benchmark {
	var benchmarks []harness.Benchmark
	for _, sync := range []bool{true, false} {
		for _, group := range []int{1, 10, 100} {
			r := journalRun{writers: 1, group: group, appends: 500}
			name, options := "each", wal.Options{}
			if !sync {
				r.appends = 20_000 / group
				name, options = "none", wal.Options{Sync: wal.None}
			}
			by := func(way int) opener {
				return func(dir string) (journal, error) { return openStudy(dir, way, sync) }
			}
			benchmarks = append(benchmarks, harness.Benchmark{
				Name: fmt.Sprintf("WALStudy/sync=%s/group=%d", name, group),
				Variants: r.inTurn(s,
					contender{"buffered", by(throughBuffer)}, contender{"unbuffered", by(lineByLine)},
					contender{"onewrite", by(atOnce)}, contender{"culvert", openCulvert(options)},
				),
				Goals: []harness.Goal{
					{Variant: "impl=culvert", Peer: "impl=buffered", Unit: "ns/op", Max: 1},
					{Variant: "impl=culvert", Peer: "impl=unbuffered", Unit: "ns/op", Max: 1},
				},
			})
		}
	}
	return benchmarks
}

// The ways to write the lines of an append.
const (
	throughBuffer = iota
	lineByLine
	atOnce
)

// studyJournal is the log of the study.
type studyJournal struct {
	file    *os.File
	way     int
	sync    bool
	version uint64
	header  [64]byte
	lines   []byte
}

// studyEntry is what one line holds.
type studyEntry struct {
	Version uint64
	Key     string
	Value   []byte
	Created time.Time
}

func openStudy(dir string, way int, sync bool) (journal, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.Create(dir + "/log.json")
	if err != nil {
		return nil, err
	}
	j := &studyJournal{file: file, way: way, sync: sync}
	_, err = file.Write(j.header[:])
	return j, err
}

func (j *studyJournal) append(entries [][]byte) error {
	if err := j.writeLines(entries); err != nil {
		return err
	}
	if _, err := j.file.Seek(0, 0); err != nil {
		return err
	}
	copy(j.header[:], fmt.Sprintf("{\"version\":%d}", j.version))
	if _, err := j.file.Write(j.header[:]); err != nil {
		return err
	}
	if _, err := j.file.Seek(0, 2); err != nil {
		return err
	}
	if j.sync {
		return j.file.Sync()
	}
	return nil
}

func (j *studyJournal) writeLines(entries [][]byte) error {
	var buffer *bufio.Writer
	if j.way == throughBuffer {
		buffer = bufio.NewWriter(j.file) // anew for each append, as in the study
	}
	j.lines = j.lines[:0]
	for _, value := range entries {
		j.version++
		line, err := json.Marshal(studyEntry{j.version, "key", value, time.Now()})
		if err != nil {
			return err
		}
		line = append(line, '\n')
		switch j.way {
		case throughBuffer:
			_, err = buffer.Write(line)
		case lineByLine:
			_, err = j.file.Write(line)
		case atOnce:
			j.lines = append(j.lines, line...)
		}
		if err != nil {
			return err
		}
	}
	switch j.way {
	case throughBuffer:
		return buffer.Flush()
	case atOnce:
		_, err := j.file.Write(j.lines)
		return err
	}
	return nil
}

func (j *studyJournal) close() error { return j.file.Close() }
