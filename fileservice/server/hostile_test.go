package server_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/internal/wire"
	"culvert/fileservice/server"
)

// stranger is a client without the checks of package client.
type stranger struct {
	pb.FileServiceClient
	data *exchange.Conn
}

func newStranger(t *testing.T, address string) *stranger {
	t.Helper()
	return &stranger{filetest.Raw(t, address), filetest.RawData(t, address)}
}

// noSum is that of a request without data.
var noSum fileservice.Sum

// getMessage asks for the beginning of "file".
func getMessage(id uint32, version fileservice.Version, length uint32) *filetest.DataMessage {
	return &filetest.DataMessage{
		ID: id, Kind: byte(exchange.Get), Length: length, Head: filetest.RequestHead(0, version, noSum, "file"),
	}
}

// stat returns the version of a file.
func stat(t *testing.T, dir, name string) fileservice.Version {
	t.Helper()
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return fileservice.VersionOf(info)
}

// codeOf returns the code of an error of a call or of a request for bytes.
func codeOf(err error) codes.Code { return status.Code(wire.ToStatus(err)) }

// putFiles sends small files of a directory.
func putFiles(data *exchange.Conn, files *pb.SmallFiles, contents []byte) (*pb.SmallFileResults, error) {
	target, err := proto.Marshal(files)
	if err != nil {
		return nil, err
	}
	call, err := filetest.Ask(data, exchange.Request{Kind: exchange.PutFiles, Target: string(target)}, contents)
	if err != nil {
		return nil, err
	}
	results := &pb.SmallFileResults{}
	return results, proto.Unmarshal(call.Head, results)
}

// ask makes one call or request of each method about a path, and returns the code of each.
func ask(ctx context.Context, c *stranger, path string) map[string]codes.Code {
	got := map[string]codes.Code{}
	note := func(method string, err error) { got[method] = codeOf(err) }
	_, err := c.Stat(ctx, &pb.StatRequest{Path: path})
	note("Stat", err)
	_, err = filetest.Ask(c.data, exchange.Request{Kind: exchange.Get, Target: path, Any: true, Length: 100}, nil)
	note("Get any", err)
	_, err = filetest.Ask(c.data, exchange.Request{Kind: exchange.Get, Target: path, Length: 100}, nil)
	note("Get", err)
	_, err = c.ReadLink(ctx, &pb.ReadLinkRequest{Path: path})
	note("ReadLink", err)
	_, err = c.Space(ctx, &pb.SpaceRequest{Path: path})
	note("Space", err)
	list, err := c.List(ctx, &pb.ListRequest{Path: path})
	if err == nil {
		_, err = list.Recv()
	}
	note("List", err)
	read, err := c.Read(ctx, &pb.ReadRequest{Path: path, Length: 100})
	if err == nil {
		_, err = read.Recv()
	}
	note("Read", err)
	_, err = c.MakeDirectory(ctx, &pb.MakeDirectoryRequest{Path: path})
	note("MakeDirectory", err)
	_, err = c.SetAttributes(ctx, &pb.SetAttributesRequest{Path: path})
	note("SetAttributes", err)
	_, err = c.SyncDirectory(ctx, &pb.SyncDirectoryRequest{Path: path})
	note("SyncDirectory", err)
	_, err = c.OpenDraft(ctx, &pb.OpenDraftRequest{Path: path, Create: true})
	note("OpenDraft", err)
	_, err = c.QueryWriteStatus(ctx, &pb.QueryWriteStatusRequest{Path: path, Overwrite: true})
	note("QueryWriteStatus", err)
	_, err = c.AbandonWrite(ctx, &pb.AbandonWriteRequest{Path: path, Discard: true})
	note("AbandonWrite", err)
	sums, err := c.Sum(ctx, &pb.SumRequest{Directory: path, Files: []*pb.SummedFile{{Name: "secret"}}})
	if err == nil {
		err = status.FromProto(sums.GetFiles()[0].GetError()).Err()
	}
	note("Sum", err)
	_, err = c.FinishWrite(ctx, &pb.FinishWriteRequest{Path: path, Hash: make([]byte, fileservice.SumSize)})
	note("FinishWrite", err)
	write, err := c.Write(ctx)
	if err == nil {
		// If this fails the answer says why.
		_ = write.Send(&pb.WriteRequest{
			Path: path, Version: &pb.Version{Size: 1}, Data: []byte("x"),
		})
		_, err = write.CloseAndRecv()
	}
	note("Write", err)
	block := exchange.Request{Kind: exchange.PutBlock, Target: path, Version: fileservice.Version{Size: 1}}
	_, err = filetest.Ask(c.data, block, []byte("x"))
	note("PutBlock", err)
	_, err = putFiles(c.data, &pb.SmallFiles{Directory: path}, nil)
	note("PutFiles", err)
	_, err = c.Rename(ctx, &pb.RenameRequest{Path: path, NewPath: "renamed"})
	note("Rename", err)
	_, err = c.Rename(ctx, &pb.RenameRequest{Path: "none", NewPath: path})
	if status.Code(err) != codes.NotFound { // what is refused is the new name
		note("Rename to", err)
	}
	_, err = c.Remove(ctx, &pb.RemoveRequest{Path: path})
	note("Remove", err)
	return got
}

func TestPathsThatEscape(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "served")
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(secret, []byte("s"), 0o600)); err != nil {
		t.Fatal(err)
	}
	client := newStranger(t, filetest.Listen(t, dir, func(c *server.Config) { c.Writable = true }))
	for _, path := range []string{
		"", "/", "..", "../secret", "a/../../secret", "/etc/passwd", "./a", "a//b", "a/", "a\x00b", "a\nb", "\x1b[2J",
		"a\u202eb", strings.Repeat("x", 256), strings.Repeat("a/", 2050) + "a", secret,
	} {
		for method, code := range ask(t.Context(), client, path) {
			if code != codes.InvalidArgument {
				t.Errorf("%s of %.40q: %v", method, path, code)
			}
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v is there now, %v", entries, err)
	}
}

func TestLinks(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(dir, "file"), []byte("public"), 0o644),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "absolute")),
		os.Symlink("../"+filepath.Base(outside)+"/secret", filepath.Join(dir, "relative")),
		os.Symlink(outside, filepath.Join(dir, "directory")),
		os.Symlink("file", filepath.Join(dir, "inside")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
	); err != nil {
		t.Skip(err) // a system without links
	}
	address := filetest.Listen(t, dir, func(c *server.Config) { c.Writable = true })
	client, stranger := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)}), newStranger(t, address)
	for _, name := range []string{"absolute", "relative", "directory", "inside", "loop"} {
		info, err := client.Stat(name)
		if err != nil || info.Mode().Type() != fs.ModeSymlink || fileservice.VersionOf(info).Size != 0 {
			t.Errorf("%s is not shown as a link: %v, %v", name, info, err)
		}
		if _, err := client.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s opens: %v", name, err)
		}
		for method, code := range ask(t.Context(), stranger, name) {
			switch method {
			case "Stat", "ReadLink", "Space", "Rename", "Remove":
				continue // they are about the link
			case "QueryWriteStatus", "AbandonWrite":
				continue // an upload would take the place of the link
			}
			if code == codes.OK {
				t.Errorf("%s follows %s", method, name)
			}
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "directory")); err != nil {
		t.Fatal(err)
	}
	for method, code := range ask(t.Context(), stranger, "directory/secret") {
		if code == codes.OK {
			t.Errorf("%s follows a link to a directory outside", method)
		}
	}
}

// TestSwap has a file become a link to a secret and back again while it is read. Either is refused or what was served.
func TestSwap(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "probe")); err != nil {
		t.Skip(err)
	}
	client := filetest.Serve(t, dir, nil)
	var stop atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; !stop.Load(); i++ {
			// A name is always there, because renames replace it.
			next := filepath.Join(dir, "next")
			var err error
			switch i % 3 {
			case 0:
				err = os.WriteFile(next, []byte("public"), 0o644)
			case 1:
				err = os.Symlink(secret, next)
			case 2:
				err = os.Symlink(outside, next)
			}
			if err = errors.Join(err, os.Rename(next, filepath.Join(dir, "file"))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	served := 0
	for range 2000 {
		p, err := client.ReadFile("file")
		switch {
		case err == nil && string(p) == "public":
			served++
		case err == nil:
			t.Errorf("it serves %q", p)
		}
		if p, err := client.ReadFile("file/secret"); err == nil {
			t.Errorf("it serves %q", p)
		}
	}
	stop.Store(true)
	swapping.Wait()
	if served == 0 {
		t.Log("no read met the file")
	}
}

func TestRangesThatOverflow(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": fileservice.BlockSize + 5})
	client := newStranger(t, filetest.Listen(t, dir, nil))
	for _, r := range []*pb.ReadRequest{
		{Offset: -1, Length: 1},
		{Length: -1},
		{Offset: 1, Length: math.MaxInt64},
		{Offset: math.MaxInt64, Length: math.MaxInt64},
	} {
		r.Path = "file"
		if err := drain(client.Read(t.Context(), r)); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", r, err)
		}
	}
	for _, r := range []*pb.ReadRequest{
		{Offset: math.MaxInt64},
		{Length: math.MaxInt64},
		{Offset: 1 << 40, Length: 1 << 40},
		{Offset: 3, Length: 1 << 50},
	} {
		r.Path = "file"
		if err := drain(client.Read(t.Context(), r)); err != nil {
			t.Errorf("%v: %v", r, err)
		}
	}
	for _, c := range []struct {
		offset int64
		length int
		want   int // -1 if it is refused
	}{
		{-1, 1, -1},
		{math.MinInt64, 1, -1},
		{math.MaxInt64, 1, 0},
		{math.MaxInt64 - 1, exchange.MaxLength, 0},
		{fileservice.BlockSize + 5, 1, 0},
		{fileservice.BlockSize, exchange.MaxLength, 5},
		{fileservice.BlockSize + 4, 100, 1},
		{0, 0, 0},
	} {
		call, err := filetest.Ask(client.data, exchange.Request{
			Kind: exchange.Get, Target: "file", Version: stat(t, dir, "file"), Offset: c.offset, Length: c.length,
		}, nil)
		switch {
		case c.want < 0 && codeOf(err) != codes.InvalidArgument:
			t.Errorf("%d bytes from %d: %v", c.length, c.offset, err)
		case c.want >= 0 && (err != nil || call.N != c.want):
			t.Errorf("%d bytes from %d: %d, %v", c.length, c.offset, call.N, err)
		}
	}
}

// TestDraftRangesThatOverflow reads and writes where no file can have bytes.
func TestDraftRangesThatOverflow(t *testing.T) {
	dir := t.TempDir()
	client := newStranger(t, filetest.Listen(t, dir, filetest.Writable))
	opened, err := client.OpenDraft(t.Context(), &pb.OpenDraftRequest{Path: "new", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "x", strings.Repeat("x", wire.DraftIDSize), string(opened.GetDraft())} {
		for _, offset := range []int64{-1, math.MinInt64, math.MaxInt64} {
			put := exchange.Request{Kind: exchange.PutDraft, Target: id, Offset: offset}
			if _, err := filetest.Ask(client.data, put, []byte("x")); err == nil {
				t.Errorf("it has written to %q at %d", id, offset)
			}
			get := exchange.Request{Kind: exchange.GetDraft, Target: id, Offset: offset, Length: 10}
			if call, err := filetest.Ask(client.data, get, nil); err == nil && call.N > 0 {
				t.Errorf("it has read %q at %d", id, offset)
			}
		}
	}
}

// drain reads an answer to its end.
func drain(stream grpc.ServerStreamingClient[pb.ReadResponse], err error) error {
	for err == nil {
		_, err = stream.Recv()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func TestNotWritable(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	for method, code := range ask(t.Context(), newStranger(t, filetest.Listen(t, dir, nil)), "new") {
		want := codes.FailedPrecondition
		switch method {
		case "Stat", "Get", "Get any", "ReadLink", "Space", "List", "Read", "Sum":
			want = codes.NotFound
		}
		if code != want {
			t.Errorf("%s: %v", method, code)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestNamesThatCannotBeListed(t *testing.T) {
	dir := t.TempDir()
	unfit := []string{"a\nb", "a\x1bb", "a\xffb"}
	for _, name := range append([]string{"good"}, unfit...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Skip(err) // a file system that has no such names
		}
	}
	entries, err := filetest.Serve(t, dir, nil).ReadDir(".")
	if len(entries) != 1 || entries[0].Name() != "good" {
		t.Errorf("%v", entries)
	}
	others, is := errors.AsType[*fileservice.UnnamableError](err)
	if !is || others.Count != 3 {
		t.Fatal(err)
	}
	slices.Sort(others.Names)
	if slices.Sort(unfit); !slices.Equal(others.Names, unfit) || !strings.Contains(err.Error(), `"a\xffb"`) {
		t.Errorf("it names %q: %v", others.Names, err)
	}
}
