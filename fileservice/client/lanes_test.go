package client_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// starter is what a mount looks for in a file.
type starter interface {
	StartReadAt(p []byte, offset int64, done func(error)) bool
}

// startRead gives where the end of a read will be told, or nil if it was not begun.
func startRead(file fs.File, p []byte, offset int64) <-chan error {
	done := make(chan error, 1)
	if !file.(starter).StartReadAt(p, offset, func(err error) { done <- err }) {
		return nil
	}
	return done
}

func TestStartReadAt(t *testing.T) {
	const size, piece, reads = 300_000, 1000, 300
	dir, _ := filetest.Tree(t, map[string]int{"file": size, "changed": size, "small": 10})
	client := filetest.Serve(t, dir, nil)
	files := openAll(t, client, "file", "changed", "small")
	content, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "changed"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, size)
	var good, bad []<-chan error
	for i := range reads {
		good = append(good, startRead(files["file"], got[i*piece:(i+1)*piece], int64(i*piece)))
		bad = append(bad, startRead(files["changed"], make([]byte, piece), int64(i*piece)))
	}
	for i := range reads {
		if err := <-good[i]; err != nil {
			t.Errorf("read %d: %v", i, err)
		}
		if err := <-bad[i]; !errors.Is(err, fileservice.ErrChanged) {
			t.Errorf("read %d of another version: %v", i, err)
		}
	}
	if !bytes.Equal(got, content) {
		t.Error("other bytes came")
	}
	for what, c := range map[string]struct {
		file           string
		length, offset int64
	}{
		"nothing":         {"file", 0, 0},
		"before the file": {"file", 1, -1},
		"over its end":    {"file", 10, size - 9},
		"far beyond it":   {"file", 10, 1<<63 - 5},
		"too much":        {"file", 64<<10 + 1, 0},
		"what is there":   {"small", 10, 0},
	} {
		if startRead(files[c.file], make([]byte, c.length), c.offset) != nil {
			t.Errorf("%s was begun", what)
		}
	}
	if err := files["file"].Close(); err != nil || startRead(files["file"], make([]byte, 1), 0) != nil {
		t.Errorf("a read of a file that was closed was begun, %v", err)
	}
}

// TestStartReadAtAndClose closes the client while reads are under way that are never answered.
func TestStartReadAtAndClose(t *testing.T) {
	asked, release := make(chan struct{}, 100), make(chan struct{})
	client := filetest.Lie(t, piecesOf(func(*fileservicepb.ReadPiecesRequest) *fileservicepb.ReadPiecesResponse {
		asked <- struct{}{}
		<-release
		return nil
	}))
	t.Cleanup(func() { close(release) })
	file, err := client.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	var reads []<-chan error
	for i := range int64(100) {
		reads = append(reads, startRead(file, make([]byte, 10), i))
	}
	<-asked
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	reads = append(reads, startRead(file, make([]byte, 10), 0))
	for i, read := range reads {
		if err := <-read; err == nil || errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("read %d: %v", i, err)
		}
	}
}

// TestSilentLanes has a server answer one request of each stream, and then no more.
func TestSilentLanes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var asked atomic.Int64
	address := filetest.LieAt(t, piecesOf(func(r *fileservicepb.ReadPiecesRequest) *fileservicepb.ReadPiecesResponse {
		if asked.Add(1) > 1 {
			<-release
		}
		return zeros(r)
	}))
	t.Cleanup(func() { close(release) })
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Timeout: 3 * filetest.ShortTimeout})
	file, err := client.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-startRead(file, make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		if err := <-startRead(file, make([]byte, 10), i); !errors.Is(err, fileservice.ErrUnreachable) {
			t.Errorf("what is not answered gives %v", err)
		}
	}
}

// piecesOf is a liar with a file of which it gives pieces.
func piecesOf(pieces func(*fileservicepb.ReadPiecesRequest) *fileservicepb.ReadPiecesResponse) *filetest.Liar {
	return &filetest.Liar{
		OnOpen: func() *fileservicepb.OpenResponse {
			return &fileservicepb.OpenResponse{Entry: filetest.Entry("file", 1<<20)}
		},
		OnPieces: pieces,
	}
}

func zeros(request *fileservicepb.ReadPiecesRequest) *fileservicepb.ReadPiecesResponse {
	response := &fileservicepb.ReadPiecesResponse{}
	for _, piece := range request.GetPieces() {
		response.Data = append(response.Data, make([]byte, piece.GetLength())...)
	}
	return response
}

// brief is a server that ends each stream after one answer.
type brief struct {
	*filetest.Liar
	end     error
	streams atomic.Int64
}

func (b *brief) ReadPieces(
	stream grpc.BidiStreamingServer[fileservicepb.ReadPiecesRequest, fileservicepb.ReadPiecesResponse],
) error {
	b.streams.Add(1)
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	return errors.Join(stream.Send(zeros(request)), b.end)
}

// TestStreamsThatEnd has each request but the first meet a stream that ends, or has just ended.
func TestStreamsThatEnd(t *testing.T) {
	const reads = 50
	for what, end := range map[string]error{"well": nil, "with an error": status.Error(codes.Unavailable, "")} {
		server := &brief{Liar: piecesOf(nil), end: end}
		file, err := filetest.Lie(t, server).Open("file")
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(reads) {
			if err := <-startRead(file, make([]byte, 10), i); err != nil {
				t.Errorf("streams that end %s: %v", what, err)
			}
		}
		if n := server.streams.Load(); n < reads {
			t.Errorf("%d streams that end %s for %d reads", n, what, reads)
		}
	}
}

// TestLanesThatWereIdle reads again and again just when the streams end by themselves.
func TestLanesThatWereIdle(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 100_000})
	client := filetest.Serve(t, dir, nil)
	file, err := client.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	for pause := 45 * time.Millisecond; pause < 55*time.Millisecond; pause += time.Millisecond {
		var group sync.WaitGroup
		for i := range int64(20) {
			group.Go(func() {
				for range 2 {
					if n, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), i*100); n != 100 || err != nil {
						t.Errorf("after %v: %d bytes, %v", pause, n, err)
					}
					<-time.After(pause)
				}
			})
		}
		group.Wait()
	}
}

// TestLanesLeaveRoom reads all the time from a server that takes one call at once, and has others wait their turn.
func TestLanesLeaveRoom(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 100_000})
	address := filetest.Listen(t, dir, func(c *server.Config) { c.MaxCalls = 1 })
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
	file, err := client.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for i := range int64(16) {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), i*100); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		if _, err := client.Stat("file"); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	group.Wait()
}

// TestShutdownEndsLanes shuts a server down that is read from all the time. It hangs if a stream does not end.
func TestShutdownEndsLanes(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 100_000})
	listener := filetest.ListenLocally(t)
	root := filetest.OpenRoot(t, dir)
	server, served := filetest.StartServer(t, listener, server.Config{Root: root, StallTimeout: time.Hour})
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(listener.Addr().String())})
	file, err := client.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	first := make(chan struct{}, 16)
	for i := range int64(16) {
		group.Go(func() {
			for n := 0; ; n++ {
				_, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), i*100)
				if n == 0 {
					first <- struct{}{}
				}
				if err == nil {
					continue
				}
				if !errors.Is(err, fileservice.ErrUnreachable) {
					t.Error(err)
				}
				return
			}
		})
	}
	<-first
	if err := errors.Join(server.Shutdown(t.Context()), <-served); err != nil {
		t.Error(err)
	}
	group.Wait()
}

// TestStalledLanes take nothing of what they ask for, or ask for nothing, and are cut off.
func TestStalledLanes(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 1 << 20})
	address := filetest.Listen(t, dir, func(c *server.Config) { c.StallTimeout = filetest.ShortTimeout })
	entry, err := filetest.Raw(t, address).Stat(t.Context(), &fileservicepb.StatRequest{Path: "file"})
	if err != nil {
		t.Fatal(err)
	}
	ask := &fileservicepb.ReadPiecesRequest{}
	for range 4 {
		ask.Pieces = append(ask.Pieces, &fileservicepb.ReadRequest{
			Path: "file", Version: entry.GetVersion(), Length: 64 << 10,
		})
	}
	for _, requests := range []int{0, 20} {
		f := filetest.Speak(t, address)
		if err := f.Open(1, "ReadPieces"); err != nil {
			t.Fatal(err)
		}
		for range requests {
			if err := f.WriteData(1, false, filetest.Request(ask)); err != nil {
				t.Fatal(err)
			}
		}
		for {
			if _, err := f.ReadFrame(); err != nil {
				break // the test hangs if this does not come
			}
		}
	}
}
