package server_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/internal/wire"
)

// source is a file to be sent.
type source struct {
	content []byte
	version fileservice.Version
}

func newSource(size int) source {
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i * i >> 3)
	}
	return source{content, fileservice.Version{Size: int64(size), ModifiedUnixNano: 1e18, Tag: 7}}
}

func (s source) blocks() int64 { return fileservice.Blocks(s.version.Size) }

func (s source) block(i int64) []byte {
	return s.content[i*fileservice.BlockSize : min((i+1)*fileservice.BlockSize, s.version.Size)]
}

func (s source) sum(i int64) fileservice.Sum { return fileservice.SumBlock(s.block(i), i) }

func (s source) root() fileservice.Sum {
	var file fileservice.FileSum
	for i := range s.blocks() {
		file.Append(s.sum(i))
	}
	return file.Sum()
}

// send sends blocks, and checks that their sums are reported.
func (s source) send(ctx context.Context, c *client.Client, name string, first, count int64) error {
	next := first
	return c.WriteBlocks(ctx, name, s.version, first, count, bytes.NewReader(s.content),
		func(block int64, data []byte, sum fileservice.Sum) {
			if block != next || sum != s.sum(block) || !bytes.Equal(data, s.block(block)) {
				panic("another block")
			}
			next++
		})
}

func TestUpload(t *testing.T) {
	for _, size := range []int{0, 1, 300 << 10, fileservice.BlockSize, 5*fileservice.BlockSize + 3} {
		dir := t.TempDir()
		client := filetest.Serve(t, dir, filetest.Writable)
		s := newSource(size)
		for range 2 {
			if err := client.MkdirIfMissing("a", 0o755); err != nil {
				t.Fatal(err)
			}
		}
		committed, err := client.QueryWrite(t.Context(), "a/file", s.version, false)
		if err != nil || len(committed) != 0 {
			t.Fatal(committed, err)
		}
		// From the end to the beginning, a block in each call.
		for i := s.blocks() - 1; i >= 0; i-- {
			if err := s.send(t.Context(), client, "a/file", i, 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "a", "file")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it has its name before it is complete: %v", err)
		}
		info, err := client.FinishWrite(t.Context(), "a/file", s.version, s.root(), 0o640, false)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != s.version.Size || info.ModTime() != s.version.ModTime() || info.Mode() != 0o640 {
			t.Errorf("%v", info)
		}
		got, err := os.ReadFile(filepath.Join(dir, "a", "file"))
		if err != nil || !bytes.Equal(got, s.content) {
			t.Errorf("%d bytes: %d came, %v", size, len(got), err)
		}
		if _, err := client.QueryWrite(t.Context(), "a/file", s.version, false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("over a file that is there: %v", err)
		}
		entries, err := client.ReadDir("a")
		if err != nil || len(entries) != 1 {
			t.Errorf("something was left: %v, %v", entries, err)
		}
	}
}

// TestQueryCommits asks for what has come at once, which may not have been committed by itself yet.
func TestQueryCommits(t *testing.T) {
	client := filetest.Serve(t, t.TempDir(), filetest.Writable)
	s := newSource(4 * fileservice.BlockSize)
	for i := range s.blocks() {
		want := []fileservice.BlockRange{{First: 0, Count: i}}
		committed, err := client.QueryWrite(t.Context(), "file", s.version, false)
		if err != nil || len(committed) != 0 && !slices.Equal(committed, want) || len(committed) == 0 && i > 0 {
			t.Errorf("%v are committed of %d, %v", committed, i, err)
		}
		if err := s.send(t.Context(), client, "file", i, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUploadGoesOn breaks the connection within a block, which is sent again over another one, and then ends the
// server.
func TestUploadGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := newSource(20 * fileservice.BlockSize)
	first := filetest.Listen(t, dir, filetest.Writable)
	var left atomic.Int64
	left.Store(6 << 20)
	client := filetest.Connect(t, client.Config{
		Connections: 1, Timeout: 10 * time.Second,
		Dial: func(ctx context.Context) (net.Conn, error) {
			conn, err := filetest.Dialer(first)(ctx)
			return &brittleWriter{conn, &left}, err
		},
	})
	if _, err := client.QueryWrite(t.Context(), "file", s.version, false); err != nil {
		t.Fatal(err)
	}
	if err := s.send(t.Context(), client, "file", 0, 19); err != nil || left.Load() >= 0 {
		t.Fatalf("a connection that breaks: %v", err)
	}
	_, err := client.FinishWrite(t.Context(), "file", s.version, s.root(), 0, false)
	if !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("finished with blocks missing: %v", err)
	}

	// Another server on the same tree finds what the first has committed, which is all that it had.
	second := filetest.Serve(t, dir, filetest.Writable)
	committed, err := second.QueryWrite(t.Context(), "file", s.version, false)
	if err != nil {
		t.Fatal(err)
	}
	have := map[int64]bool{}
	for _, r := range committed {
		for i := range r.Count {
			have[r.First+i] = true
		}
	}
	if len(have) != 19 || have[19] {
		t.Errorf("%v are committed", committed)
	}
	for i := range int64(20) {
		if !have[i] {
			if err := s.send(t.Context(), second, "file", i, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := second.FinishWrite(t.Context(), "file", s.version, s.root(), 0, false); err != nil {
		t.Fatal(err)
	}
	if got, err := second.ReadFile("file"); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// brittleWriter breaks once, after so many bytes were sent.
type brittleWriter struct {
	net.Conn
	left *atomic.Int64
}

func (b *brittleWriter) Write(p []byte) (int, error) {
	if left := b.left.Add(-int64(len(p))); left < 0 && left+int64(len(p)) >= 0 {
		return 0, errors.Join(errors.New("broken"), b.Close())
	}
	return b.Conn.Write(p)
}

func TestUploadOfAnotherVersion(t *testing.T) {
	client := filetest.Serve(t, t.TempDir(), filetest.Writable)
	s := newSource(2 * fileservice.BlockSize)
	other := s
	other.version.Tag++
	if _, err := client.QueryWrite(t.Context(), "file", s.version, false); err != nil {
		t.Fatal(err)
	}
	if err := s.send(t.Context(), client, "file", 0, 2); err != nil {
		t.Fatal(err)
	}
	if err := other.send(t.Context(), client, "file", 0, 1); !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("blocks of another version: %v", err)
	}
	committed, err := client.QueryWrite(t.Context(), "file", other.version, false)
	if err != nil || len(committed) != 0 {
		t.Errorf("it does not begin afresh: %v, %v", committed, err)
	}
	if err := s.send(t.Context(), client, "file", 0, 1); !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("blocks of the version before: %v", err)
	}
}

// put sends a block as it is.
func put(
	data *exchange.Conn, name string, version fileservice.Version, offset int64, block []byte, sum fileservice.Sum,
) error {
	_, err := filetest.Ask(data, exchange.Request{
		Kind: exchange.PutBlock, Target: name, Version: version, Offset: offset, Sum: sum,
	}, block)
	return err
}

// TestUploadsThatLie has clients that break the rules, after which the file has not got its name.
func TestUploadsThatLie(t *testing.T) {
	dir := t.TempDir()
	client := newStranger(t, filetest.Listen(t, dir, filetest.Writable))
	version := fileservice.Version{Size: fileservice.BlockSize + 5}
	begin := func() {
		t.Helper()
		query := &pb.QueryWriteStatusRequest{Path: "file", Version: wire.VersionMessage(version)}
		if _, err := client.QueryWriteStatus(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	block, rest := make([]byte, fileservice.BlockSize), []byte("hello")
	full, last := fileservice.SumBlock(block, 0), fileservice.SumBlock(rest, 1)
	const size = fileservice.BlockSize
	tooLarge := fileservice.Version{Size: fileservice.MaxFileSize + 1}
	for what, c := range map[string]struct {
		want    codes.Code
		name    string
		version fileservice.Version
		offset  int64
		data    []byte
		sum     fileservice.Sum
	}{
		"another hash":           {codes.DataLoss, "file", version, size, rest, full},
		"no hash":                {codes.DataLoss, "file", version, size, rest, fileservice.Sum{}},
		"a part":                 {codes.DataLoss, "file", version, 0, block[:256<<10], full},
		"a part without others":  {codes.FailedPrecondition, "file", version, size - 5, rest, full},
		"no data":                {codes.InvalidArgument, "file", version, 0, nil, full},
		"a block behind all":     {codes.InvalidArgument, "file", version, 2 * size, rest, full},
		"a negative block":       {codes.InvalidArgument, "file", version, -size, rest, full},
		"between two blocks":     {codes.InvalidArgument, "file", version, 5, block, full},
		"too long":               {codes.InvalidArgument, "file", version, size, block, full},
		"a negative size":        {codes.InvalidArgument, "file", fileservice.Version{Size: -1}, 0, rest, last},
		"too large a size":       {codes.InvalidArgument, "file", tooLarge, 0, block, full},
		"a version of its own":   {codes.FailedPrecondition, "file", fileservice.Version{Size: 5}, 0, rest, last},
		"one that has not begun": {codes.FailedPrecondition, "other", version, size, rest, last},
	} {
		begin()
		if err := put(client.data, c.name, c.version, c.offset, c.data, c.sum); codeOf(err) != c.want {
			t.Errorf("%s: %v", what, err)
		}
	}
	// All blocks, and a sum that is not theirs.
	begin()
	if err := errors.Join(
		put(client.data, "file", version, 0, block, full), put(client.data, "file", version, size, rest, last),
	); err != nil {
		t.Fatal(err)
	}
	_, err := client.FinishWrite(t.Context(), &pb.FinishWriteRequest{
		Path: "file", Version: wire.VersionMessage(version), Hash: make([]byte, fileservice.SumSize),
	})
	if status.Code(err) != codes.DataLoss {
		t.Errorf("another hash: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has got its name: %v", err)
	}
	for _, name := range []string{"x.culvert.part", "x.culvert.journal/0", "."} {
		for method, code := range ask(t.Context(), client, name) {
			switch method {
			case "SetAttributes", "SyncDirectory", "PutFiles":
				if (code == codes.OK) != (name == ".") {
					t.Errorf("%s of %s: %v", method, name, code)
				}
			case "Stat", "Get", "Get any", "ReadLink", "Space", "List", "Read", "Sum":
			default:
				if code != codes.FailedPrecondition && code != codes.InvalidArgument {
					t.Errorf("%s of %s: %v", method, name, code)
				}
			}
		}
	}
}

// TestSmallFilesThatLie sends small files that break the rules. None of them has got its name.
func TestSmallFilesThatLie(t *testing.T) {
	dir := t.TempDir()
	client := newStranger(t, filetest.Listen(t, dir, filetest.Writable))
	content := []byte("hello")
	sum := fileservice.SumFile(content)
	good := func() *pb.SmallFile { return &pb.SmallFile{Name: "file", Version: &pb.Version{Size: 5}, Hash: sum[:]} }
	for what, c := range map[string]struct {
		want   codes.Code
		change func(*pb.SmallFiles)
		data   []byte
	}{
		"no data":       {codes.InvalidArgument, func(*pb.SmallFiles) {}, nil},
		"less data":     {codes.InvalidArgument, func(*pb.SmallFiles) {}, content[:4]},
		"more data":     {codes.InvalidArgument, func(*pb.SmallFiles) {}, append(content, '!')},
		"no hash":       {codes.DataLoss, func(f *pb.SmallFiles) { f.Files[0].Hash = nil }, content},
		"other content": {codes.DataLoss, func(*pb.SmallFiles) {}, []byte("HELLO")},
		"another directory": {
			codes.InvalidArgument, func(f *pb.SmallFiles) { f.Files[0].Name = "../file" }, content,
		},
		"a path":        {codes.InvalidArgument, func(f *pb.SmallFiles) { f.Files[0].Name = "a/file" }, content},
		"no name":       {codes.InvalidArgument, func(f *pb.SmallFiles) { f.Files[0].Name = "" }, content},
		"no directory":  {codes.NotFound, func(f *pb.SmallFiles) { f.Directory = "none" }, content},
		"negative size": {codes.InvalidArgument, func(f *pb.SmallFiles) { f.Files[0].Version.Size = -5 }, content},
		"a large file": {
			codes.InvalidArgument, func(f *pb.SmallFiles) { f.Files[0].Version.Size = fileservice.SmallFileSize + 1 },
			make([]byte, fileservice.SmallFileSize+1),
		},
		"too many": {codes.InvalidArgument, func(f *pb.SmallFiles) {
			for len(f.Files) <= fileservice.MaxSmallFiles {
				f.Files = append(f.Files, &pb.SmallFile{Name: "x", Version: &pb.Version{}})
			}
		}, content},
	} {
		files := &pb.SmallFiles{Directory: ".", Files: []*pb.SmallFile{good()}}
		c.change(files)
		if _, err := putFiles(client.data, files, c.data); codeOf(err) != c.want {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := filetest.Ask(client.data, exchange.Request{Kind: exchange.PutFiles, Target: "\xff\xff"}, content)
	if codeOf(err) != codes.InvalidArgument {
		t.Errorf("no message at all: %v", err)
	}
	filetest.SeeFiles(t, dir, nil)
	// A name that is reserved fails alone.
	reserved := good()
	reserved.Name = "x.culvert.part"
	files := &pb.SmallFiles{Directory: ".", Files: []*pb.SmallFile{reserved, good()}}
	results, err := putFiles(client.data, files, append(content, content...))
	if err != nil {
		t.Fatal(err)
	}
	refused, done := results.GetFiles()[0].GetError(), results.GetFiles()[1].GetError()
	if codes.Code(refused.GetCode()) != codes.FailedPrecondition || done != nil {
		t.Errorf("a reserved name: %v, the other file: %v", refused, done)
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": content})
}

// TestUploadBesideALostPut finishes an upload while another connection has sent a part of one of its blocks.
func TestUploadBesideALostPut(t *testing.T) {
	dir := t.TempDir()
	address := listenNarrow(t, dir)
	s := newSource(2 * fileservice.BlockSize)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	if _, err := client.QueryWrite(t.Context(), "file", s.version, false); err != nil {
		t.Fatal(err)
	}
	lost := beginPut(t, address, s, 1)
	if err := s.send(t.Context(), client, "file", 0, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := client.FinishWrite(t.Context(), "file", s.version, s.root(), 0o600, false); err != nil {
		t.Error(err)
	}
	if answer := lost.rest(t); answer.Kind != filetest.Failed {
		t.Error("a block was written after the end")
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestManyUploads begins more uploads than there may be for one peer that is alone.
func TestManyUploads(t *testing.T) {
	address := filetest.Listen(t, t.TempDir(), filetest.Writable)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
	s := newSource(fileservice.BlockSize)
	refused := 0
	for i := range 300 {
		_, err := client.QueryWrite(t.Context(), strings.Repeat("x", i/26+1)+string(rune('a'+i%26)), s.version, false)
		if errors.Is(err, fileservice.ErrRefused) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused != 300-128 {
		t.Errorf("%d were refused", refused)
	}
}
