package receive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"culvert/fileservice"
	"culvert/internal/publish"
	"culvert/wal"
)

// The journal records the durable blocks of an unfinished file. It is a log of package wal, in a directory beside the
// file; package fileservice describes its entries. It begins with journalFormat, which changes with the format. A
// segment holds the sums of 60,000 blocks, and a group of entries must fit into a segment.
const (
	journalFormat  = "culvert2"
	journalSegment = 1 << 20
	journalGroup   = 8 << 10 // blocks
)

func firstEntry(v fileservice.Version) []byte {
	b := []byte(journalFormat)
	b = binary.LittleEndian.AppendUint64(b, uint64(v.Size))
	b = binary.LittleEndian.AppendUint64(b, uint64(v.ModifiedUnixNano))
	return binary.LittleEndian.AppendUint64(b, v.Tag)
}

// openJournal reads the journal if it exists. If it is damaged or of another version, found is true and r.journal nil.
func (r *File) openJournal() (found bool, err error) {
	info, err := r.dir.Lstat(r.names.journal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return true, nil
	}
	log, err := r.openLog()
	if _, unsound := errors.AsType[*wal.SegmentError](err); unsound {
		return true, nil
	}
	if err != nil {
		return true, err
	}
	sound, err := r.readJournal(log)
	if err != nil || !sound {
		return true, errors.Join(err, log.Close())
	}
	r.journal = log
	return true, nil
}

func (r *File) openLog() (*wal.Log, error) {
	log, _, err := wal.OpenInRoot(r.dir, r.names.journal, wal.Options{SegmentSize: journalSegment})
	if err != nil {
		return nil, fmt.Errorf("fileservice: journal: %w", err)
	}
	return log, nil
}

// readJournal notes the blocks in the journal, which Confirm takes over. The journal is not sound if the file is too
// short for them.
func (r *File) readJournal(log *wal.Log) (sound bool, err error) {
	size, err := r.file.Size()
	if err != nil {
		return false, err
	}
	first := true
	for record, err := range log.Records(context.Background(), 0) {
		if _, unsound := errors.AsType[*wal.SegmentError](err); unsound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if first {
			if string(record.Data) != string(firstEntry(r.version)) {
				r.Afresh = bytes.HasPrefix(record.Data, []byte(journalFormat))
				return false, nil
			}
			first = false
			continue
		}
		if !r.readEntry(record.Data, size) {
			return false, nil
		}
	}
	return !first, nil
}

func (r *File) readEntry(data []byte, size int64) bool {
	if len(data) < 8 || (len(data)-8)%fileservice.SumSize != 0 {
		return false
	}
	block := int64(binary.LittleEndian.Uint64(data))
	for sums := data[8:]; len(sums) > 0; sums = sums[fileservice.SumSize:] {
		if r.version.CheckBlocks(block, 1) != nil || min((block+1)*fileservice.BlockSize, r.version.Size) > size {
			return false
		}
		r.blocks.set(block, blockEntry{blockUnread, fileservice.Sum(sums[:fileservice.SumSize])})
		block++
	}
	return true
}

// appendJournal records blocks as durable.
func (r *File) appendJournal(blocks []int64) (err error) {
	if r.journal == nil {
		if r.journal, err = r.openLog(); err == nil {
			err = r.appendEntries(firstEntry(r.version))
		}
	}
	blocks = slices.Sorted(slices.Values(blocks))
	for group := range slices.Chunk(blocks, journalGroup) {
		if err == nil {
			err = r.appendEntries(r.journalEntries(group)...)
		}
	}
	return err
}

func (r *File) appendEntries(entries ...[]byte) error {
	if _, err := r.journal.Append(context.Background(), entries...); err != nil {
		return fmt.Errorf("fileservice: journal: %w", err)
	}
	return nil
}

// journalEntries returns one entry for each run of consecutive blocks.
func (r *File) journalEntries(blocks []int64) [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	var entries [][]byte
	for i, block := range blocks {
		if i == 0 || block != blocks[i-1]+1 {
			entries = append(entries, binary.LittleEndian.AppendUint64(nil, uint64(block)))
		}
		sum := r.blocks.get(block).sum
		entries[len(entries)-1] = append(entries[len(entries)-1], sum[:]...)
	}
	return entries
}

// dropJournal closes and removes the journal.
func (r *File) dropJournal() error {
	if r.journal == nil {
		return nil
	}
	err := r.journal.Close()
	r.journal = nil
	return errors.Join(err, removeJournal(r.dir, r.names))
}

// removeJournal removes the journal durably: if a crash restored it, it would describe a later .part.
func removeJournal(root *os.Root, names names) error {
	if err := root.RemoveAll(names.journal); err != nil {
		return err
	}
	return publish.SyncDir(root, filepath.Dir(names.journal))
}
