package streams

import (
	"context"
	"errors"
	"os"

	"github.com/cockroachdb/pebble/v2"
	tidwall "github.com/tidwall/wal"

	"culvert/internal/disk"
	"culvert/wal"
)

// culvertJournal is package wal.
type culvertJournal struct{ log *wal.Log }

func openCulvert(options wal.Options) opener {
	return func(dir string) (journal, error) {
		log, _, err := wal.Open(dir, options)
		return culvertJournal{log}, err
	}
}

func (j culvertJournal) append(entries [][]byte) error {
	_, err := j.log.Append(context.Background(), entries...)
	return err
}

func (j culvertJournal) close() error { return j.log.Close() }

// pebbleJournal is a database of which only the log is used.
type pebbleJournal struct{ db *pebble.DB }

// openPebble opens a database and lets it fill its log twice, so that it goes on in the space of the first one, as it
// does in the long run: a sync into space that was never written costs more.
func openPebble(dir string) (journal, error) {
	const memTable = 16 << 20
	db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}, MemTableSize: memTable})
	if err != nil {
		return nil, err
	}
	value := make([]byte, 1<<20)
	for i := range 2 * memTable / len(value) {
		if err := db.Set([]byte{byte(i)}, value, pebble.NoSync); err != nil {
			return nil, err
		}
		if i+1 == memTable/len(value) {
			if err := db.Flush(); err != nil {
				return nil, err
			}
		}
	}
	return pebbleJournal{db}, db.Flush()
}

func (j pebbleJournal) append(entries [][]byte) error {
	for _, entry := range entries {
		if err := j.db.LogData(entry, pebble.Sync); err != nil {
			return err
		}
	}
	return nil
}

func (j pebbleJournal) close() error { return j.db.Close() }

// quiet is a logger.
type quiet struct{}

func (quiet) Infof(string, ...any) {}

func (quiet) Errorf(string, ...any) {}

func (quiet) Fatalf(format string, _ ...any) { panic(format) }

// tidwallJournal is github.com/tidwall/wal.
type tidwallJournal struct {
	log   *tidwall.Log
	index uint64
}

func openTidwall(sync bool) opener {
	return func(dir string) (journal, error) {
		options := *tidwall.DefaultOptions
		options.NoSync = !sync
		log, err := tidwall.Open(dir, &options)
		return &tidwallJournal{log: log}, err
	}
}

func (j *tidwallJournal) append(entries [][]byte) error {
	for _, entry := range entries {
		j.index++
		if err := j.log.Write(j.index, entry); err != nil {
			return err
		}
	}
	return nil
}

func (j *tidwallJournal) close() error { return j.log.Close() }

// floorJournal writes the bytes of a record of package wal into a file of zeros that are on the disk already, and syncs
// them: what the disk can do at best.
type floorJournal struct {
	file   disk.File
	offset int64
	record []byte
}

const floorSize = 64 << 20

func openFloor(dir string) (journal, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	in, err := disk.OS{}.OpenLogDir(dir)
	if err != nil {
		return nil, err
	}
	file, err := in.Create("floor")
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	zeros := make([]byte, 1<<20)
	for offset := int64(0); offset < floorSize; offset += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros, offset); err != nil {
			return nil, err
		}
	}
	return &floorJournal{file: file, record: make([]byte, entrySize+32)}, file.Sync()
}

func (j *floorJournal) append([][]byte) error {
	if j.offset+int64(len(j.record)) > floorSize {
		return errors.New("the file is full")
	}
	j.record[0]++
	if _, err := j.file.WriteAt(j.record, j.offset); err != nil {
		return err
	}
	j.offset += int64(len(j.record))
	return j.file.Sync()
}

func (j *floorJournal) close() error { return j.file.Close() }
