package files

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"culvert/bench/internal/harness"
	"culvert/bench/internal/streams"
)

// The bytes in a request, and the bytes that are read from a file at once, as by fileservice.
const (
	rangeSize = 4 << 20
	partSize  = 256 << 10
)

// framed reads the file over connections on which nothing travels but offsets and lengths one way, and bytes the other.
// Two requests are under way on each.
func (f *fileReads) framed(conns int) (_ harness.Sample, err error) {
	file, err := os.Open(filepath.Join(f.dir, served))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var clients, servers []net.Conn
	defer func() {
		for _, c := range append(clients, servers...) {
			_ = streams.RawConn(c).Close() // what counts has been read
		}
	}()
	for range conns {
		from, to, err := streams.ConnectSecure(f.ids)
		if err != nil {
			return nil, err
		}
		clients, servers = append(clients, from), append(servers, to)
	}
	if err := f.framedRead(file, clients, servers, f.into[:min(int64(len(f.into)), 64<<20)]); err != nil {
		return nil, err
	}
	return metered(f.size, func() error { return f.framedRead(file, clients, servers, f.into) })
}

func (f *fileReads) framedRead(file *os.File, clients, servers []net.Conn, p []byte) error {
	var next atomic.Int64
	errs := make([]error, 2*len(clients))
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { errs[2*i] = framedServe(servers[i], file) })
		all.Go(func() { errs[2*i+1] = framedFetch(clients[i], p, &next) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// framedServe answers until a request of no bytes comes.
func framedServe(conn net.Conn, file *os.File) error {
	var request [16]byte
	buffer := make([]byte, partSize)
	for {
		if _, err := io.ReadFull(conn, request[:]); err != nil {
			return err
		}
		offset, length := int64(binary.BigEndian.Uint64(request[:])), int64(binary.BigEndian.Uint64(request[8:]))
		if length == 0 {
			return nil
		}
		for length > 0 {
			part := buffer[:min(length, partSize)]
			if _, err := file.ReadAt(part, offset); err != nil {
				return err
			}
			if _, err := conn.Write(part); err != nil {
				return err
			}
			offset, length = offset+int64(len(part)), length-int64(len(part))
		}
	}
}

// framedFetch takes ranges from next on until p is full.
func framedFetch(conn net.Conn, p []byte, next *atomic.Int64) error {
	ask := func() ([]byte, error) {
		offset := min(next.Add(rangeSize)-rangeSize, int64(len(p)))
		part := p[offset:min(offset+rangeSize, int64(len(p)))]
		var request [16]byte
		binary.BigEndian.PutUint64(request[:], uint64(offset))
		binary.BigEndian.PutUint64(request[8:], uint64(len(part)))
		_, err := conn.Write(request[:])
		return part, err
	}
	current, err := ask()
	for err == nil && len(current) > 0 {
		var following []byte
		if following, err = ask(); err != nil {
			break
		}
		_, err = io.ReadFull(conn, current)
		current = following
	}
	return err
}
