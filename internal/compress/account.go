package compress

import (
	"errors"
	"hash/maphash"
	"io"
	"math"
)

// account remembers the sizes of the frames that were read, to check them against a seek table. It keeps no more than
// their hash, so that its memory does not grow.
type account struct {
	frames   int64 // since the last seek table: streams joined into one have several
	sizes    maphash.Hash
	unlisted bool // a frame was too large for any table
	sealed   bool // the last frame was a seek table that lists all frames since the one before
}

var errTable = errors.New("the seek table does not list the frames before it")

// add counts a frame.
func (a *account) add(size, textSize int64) {
	a.frames++
	a.sealed = false
	if max(size, textSize) > math.MaxUint32 {
		a.unlisted = true
		return
	}
	var entry [entrySize]byte
	appendEntry(entry[:0], size, textSize)
	a.sizes.Write(entry[:])
}

// addTable counts a skippable frame that may be a seek table. It reads the frame's content, so many bytes, in pieces of
// the size of buf. It is an error if the frame is a table, but not that of the frames before it.
func (a *account) addTable(r io.Reader, length int64, buf []byte) error {
	// With a table of all frames, the length says whether there are checksums.
	entries := length - footerSize
	entry := int64(entrySize)
	if entries == a.frames*(entrySize+checksumSize) {
		entry += checksumSize
	}
	buf = buf[:int64(len(buf))-int64(len(buf))%entry]

	var sizes maphash.Hash
	sizes.SetSeed(a.sizes.Seed())
	for left := entries; left > 0; left -= int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), left)]
		if _, err := io.ReadFull(r, buf); err != nil {
			return err
		}
		for e := buf; int64(len(e)) >= entry; e = e[entry:] {
			sizes.Write(e[:entrySize])
		}
	}
	var foot [footerSize]byte
	if _, err := io.ReadFull(r, foot[:]); err != nil {
		return err
	}
	f, err := parseFooter(foot[:])
	if err != nil {
		a.add(skippableSize+length, 0)
		return nil
	}
	if f.frames != a.frames || f.frames*f.entry != entries || a.unlisted || sizes.Sum64() != a.sizes.Sum64() {
		return corrupt(Zstd, errTable)
	}
	*a = account{sealed: true}
	return nil
}
