package client

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"

	"google.golang.org/grpc/mem"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// ReadFiles reads at most MaxSmallFiles whole files of one directory, in one call. It calls yield for each file in
// order, with its content and verified hash, or with an error that concerns this file alone, such as ErrChanged. yield
// must not retain content. If yield fails, ReadFiles returns that error unchanged. The server waits while yield runs.
func (c *Client) ReadFiles(
	ctx context.Context, dir string, files []fileservice.SmallFile,
	yield func(i int, content []byte, sum fileservice.Sum, err error) error,
) error {
	if err := fileservice.CheckSmallFiles(files); err != nil {
		return &fs.PathError{Op: "read", Path: dir, Err: err}
	}
	call, err := c.begin(ctx, "read", dir)
	if err != nil {
		return err
	}
	return call.end(call.readFiles(files, yield))
}

func (c *call) readFiles(files []fileservice.SmallFile, yield func(int, []byte, fileservice.Sum, error) error) error {
	request := &fileservicepb.ReadFilesRequest{Directory: c.path}
	for i := range files {
		request.Files = append(request.Files, &fileservicepb.SmallFile{
			Name: files[i].Name, Version: wire.VersionMessage(files[i].Version),
		})
	}
	stream, err := c.link.service.ReadFiles(c.ctx, request)
	if err != nil {
		return err
	}
	buffer := bytebuf.New()
	defer buffer.Free()
	data := buffer.Extend(wire.MessageSize)
	for next := 0; next < len(files); {
		page := &fileservicepb.ReadFilesResponse{}
		message := &wire.Incoming{Into: data, Fields: page}
		if err := receive(c, stream.RecvMsg, message); err != nil {
			return err
		}
		c.pause()
		n := len(page.GetFiles())
		if n == 0 || n > len(files)-next {
			return fmt.Errorf("%w: a message with %d of %d files", fileservice.ErrIntegrity, n, len(files)-next)
		}
		rest := data[:message.N]
		for _, result := range page.GetFiles() {
			if rest, err = c.readResult(next, &files[next], result, rest, yield); err != nil {
				return err
			}
			next++
		}
		if len(rest) > 0 {
			return fmt.Errorf("%w: %d bytes after the last file", fileservice.ErrIntegrity, len(rest))
		}
		c.advance()
	}
	return c.finish(stream.RecvMsg)
}

// readResult takes one file from the front of data, and yields it.
func (c *call) readResult(
	i int, file *fileservice.SmallFile, result *fileservicepb.FileResult, data []byte,
	yield func(int, []byte, fileservice.Sum, error) error,
) (rest []byte, err error) {
	failed, err := wire.ErrorOf(result)
	if err != nil {
		return nil, err
	}
	var content []byte
	var sum fileservice.Sum
	if failed != nil {
		failed = &fs.PathError{Op: "read", Path: path.Join(c.name, file.Name), Err: failed}
	} else {
		size := int(file.Version.Size)
		if size > len(data) {
			return nil, fmt.Errorf("%w: a file is shorter than its version", fileservice.ErrIntegrity)
		}
		content, data = data[:size], data[size:]
		sum = fileservice.SumFile(content)
		if string(result.GetHash()) != string(sum[:]) {
			return nil, fmt.Errorf("%w: the hash of %q does not match", fileservice.ErrIntegrity, file.Name)
		}
	}
	if err := yield(i, content, sum, failed); err != nil {
		return nil, yieldError{err}
	}
	return data, nil
}

// WriteFiles sends at most MaxSmallFiles files to one directory of the server, in one call. For each file in order it
// calls read, which must fill p, the whole content; if read fails, the file is not sent. sums and errs have an element
// for each file. If its error is nil, the file is verified, complete and durable. An error of the call itself is err;
// then some of the files may exist.
//
// If overwrite is false and a file exists, its error is fs.ErrExist.
//
// Timeout does not limit the time that the server needs to write to its disk.
func (c *Client) WriteFiles(
	ctx context.Context, dir string, files []fileservice.SmallFile, overwrite bool, read func(i int, p []byte) error,
) (sums []fileservice.Sum, errs []error, err error) {
	if err := fileservice.CheckSmallFiles(files); err != nil {
		return nil, nil, &fs.PathError{Op: "write", Path: dir, Err: err}
	}
	call, err := c.begin(ctx, "write", dir)
	if err != nil {
		return nil, nil, err
	}
	w := &filesWriter{
		call: call, files: files, sums: make([]fileservice.Sum, len(files)), errs: make([]error, len(files)),
		fields: &fileservicepb.WriteFilesRequest{Directory: call.path, Overwrite: overwrite},
	}
	if err := call.end(w.run(read)); err != nil {
		return nil, nil, err
	}
	return w.sums, w.errs, nil
}

// filesWriter is the state of WriteFiles.
type filesWriter struct {
	call   *call
	files  []fileservice.SmallFile
	sums   []fileservice.Sum
	errs   []error
	fields *fileservicepb.WriteFilesRequest // of the next message
	sent   []int                            // indices into files
}

func (w *filesWriter) run(read func(i int, p []byte) error) error {
	stream, err := w.call.link.service.WriteFiles(w.call.ctx)
	if err != nil {
		return err
	}
	for i := 0; i < len(w.files) && err == nil; {
		i, err = w.writeMessage(i, read, stream.SendMsg)
	}
	if err != nil && err != io.EOF {
		return err
	}
	w.call.pause()
	// After io.EOF the answer says why the server has ended the call.
	response, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	if n := len(response.GetFiles()); n != len(w.sent) {
		return fmt.Errorf("%w: %d results for %d files", fileservice.ErrIntegrity, n, len(w.sent))
	}
	for i, result := range response.GetFiles() {
		told, err := wire.ErrorOf(result)
		if err != nil {
			return err
		}
		if told != nil {
			name := path.Join(w.call.name, w.files[w.sent[i]].Name)
			w.errs[w.sent[i]] = &fs.PathError{Op: "write", Path: name, Err: told}
		}
	}
	return nil
}

// writeMessage sends as many files as fit into a message, and returns the index of the next one.
func (w *filesWriter) writeMessage(i int, read func(int, []byte) error, send func(any) error) (next int, err error) {
	buffer := bytebuf.New()
	data := buffer.Extend(wire.MessageSize)
	used := 0
	for ; i < len(w.files); i++ {
		file := &w.files[i]
		size := int(file.Version.Size)
		if used+size > len(data) {
			break
		}
		content := data[used : used+size]
		if w.errs[i] = read(i, content); w.errs[i] != nil {
			continue
		}
		used += size
		w.sums[i] = fileservice.SumFile(content)
		w.sent = append(w.sent, i)
		w.fields.Files = append(w.fields.Files, &fileservicepb.NewFile{
			Name: file.Name, Version: wire.VersionMessage(file.Version), Hash: w.sums[i][:],
			Permissions: uint32(file.Permissions.Perm()),
		})
	}
	data = data[:used]
	message := &wire.Outgoing{Fields: w.fields, Data: mem.NewBuffer(&data, freeBuffer{buffer})}
	w.fields = &fileservicepb.WriteFilesRequest{}
	err = send(message)
	w.call.advance()
	return i, err
}
