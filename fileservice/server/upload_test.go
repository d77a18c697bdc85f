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
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/internal/testkit"
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

func (s source) sum(i int64) fileservice.Sum { return fileservice.Sum(s.hash(i)) }

func (s source) hash(i int64) []byte { return filetest.SumOf(s.block(i), i, s.version.Size) }

func (s source) root() fileservice.Sum {
	var tree fileservice.Tree
	for i := range s.blocks() {
		tree.Append(s.sum(i))
	}
	return tree.Root()
}

// send sends blocks, and checks that their hashes are told.
func (s source) send(ctx context.Context, c *client.Client, name string, first, count int64) error {
	next := first
	return c.WriteBlocks(ctx, name, s.version, first, count, bytes.NewReader(s.content),
		func(block int64, sum fileservice.Sum) {
			if block != next || sum != s.sum(block) {
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

// TestUploadGoesOn breaks the connection within a block, and then ends the server.
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
	if err := s.send(t.Context(), client, "file", 0, 20); !errors.Is(err, fileservice.ErrUnreachable) {
		t.Fatalf("a connection that breaks: %v", err)
	}
	if err := s.send(t.Context(), client, "file", 5, 2); err != nil {
		t.Fatalf("a new connection: %v", err)
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
	if len(have) == 0 || !have[5] || !have[6] || have[19] {
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

// write sends messages as they are.
func write(ctx context.Context, c pb.FileServiceClient, messages ...*pb.WriteRequest) error {
	stream, err := c.Write(ctx)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			break // the answer says why
		}
	}
	_, err = stream.CloseAndRecv()
	return err
}

// TestUploadsThatLie has clients that break the rules, after which the file has not got its name.
func TestUploadsThatLie(t *testing.T) {
	dir := t.TempDir()
	address := filetest.Listen(t, dir, filetest.Writable)
	client := filetest.Raw(t, address)
	version := &pb.Version{Size: fileservice.BlockSize + 5}
	begin := func() {
		t.Helper()
		query := &pb.QueryWriteStatusRequest{Path: "file", Version: version}
		if _, err := client.QueryWriteStatus(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	part, rest := make([]byte, 256<<10), []byte("hello")
	head := func(block int64, data, hash []byte) *pb.WriteRequest {
		return &pb.WriteRequest{Path: "file", Version: version, FirstBlock: block, Data: data, Hash: hash}
	}
	more := func(data, hash []byte) *pb.WriteRequest {
		return &pb.WriteRequest{Data: data, Hash: hash}
	}
	type messages = []*pb.WriteRequest
	full := filetest.SumOf(make([]byte, fileservice.BlockSize), 0, version.GetSize())
	last := filetest.SumOf(rest, 1, version.GetSize())
	for what, c := range map[string]struct {
		want codes.Code
		sent messages
	}{
		"another hash":       {codes.DataLoss, messages{head(1, rest, full)}},
		"no hash":            {codes.InvalidArgument, messages{head(1, rest, nil)}},
		"an early hash":      {codes.InvalidArgument, messages{head(0, part, full)}},
		"a part":             {codes.InvalidArgument, messages{head(0, part, nil), more(part, nil)}},
		"no data":            {codes.InvalidArgument, messages{head(0, nil, nil), more(nil, nil)}},
		"a block behind all": {codes.InvalidArgument, messages{head(2, rest, full)}},
		"a negative block":   {codes.InvalidArgument, messages{head(-1, rest, full)}},
		"too long":           {codes.InvalidArgument, messages{head(1, part, full)}},
		"more at the end":    {codes.InvalidArgument, messages{head(1, rest, last), more(rest, nil)}},
		"nothing":            {codes.Unknown, nil},
		"a version of its own": {codes.FailedPrecondition, messages{{
			Path: "file", Version: &pb.Version{Size: 5}, Data: rest, Hash: last,
		}}},
		"one that has not begun": {codes.FailedPrecondition, messages{{
			Path: "other", Version: version, FirstBlock: 1, Data: rest, Hash: last,
		}}},
	} {
		begin()
		if err := write(t.Context(), client, c.sent...); status.Code(err) != c.want {
			t.Errorf("%s: %v", what, err)
		}
	}
	// All blocks, and a root that is not theirs.
	begin()
	good := messages{
		head(0, part, nil), more(part, nil), more(part, nil), more(part, full), more(rest, last),
	}
	if err := write(t.Context(), client, good...); err != nil {
		t.Fatal(err)
	}
	_, err := client.FinishWrite(t.Context(), &pb.FinishWriteRequest{
		Path: "file", Version: version, Root: make([]byte, 32),
	})
	if status.Code(err) != codes.DataLoss {
		t.Errorf("another root: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has got its name: %v", err)
	}
	for _, name := range []string{"x.culvert.part", "x.culvert.journal/0", "."} {
		for method, code := range ask(t.Context(), client, name) {
			switch method {
			case "SetAttributes", "SyncDirectory", "WriteFiles":
				if (code == codes.OK) != (name == ".") {
					t.Errorf("%s of %s: %v", method, name, code)
				}
			case "Stat", "Open", "ReadLink", "Space", "List", "Read", "ReadFiles":
			default:
				if code != codes.FailedPrecondition && code != codes.InvalidArgument {
					t.Errorf("%s of %s: %v", method, name, code)
				}
			}
		}
	}
}

// TestUploadBesideALostCall finishes an upload while a call that will never end has sent a part of one of its blocks.
func TestUploadBesideALostCall(t *testing.T) {
	dir := t.TempDir()
	address := filetest.Listen(t, dir, filetest.Writable)
	s := newSource(2 * fileservice.BlockSize)
	version := &pb.Version{
		Size: s.version.Size, ModifiedUnixNano: s.version.ModifiedUnixNano, Tag: s.version.Tag,
	}
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	if _, err := client.QueryWrite(t.Context(), "file", s.version, false); err != nil {
		t.Fatal(err)
	}
	lost, err := filetest.Raw(t, address).Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head, last := &pb.WriteRequest{Path: "file", Version: version}, s.block(1)
	for i := range 4 {
		head.Data = s.block(0)[i<<18:][:1<<18]
		if i == 3 {
			head.Hash = s.hash(0)
		}
		if err := lost.Send(head); err != nil {
			t.Fatal(err)
		}
		head = &pb.WriteRequest{}
	}
	if err := lost.Send(&pb.WriteRequest{Data: last[:1<<18]}); err != nil {
		t.Fatal(err)
	}
	// The server has taken the block, so that it knows of the call.
	testkit.WaitFor(t, "the block is written", func() bool {
		got, err := os.ReadFile(filepath.Join(dir, "file.culvert.part"))
		return err == nil && bytes.HasPrefix(got, s.block(0))
	})
	if err := s.send(t.Context(), client, "file", 0, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := client.FinishWrite(t.Context(), "file", s.version, s.root(), 0o600, false); err != nil {
		t.Error(err)
	}
	for i := 1; i < 4; i++ {
		message := &pb.WriteRequest{Data: last[i<<18:][:1<<18]}
		if i == 3 {
			message.Hash = s.hash(1)
		}
		if err := lost.Send(message); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := lost.CloseAndRecv(); err == nil {
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
