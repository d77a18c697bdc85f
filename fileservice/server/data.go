package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/wire"
)

// dataConn executes the requests of a connection that moves only bytes.
type dataConn struct {
	*Server
	conn *peerConn
	ctx  context.Context // ends with the connection
}

// newSession begins a session on a connection that moves only bytes.
func (s *Server) newSession(conn *peerConn) *exchange.Session {
	d := &dataConn{Server: s, conn: conn, ctx: conn.life}
	return exchange.NewSession(conn, d, s.config.MaxCalls, s.config.StallTimeout/3)
}

// Received implements [exchange.Handler].
func (d *dataConn) Received() int64 {
	received, _ := d.conn.Traffic.Moved()
	return received
}

// Began implements [exchange.Handler].
func (d *dataConn) Began() { d.conn.calls.Add(1) }

// Ended implements [exchange.Handler].
func (d *dataConn) Ended(r *exchange.Request, start time.Time, bytes int, err error) {
	d.conn.use()
	d.conn.calls.Add(-1)
	if d.config.Observer.Called == nil {
		return
	}
	about := Call{
		Method: r.Kind.String(), Peer: d.conn.RemoteAddr(), Fingerprint: d.conn.peer.fingerprint, Start: start,
		Duration: time.Since(start), Err: err, Path: d.pathOf(r),
	}
	if r.Kind.IsPut() {
		about.BytesWritten = int64(bytes)
	} else {
		about.BytesRead = int64(bytes)
	}
	d.config.Observer.Called(about)
}

// pathOf returns the path of a request, or "" if it has no valid one.
func (d *dataConn) pathOf(r *exchange.Request) string {
	switch r.Kind {
	case exchange.Get, exchange.PutBlock:
		if _, err := fileservice.CheckPath(r.Target); err == nil {
			return r.Target
		}
	case exchange.GetDraft, exchange.PutDraft:
		return d.drafts.pathOf(r.Target)
	case exchange.PutFiles:
		files := &pb.SmallFiles{}
		if wire.Unmarshal([]byte(r.Target), files) == nil {
			if _, err := fileservice.CheckPath(files.GetDirectory()); err == nil {
				return files.GetDirectory()
			}
		}
	}
	return ""
}

// Answers implements [exchange.Handler].
func (d *dataConn) Answers() (exchange.Memory, error) { return d.conn.buffers.get(d.ctx) }

// Blocks implements [exchange.Handler].
func (d *dataConn) Blocks() (exchange.Memory, error) {
	if !d.config.Writable {
		return nil, errNotWritable
	}
	return d.conn.blocks.get(d.ctx)
}

// Get implements [exchange.Handler].
func (d *dataConn) Get(r *exchange.Request) (exchange.Content, error) {
	if r.Offset < 0 {
		return exchange.Content{}, fmt.Errorf("%w: a range from %d", fs.ErrInvalid, r.Offset)
	}
	if r.Kind == exchange.GetDraft {
		return d.getDraft(r)
	}
	if file := d.conn.files.get(r); file != nil {
		return contentOf(r, file, r.Version.Size)
	}
	local, info, err := d.lookUp(r.Target)
	switch {
	case err != nil:
		return exchange.Content{}, err
	case r.Any:
		return d.open(local, info, r)
	case !info.Mode().IsRegular():
		return exchange.Content{}, fileservice.NotRegular(info.Mode())
	case fileservice.VersionOf(info) != r.Version:
		return exchange.Content{}, fileservice.ErrChanged
	}
	opened, err := d.openSame(local, info)
	if err != nil {
		return exchange.Content{}, err
	}
	file := newOpenFile(opened, r.Target, r.Version)
	if int64(r.Length) < r.Version.Size { // there will be another request
		d.conn.files.keep(file)
	}
	return contentOf(r, file, r.Version.Size)
}

// contentOf returns the part of a range that lies in a file of a size.
func contentOf(r *exchange.Request, file exchange.File, size int64) (exchange.Content, error) {
	length := min(int64(r.Length), size-r.Offset)
	if length <= 0 {
		return exchange.Content{}, file.Close()
	}
	return exchange.Content{File: file, Offset: r.Offset, Length: int(length)}, nil
}

// open describes a regular file or a directory that the server can read, and has the content of a small file.
func (d *dataConn) open(local string, info fs.FileInfo, r *exchange.Request) (exchange.Content, error) {
	if !info.Mode().IsRegular() && !info.IsDir() {
		return exchange.Content{}, fileservice.NotRegular(info.Mode())
	}
	file, err := d.openSame(local, info)
	if err != nil {
		return exchange.Content{}, err
	}
	entry, err := wire.Marshal(wire.EntryOf(path.Base(r.Target), info))
	if err != nil {
		return exchange.Content{}, errors.Join(err, file.Close())
	}
	content := exchange.Content{Head: entry}
	if size := info.Size(); info.Mode().IsRegular() && size > 0 && size <= int64(r.Length) {
		content.File, content.Length = newOpenFile(file, r.Target, fileservice.VersionOf(info)), int(size)
		return content, nil
	}
	return content, file.Close()
}

// getDraft opens a range of a draft.
func (d *dataConn) getDraft(r *exchange.Request) (exchange.Content, error) {
	o, _, err := d.drafts.join(d.conn, []byte(r.Target))
	if err != nil {
		return exchange.Content{}, err
	}
	file := &draftFile{d.Server, o}
	info, _, _, err := o.Stat()
	if err != nil {
		return exchange.Content{}, errors.Join(err, file.Close())
	}
	return contentOf(r, file, info.Size())
}

// draftFile is the use of a draft by one request.
type draftFile struct {
	server *Server
	*openedDraft
}

// ReadAt implements [exchange.File].
func (f *draftFile) ReadAt(p []byte, offset int64) error { return osfile.ReadFull(f.File, p, offset) }

// ReadCached implements [exchange.File].
func (f *draftFile) ReadCached(p []byte, offset int64) (done bool, err error) {
	return true, f.ReadAt(p, offset)
}

// Close implements [exchange.File].
func (f *draftFile) Close() error {
	f.server.drafts.end(f.openedDraft)
	return nil
}
