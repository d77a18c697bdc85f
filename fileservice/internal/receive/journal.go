package receive

import (
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

// journal is what is known to be on the disk of a file that is received. It is a log of package wal, in a directory
// beside the file. All numbers are little endian.
//
//	first entry    "culvert1"  size, 8   modified, 8   tag, 8      the version of the source
//	further ones   first block, 8   hash, 32   hash, 32   …        blocks that are durable
type journal struct{ log *wal.Log }

// journalFormat begins the journal, and changes with its format.
const journalFormat = "culvert1"

// A segment has room for the hashes of 30,000 blocks. What a group of the log holds must fit into one.
const (
	journalSegment = 1 << 20
	journalGroup   = 8 << 10 // blocks
)

func firstEntry(v fileservice.Version) []byte {
	b := []byte(journalFormat)
	b = binary.LittleEndian.AppendUint64(b, uint64(v.Size))
	b = binary.LittleEndian.AppendUint64(b, uint64(v.ModifiedUnixNano))
	return binary.LittleEndian.AppendUint64(b, v.Tag)
}

// openJournal reads the journal if there is one. If it is not of this version, or not sound, it is found but not open.
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
	log, _, err := wal.OpenInRoot(r.dir, r.names.journal, wal.Options{SegmentSize: journalSegment})
	if _, unsound := errors.AsType[*wal.SegmentError](err); unsound {
		return true, nil
	}
	if err != nil {
		return true, fmt.Errorf("fileservice: the journal: %w", err)
	}
	sound, err := r.readJournal(log)
	if err != nil || !sound {
		return true, errors.Join(err, log.Close())
	}
	r.journal = &journal{log}
	return true, nil
}

// readJournal takes over the blocks. What it says is believed only if the file is large enough.
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
				r.Afresh = true
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
	for hashes := data[8:]; len(hashes) > 0; hashes = hashes[fileservice.SumSize:] {
		if r.version.CheckBlocks(block, 1) != nil || min((block+1)*fileservice.BlockSize, r.version.Size) > size {
			return false
		}
		r.blocks.set(block, blockEntry{blockCommitted, fileservice.Sum(hashes[:fileservice.SumSize])})
		block++
	}
	return true
}

// appendJournal says of blocks that they are durable.
func (r *File) appendJournal(blocks []int64) error {
	if r.journal == nil {
		log, _, err := wal.OpenInRoot(r.dir, r.names.journal, wal.Options{SegmentSize: journalSegment})
		if err != nil {
			return fmt.Errorf("fileservice: the journal: %w", err)
		}
		r.journal = &journal{log}
		if _, err := log.Append(context.Background(), firstEntry(r.version)); err != nil {
			return fmt.Errorf("fileservice: the journal: %w", err)
		}
	}
	blocks = slices.Sorted(slices.Values(blocks))
	for group := range slices.Chunk(blocks, journalGroup) {
		if _, err := r.journal.log.Append(context.Background(), r.journalEntries(group)...); err != nil {
			return fmt.Errorf("fileservice: the journal: %w", err)
		}
	}
	return nil
}

// journalEntries makes one entry of each run of blocks.
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

// dropJournal ends and removes the journal of a file that is complete, or of no use.
func (r *File) dropJournal() error {
	if r.journal == nil {
		return nil
	}
	err := r.journal.log.Close()
	r.journal = nil
	return errors.Join(err, removeJournal(r.dir, r.names))
}

// removeJournal removes what is there under the name of the journal for good: were it there again after a crash, it
// would speak of a later .part.
func removeJournal(root *os.Root, names names) error {
	if err := root.RemoveAll(names.journal); err != nil {
		return err
	}
	return publish.SyncDir(root, filepath.Dir(names.journal))
}
