package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/receive"
	"culvert/fileservice/internal/wire"
	"culvert/internal/publish"
)

// Put implements [exchange.Handler].
func (d *dataConn) Put(r *exchange.Request, data []byte) (head []byte, err error) {
	switch r.Kind {
	case exchange.PutBlock:
		return nil, d.putBlock(r, data)
	case exchange.PutDraft:
		return nil, d.putDraft(r, data)
	default:
		return d.putFiles(r, data)
	}
}

// putBlock writes a block of an upload, or a part of one.
func (d *dataConn) putBlock(r *exchange.Request, data []byte) error {
	local, err := d.target(r.Target, r.Version)
	if err != nil {
		return err
	}
	block := r.Offset / fileservice.BlockSize
	if err := r.Version.CheckBlocks(block, 1); err != nil {
		return err
	}
	begin := block * fileservice.BlockSize
	end := min(begin+fileservice.BlockSize, r.Version.Size)
	if len(data) == 0 || int64(len(data)) > end-r.Offset {
		return fmt.Errorf("%w: %d bytes from %d are not in a block", fs.ErrInvalid, len(data), r.Offset)
	}
	up, err := d.uploads.join(d.conn, local, r.Version)
	if err != nil {
		return err
	}
	defer d.uploads.end(local, up)
	if r.Offset == begin && fileservice.SumBlock(data, block) != r.Sum {
		return fmt.Errorf("%w: a block does not have its sum", fileservice.ErrIntegrity)
	}
	if int64(len(data)) == end-begin {
		err = up.WriteBlock(block, data, r.Sum)
	} else {
		err = up.WritePart(r.Offset, data, r.Sum)
	}
	switch {
	case errors.Is(err, fs.ErrClosed):
		return refused("the upload has ended")
	case errors.Is(err, receive.ErrNoBeginning):
		return refused(err.Error())
	}
	return err
}

// putDraft writes to a draft.
func (d *dataConn) putDraft(r *exchange.Request, data []byte) error {
	o, _, err := d.drafts.join(d.conn, []byte(r.Target))
	if err != nil {
		return err
	}
	defer d.drafts.end(o)
	return o.WriteAt(data, r.Offset)
}

// putFiles writes small files of one directory. It returns when each of them is on the disk under its name, or has
// failed.
func (d *dataConn) putFiles(r *exchange.Request, data []byte) (head []byte, err error) {
	files := &pb.SmallFiles{}
	if err := wire.Unmarshal([]byte(r.Target), files); err != nil {
		return nil, fmt.Errorf("%w: %w", fs.ErrInvalid, err)
	}
	local, err := d.writableOrRoot(files.GetDirectory())
	if err != nil {
		return nil, err
	}
	dir, err := d.openDir(local)
	if err != nil {
		return nil, err
	}
	upload := func(local string, version fileservice.Version) (*receive.File, error) {
		if err := checkReserved(filepath.Base(local)); err != nil {
			return nil, err
		}
		return d.uploads.receive(d.ctx, d.conn, local, version, files.GetOverwrite())
	}
	small := receive.NewSmall(dir, local, d.uploads.publisher, upload)
	if err := addFiles(small, files.GetFiles(), data); err != nil {
		return nil, errors.Join(err, small.Close())
	}
	results := &pb.SmallFileResults{}
	for _, err := range small.Publish(nil) {
		results.Files = append(results.Files, &pb.SmallFileResult{Error: wire.StatusOf(err)})
	}
	if err := small.Close(); err != nil {
		return nil, err
	}
	return wire.Marshal(results)
}

// addFiles adds files whose contents are the data.
func addFiles(small *receive.Small, files []*pb.SmallFile, data []byte) error {
	if len(files) > fileservice.MaxSmallFiles {
		return fmt.Errorf("%w: too many files", fs.ErrInvalid)
	}
	for _, m := range files {
		file := fileservice.SmallFile{
			Name: m.GetName(), Version: wire.VersionOf(m.GetVersion()), Permissions: permissionsOf(m.GetPermissions()),
		}
		if err := file.Check(); err != nil {
			return err
		}
		size := int(file.Version.Size)
		if size > len(data) {
			return fmt.Errorf("%w: less data than the files have", fs.ErrInvalid)
		}
		content := data[:size]
		data = data[size:]
		sum := fileservice.SumFile(content)
		if string(m.GetHash()) != string(sum[:]) {
			return fmt.Errorf("%w: a file does not have its sum", fileservice.ErrIntegrity)
		}
		small.Add(&file, content, sum)
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: more data than the files have", fs.ErrInvalid)
	}
	return nil
}

// openDir is like openDirectory, for creating and reading many files.
func (s *Server) openDir(local string) (*publish.Dir, error) {
	before, err := s.lstatDir(local)
	if err != nil {
		return nil, err
	}
	dir, err := publish.OpenDir(s.config.Root, local)
	if err != nil {
		return nil, err
	}
	if err := checkSame(dir, before); err != nil {
		return nil, err
	}
	return dir, nil
}
