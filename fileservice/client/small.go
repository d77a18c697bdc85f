package client

import (
	"context"
	"errors"
	"fmt"
	"path"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/wire"
)

// ReadFiles reads at most MaxSmallFiles whole files of one directory at once. It calls yield for each file in order,
// with its content and verified sum, or with an error that concerns this file alone, such as ErrChanged. yield must
// not retain content. If yield fails, ReadFiles returns that error unchanged.
func (c *Client) ReadFiles(
	ctx context.Context, dir string, files []fileservice.SmallFile,
	yield func(i int, content []byte, sum fileservice.Sum, err error) error,
) error {
	target, err := c.checkName("read", dir)
	if err != nil {
		return err
	}
	if err = fileservice.CheckSmallFiles(files); err == nil {
		err = c.readFiles(ctx, target, dir, files, yield)
	}
	return fault("read", dir, err)
}

func (c *Client) readFiles(
	ctx context.Context, target, dir string, files []fileservice.SmallFile,
	yield func(int, []byte, fileservice.Sum, error) error,
) error {
	reads := requests{client: c, ctx: ctx}
	defer reads.close()
	next, ahead := 0, 0
	for i := range files {
		for ; next < len(files) && ahead < fileservice.BlockSize; next++ {
			buffer := bytebuf.New()
			into := buffer.Extend(int(files[next].Version.Size))
			ahead += len(into)
			r := exchange.Request{Kind: exchange.Get, Version: files[next].Version, Length: len(into), Summed: true}
			r.Target = path.Join(target, files[next].Name)
			reads.add(exchange.Call{Request: r, Into: into}, buffer)
		}
		read, err := reads.next()
		ahead -= len(read.Into)
		if _, remote := errors.AsType[*wire.Error](err); remote && !errors.Is(err, fileservice.ErrUnreachable) {
			err = fault("read", path.Join(dir, files[i].Name), err)
			if err := yield(i, nil, fileservice.Sum{}, err); err != nil {
				return yieldError{err}
			}
			continue
		}
		if err == nil {
			err = c.yieldBlock(read, 0, func(_ int64, content []byte, sum fileservice.Sum) error {
				return yield(i, content, sum, nil)
			})
			read.free()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteFiles sends at most MaxSmallFiles files to one directory of the server. For each file in order it calls read,
// which must fill p, the whole content; if read fails, the file is not sent. errs has an element for each file. If that
// is nil, the file is verified, complete and durable. An error of the call itself is err; then some of the files may
// exist.
//
// If overwrite is false and a file exists, its error is fs.ErrExist.
//
// Timeout does not limit the time that the server needs to write to its disk.
func (c *Client) WriteFiles(
	ctx context.Context, dir string, files []fileservice.SmallFile, overwrite bool, read func(i int, p []byte) error,
) (errs []error, err error) {
	target, err := c.checkName("write", dir)
	if err != nil {
		return nil, err
	}
	w := &filesWriter{
		client: c, dir: dir, files: files, overwrite: overwrite, target: target, errs: make([]error, len(files)),
	}
	if err = fileservice.CheckSmallFiles(files); err == nil {
		err = w.run(ctx, read)
	}
	if err != nil {
		return nil, fault("write", dir, err)
	}
	return w.errs, nil
}

// filesAhead is the number of calls that WriteFiles has under way. Each has up to 1 MiB.
const filesAhead = 2

// filesWriter is the state of WriteFiles.
type filesWriter struct {
	client      *Client
	dir, target string
	files       []fileservice.SmallFile
	overwrite   bool
	errs        []error
}

// run sends the files, in several calls if they are large.
func (w *filesWriter) run(ctx context.Context, read func(i int, p []byte) error) error {
	writes := requests{client: w.client, ctx: ctx}
	defer writes.close()
	var sent [][]int
	take := func() error {
		write, err := writes.next()
		if err == nil {
			err = w.take(write.Head, sent[0])
		}
		sent = sent[1:]
		return err
	}
	for i := 0; i < len(w.files); {
		if len(sent) == filesAhead {
			if err := take(); err != nil {
				return err
			}
		}
		var which []int
		message := &fileservicepb.SmallFiles{Directory: w.target, Overwrite: w.overwrite}
		buffer := bytebuf.New()
		data := buffer.Extend(exchange.MaxLength)
		used := 0
		for ; i < len(w.files) && used+int(w.files[i].Version.Size) <= len(data); i++ {
			content := data[used : used+int(w.files[i].Version.Size)]
			if w.errs[i] = read(i, content); w.errs[i] == nil {
				used += len(content)
				which = append(which, i)
				message.Files = append(message.Files, w.describe(i, content))
			}
		}
		target, err := wire.Marshal(message)
		if err != nil {
			buffer.Free()
			return err
		}
		buffer.Truncate(used)
		r := exchange.Request{Kind: exchange.PutFiles, Target: string(target)}
		writes.add(exchange.Call{Request: r, Data: buffer.Bytes()}, buffer)
		writes.send()
		sent = append(sent, which)
	}
	for len(sent) > 0 {
		if err := take(); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the message for a file.
func (w *filesWriter) describe(i int, content []byte) *fileservicepb.SmallFile {
	sum := fileservice.SumFile(content)
	return &fileservicepb.SmallFile{
		Name: w.files[i].Name, Version: wire.VersionMessage(w.files[i].Version), Hash: sum[:],
		Permissions: uint32(w.files[i].Permissions.Perm()),
	}
}

// take records the results of files.
func (w *filesWriter) take(head []byte, which []int) error {
	results := &fileservicepb.SmallFileResults{}
	if err := wire.Unmarshal(head, results); err != nil {
		return fmt.Errorf("%w: %w", fileservice.ErrIntegrity, err)
	}
	if n := len(results.GetFiles()); n != len(which) {
		return fmt.Errorf("%w: %d results for %d files", fileservice.ErrIntegrity, n, len(which))
	}
	for at, result := range results.GetFiles() {
		remote, err := wire.ErrorOf(result.GetError())
		if err != nil {
			return err
		}
		if i := which[at]; remote != nil {
			w.errs[i] = fault("write", path.Join(w.dir, w.files[i].Name), remote)
		}
	}
	return nil
}
