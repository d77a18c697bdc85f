package parquet

import "io"

// arena keeps the pages of a row group one after the other. Its memory is used again for the next group, and when it is
// freed for other files.
type arena struct {
	segments []*segment
	size     int
}

const segmentSize = 1 << 20

type segment [segmentSize]byte

func (a *arena) free() {
	for _, s := range a.segments {
		segments.Put(s)
	}
	*a = arena{}
}

// add copies bytes to the end.
func (a *arena) add(p []byte) {
	for len(p) > 0 {
		if a.size == len(a.segments)*segmentSize {
			a.segments = append(a.segments, segments.Get().(*segment))
		}
		n := copy(a.segments[a.size/segmentSize][a.size%segmentSize:], p)
		a.size, p = a.size+n, p[n:]
	}
}

// append appends n bytes at a place to dst.
func (a *arena) append(dst []byte, place, n int) []byte {
	for n > 0 {
		part := a.part(place, n)
		dst = append(dst, part...)
		place, n = place+len(part), n-len(part)
	}
	return dst
}

// writeTo writes n bytes at a place.
func (a *arena) writeTo(w io.Writer, place, n int) error {
	for n > 0 {
		part := a.part(place, n)
		if _, err := w.Write(part); err != nil {
			return err
		}
		place, n = place+len(part), n-len(part)
	}
	return nil
}

// part returns as many of the bytes at a place as are in one segment.
func (a *arena) part(place, n int) []byte {
	part := a.segments[place/segmentSize][place%segmentSize:]
	return part[:min(n, len(part))]
}
