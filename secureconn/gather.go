package secureconn

import (
	"io"
	"net"

	"culvert/internal/strictio"
)

// firstRead is how much ReadFrom asks for at first. It asks for twice as much after a full read, and for half as much
// if it gets less than half, because the unused part has to be cleared.
const firstRead = 4 << 10

// readFrom implements ReadFrom. It seals in place what it reads.
func (s *sender) readFrom(r io.Reader) (n int64, err error) {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	size := firstRead
	for in := (strictio.Reader{R: r}); ; {
		if err := s.writable(); err != nil {
			return n, err
		}
		got, readErr, err := s.readOnce(&in, size)
		n += int64(got)
		switch {
		case err != nil:
			return n, err
		case readErr == io.EOF:
			return n, nil
		case readErr != nil:
			return n, readErr
		case got == size:
			size = min(2*size, recordSize)
		case got < size/2:
			size = max(size/2, firstRead)
		}
	}
}

// readOnce sends the result of one Read of r, at most size bytes.
func (s *sender) readOnce(r *strictio.Reader, size int) (n int, readErr, err error) {
	// What is queued must not wait for r, so this is a new parcel. A REKEY may come first.
	buf, err := s.reserve(size+2*overhead, false)
	if err != nil {
		return 0, nil, err
	}
	const begin = overhead + headerSize
	plaintext := buf[begin : begin+size : begin+size]
	n, readErr = r.Read(plaintext)
	// A reader may use all of the slice as scratch space, and the memory after the record is reused by others.
	clear(plaintext[n:])
	if n == 0 {
		s.unreserve()
		return 0, readErr, nil
	}
	from := overhead
	if s.out.isDue(n + 2*overhead) {
		if _, err := s.out.seal(buf, kindRekey, nil); err != nil {
			return 0, nil, s.abandon(err)
		}
		from = 0
	}
	sealed, err := s.out.seal(buf[:overhead], kindData, plaintext[:n])
	if err != nil {
		return 0, nil, s.abandon(err)
	}
	return n, readErr, s.dispatch(from, len(sealed), n >= writeBehind)
}

// writeBuffers implements WriteBuffers. Slices that are smaller than a record are joined, and then sealed in place.
func (s *sender) writeBuffers(list *net.Buffers) (n int64, err error) {
	s.sealing.Lock()
	defer s.sealing.Unlock()
	if err := s.writable(); err != nil {
		return 0, err
	}
	total := 0
	for _, b := range *list {
		total += len(b)
	}
	behind := total >= writeBehind
	for total > 0 {
		size := min(total, recordSize)
		buf, err := s.reserve(size+2*overhead, true)
		if err != nil {
			return n, err
		}
		if buf, err = s.rekey(buf, size); err != nil {
			return n, s.abandon(err)
		}
		room := buf[len(buf)+headerSize : len(buf)+headerSize+size]
		plaintext := take(list, size, room)
		if buf, err = s.out.seal(buf, kindData, plaintext); err != nil {
			clear(room)
			return n, s.abandon(err)
		}
		n, total = n+int64(size), total-size
		if err := s.dispatch(0, len(buf), behind); err != nil {
			return n, err
		}
	}
	*list = (*list)[len(*list):]
	return n, nil
}

// take removes the first n bytes from the list. If one slice has them all it returns a part of that, and otherwise it
// copies them to room.
func take(list *net.Buffers, n int, room []byte) []byte {
	for len((*list)[0]) == 0 {
		*list = (*list)[1:]
	}
	if first := (*list)[0]; len(first) >= n {
		(*list)[0] = first[n:]
		return first[:n]
	}
	got := 0
	for got < n {
		copied := copy(room[got:n], (*list)[0])
		got += copied
		if (*list)[0] = (*list)[0][copied:]; len((*list)[0]) == 0 {
			*list = (*list)[1:]
		}
	}
	return room[:n]
}
