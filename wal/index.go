package wal

import (
	"sort"
	"sync"
)

const (
	markDistance = 4 << 10 // bytes from one mark of an index to the next, until there are too many
	maxMarks     = 4096    // in an index
)

// index holds the places of some records of a segment, so that a record is found without reading all records before it.
// Searches fill it, from the first record on. Its methods may be called concurrently.
type index struct {
	mu       sync.Mutex
	marks    []mark
	distance int64 // of further marks; 0 is markDistance
	wanted   int64 // offset from which the next mark is taken
}

// mark is the place of a record.
type mark struct {
	lsn    LSN
	offset int64
}

// add adds the place of a record, unless a mark is near. It returns the offset from which it takes the next mark.
func (x *index) add(m mark) (wanted int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if m.offset >= x.wanted {
		if len(x.marks) == maxMarks {
			x.halve()
		}
		x.marks = append(x.marks, m)
		x.wanted = m.offset + max(x.distance, markDistance)
	}
	return x.wanted
}

// halve removes every other mark. The distance of later marks is the average distance of the remaining ones.
func (x *index) halve() {
	x.distance = (x.marks[maxMarks-1].offset - headerSize) / (maxMarks / 2)
	for i := range x.marks[:maxMarks/2] {
		x.marks[i] = x.marks[2*i+1]
	}
	x.marks = x.marks[:maxMarks/2]
}

// before returns the last mark that is not after a record, or none.
func (x *index) before(lsn LSN) mark {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].lsn > lsn })
	if i == 0 {
		return mark{}
	}
	return x.marks[i-1]
}

// mark adds the place of the next record to the index of the segment.
func (s *scanner) mark() {
	if s.offset >= s.marking {
		s.marking = s.segment.index.add(mark{s.next, s.offset})
	}
}
