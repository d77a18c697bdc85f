package streams

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	lines   bytes.Buffer
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
	copy(j.header[:], fmt.Sprintf("{\"version\":%d}", j.version))
	_, err1 := j.file.Seek(0, io.SeekStart)
	_, err2 := j.file.Write(j.header[:])
	_, err3 := j.file.Seek(0, io.SeekEnd)
	err := errors.Join(err1, err2, err3)
	if err == nil && j.sync {
		err = j.file.Sync()
	}
	return err
}

func (j *studyJournal) writeLines(entries [][]byte) error {
	var dst io.Writer = j.file
	flush := func() error { return nil }
	switch j.way {
	case throughBuffer:
		buffer := bufio.NewWriter(j.file) // anew for each append, as in the study
		dst, flush = buffer, buffer.Flush
	case atOnce:
		j.lines.Reset()
		dst, flush = &j.lines, func() error { _, err := j.lines.WriteTo(j.file); return err }
	}
	for _, value := range entries {
		j.version++
		line, err := json.Marshal(studyEntry{j.version, "key", value, time.Now()})
		if err != nil {
			return err
		}
		if _, err := dst.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return flush()
}

func (j *studyJournal) close() error { return j.file.Close() }
