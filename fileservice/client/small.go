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

// ReadFiles reads files of one directory whole, at most MaxSmallFiles of them, in one call on one connection. In their
// order it calls yield for each, with its content, which yield may not keep, and its hash that was compared with the
// content; or with an error that is about this file alone, such as ErrChanged. An error of yield ends the call and is
// returned as it is. The server waits while yield works.
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
	var failed error
	err = call.readFiles(files, func(i int, content []byte, sum fileservice.Sum, err error) error {
		if err != nil {
			err = &fs.PathError{Op: "read", Path: path.Join(dir, files[i].Name), Err: err}
		}
		failed = yield(i, content, sum, err)
		return failed
	})
	if err = call.end(err); failed != nil {
		return failed
	}
	return err
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
			return fmt.Errorf("%w: a message with %d files of %d", fileservice.ErrIntegrity, n, len(files)-next)
		}
		rest := data[:message.N]
		for _, result := range page.GetFiles() {
			if rest, err = readResult(next, &files[next], result, rest, yield); err != nil {
				return err
			}
			next++
		}
		if len(rest) > 0 {
			return fmt.Errorf("%w: %d bytes that are of no file", fileservice.ErrIntegrity, len(rest))
		}
		c.advance()
	}
	return c.finish(stream.RecvMsg)
}

// readResult takes a file from the front of data.
func readResult(
	i int, file *fileservice.SmallFile, result *fileservicepb.FileResult, data []byte, yield func(int, []byte, fileservice.Sum, error) error,
) (rest []byte, err error) {
	told, err := wire.ErrorOf(result)
	if err != nil {
		return nil, err
	}
	if told != nil {
		return data, yield(i, nil, fileservice.Sum{}, told)
	}
	size := int(file.Version.Size)
	if size > len(data) {
		return nil, fmt.Errorf("%w: a file that is shorter than its version", fileservice.ErrIntegrity)
	}
	content := data[:size]
	sum := fileservice.SumFile(content)
	if string(result.GetHash()) != string(sum[:]) {
		return nil, fmt.Errorf("%w: %q does not have its hash", fileservice.ErrIntegrity, file.Name)
	}
	return data[size:], yield(i, content, sum, nil)
}

// WriteFiles sends files into one directory of the server, at most MaxSmallFiles of them, in one call on one
// connection. It asks read for each in order: read fills p, which is as long as the version, or its error takes the
// place of the file. When WriteFiles returns, errs has for each file the error of read or that of the server; where it
// is nil the file is verified, complete, durable, and has its hash in sums. The last error is about all of them, of
// which some may be there.
//
// If overwrite is false and there is a file of the name, its error is fs.ErrExist.
//
// The server writes to its disk before it answers, for which Timeout does not count.
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

// filesWriter is a WriteFiles under way.
type filesWriter struct {
	call   *call
	files  []fileservice.SmallFile
	sums   []fileservice.Sum
	errs   []error
	fields *fileservicepb.WriteFilesRequest // of the next message
	sent   []int                            // which of the files
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
	if len(response.GetFiles()) != len(w.sent) {
		return fmt.Errorf("%w: results of %d files of %d", fileservice.ErrIntegrity, len(response.GetFiles()), len(w.sent))
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

// writeMessage sends as many files as have room in a message, and gives the next one.
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
