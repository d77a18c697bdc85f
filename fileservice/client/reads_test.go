package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// starter is what a mount looks for in a file.
type starter interface {
	StartReadAt(p []byte, offset int64, done func(error)) bool
}

// startRead returns where the end of a read will be told, or nil if it was not begun.
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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if file := openAll(t, client.WithContext(ctx), "file")["file"]; startRead(file, make([]byte, 1), 0) != nil {
		t.Error("a read that the context of the client would not end was begun")
	}
	if err := files["file"].Close(); err != nil || startRead(files["file"], make([]byte, 1), 0) != nil {
		t.Errorf("a read of a file that was closed was begun, %v", err)
	}
}

// TestStartReadAtAndClose closes the client while reads are under way that are never answered.
func TestStartReadAtAndClose(t *testing.T) {
	asked, release := make(chan struct{}, 100), make(chan struct{})
	client := filetest.Lie(t, fileOf(1<<20, func(*filetest.DataMessage, func(...*filetest.DataMessage) error) error {
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

// heldConn holds writes while hold is set.
type heldConn struct {
	net.Conn
	*holding
}

type holding struct {
	hold    atomic.Bool
	writes  atomic.Int64  // held
	begun   chan struct{} // receives an element when a write is held
	release chan struct{} // closed to let all writes pass
}

func (c *heldConn) Write(p []byte) (int, error) {
	if c.hold.Load() {
		c.writes.Add(1)
		select {
		case c.begun <- struct{}{}:
		default:
		}
		<-c.release
	}
	return c.Conn.Write(p)
}

// TestSmallReadsShareWrites starts reads while another one is being sent. They go out together.
func TestSmallReadsShareWrites(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 300_000})
	dial := filetest.Dialer(filetest.Listen(t, dir, nil))
	h := &holding{begun: make(chan struct{}, 1), release: make(chan struct{})}
	c := filetest.Connect(t, client.Config{Connections: 1, Dial: func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx)
		return &heldConn{conn, h}, err
	}})
	file := openAll(t, c, "file")["file"]
	h.hold.Store(true)
	first := make(chan (<-chan error), 1)
	go func() { first <- startRead(file, make([]byte, 100), 0) }()
	<-h.begun
	var reads []<-chan error
	for i := range int64(200) {
		reads = append(reads, startRead(file, make([]byte, 100), i))
	}
	close(h.release)
	for i, read := range append(reads, <-first) {
		if err := <-read; err != nil {
			t.Errorf("read %d: %v", i, err)
		}
	}
	if n := h.writes.Load(); n != 2 {
		t.Errorf("%d writes for 201 reads", n)
	}
}

// TestManySmallReads has many readers of small ranges of several files.
func TestManySmallReads(t *testing.T) {
	const readers, reads = 200, 10
	sizes := map[string]int{"a": 300_000, "b": 700_000, "c": 65_537}
	dir, _ := filetest.Tree(t, sizes)
	client := filetest.Serve(t, dir, nil)
	files := openAll(t, client, "a", "b", "c")
	contents := map[string][]byte{}
	for name := range sizes {
		contents[name] = filetest.ContentOf(t, dir, name)
	}
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			name := []string{"a", "b", "c"}[i%3]
			for range reads {
				p := make([]byte, 1+random.IntN(10_000))
				offset := random.IntN(len(contents[name]) - len(p))
				n, err := files[name].(io.ReaderAt).ReadAt(p, int64(offset))
				if n != len(p) || err != nil || !bytes.Equal(p, contents[name][offset:offset+n]) {
					t.Errorf("%s: %d bytes at %d, %v", name, n, offset, err)
				}
			}
		})
	}
	all.Wait()
}

// TestSmallReadsFailAlone reads, all at once, files of which one has changed, one is gone and one is as it was.
func TestSmallReadsFailAlone(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"same": 100_000, "changed": 100_000, "gone": 100_000})
	client := filetest.Serve(t, dir, nil)
	files := openAll(t, client, "same", "changed", "gone")
	if err := os.WriteFile(filepath.Join(dir, "changed"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	want := map[string]error{"same": nil, "changed": fileservice.ErrChanged, "gone": fs.ErrNotExist}
	var all sync.WaitGroup
	for i := range 90 {
		all.Go(func() {
			name := []string{"same", "changed", "gone"}[i%3]
			n, err := files[name].(io.ReaderAt).ReadAt(make([]byte, 1000), int64(i)*1000)
			if !errors.Is(err, want[name]) || n != 0 && err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
			if pathError, is := errors.AsType[*fs.PathError](err); err != nil && (!is || pathError.Path != name) {
				t.Errorf("%s: %v names another file", name, err)
			}
		})
	}
	all.Wait()
}

// TestSmallReadsOfLongPaths has many requests with a long name at once.
func TestSmallReadsOfLongPaths(t *testing.T) {
	name := strings.Repeat(strings.Repeat("d", 200)+"/", 10) + "file"
	dir, _ := filetest.Tree(t, map[string]int{name: 300_000})
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	file, err := filetest.Serve(t, dir, nil).Open(name)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range int64(1000) {
		all.Go(func() {
			p := make([]byte, 100)
			n, err := file.(io.ReaderAt).ReadAt(p, i*100)
			if err != nil || !bytes.Equal(p, content[i*100:i*100+100]) {
				t.Errorf("read %d: %d bytes, %v", i, n, err)
			}
		})
	}
	all.Wait()
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadsThatLie(t *testing.T) {
	type message = filetest.DataMessage
	one := func(answer func(*message) *message) func(*message) []*message {
		return func(r *message) []*message { return []*message{answer(r)} }
	}
	for what, answer := range map[string]func(*message) []*message{
		"nothing":   one(func(r *message) *message { return r.End(nil, nil) }),
		"less":      one(func(r *message) *message { return r.End(nil, make([]byte, 99)) }),
		"more":      one(func(r *message) *message { return r.End(nil, make([]byte, 101)) }),
		"much more": one(func(r *message) *message { return r.End(nil, make([]byte, 500<<10)) }),
		"more in parts": func(r *message) []*message {
			return []*message{r.More(make([]byte, 100)), r.More([]byte("x"))}
		},
		"more at the end": func(r *message) []*message {
			return []*message{r.More(make([]byte, 100)), r.End(nil, []byte("x"))}
		},
		"no part":          one(func(r *message) *message { return r.More(nil) }),
		"another's answer": one(func(r *message) *message { return (&message{ID: r.ID - 1}).End(nil, nil) }),
		"failed, with data": func(r *message) []*message {
			failed := r.Fail(codes.NotFound, "")
			failed.Data = make([]byte, 100)
			return []*message{failed}
		},
		"failed well": one(func(r *message) *message { return r.Fail(codes.OK, "") }),
		"a failure of": one(func(r *message) *message {
			return &message{ID: r.ID, Kind: filetest.Failed, Head: []byte{7}}
		}),
		"an unknown kind": one(func(r *message) *message {
			return &message{ID: r.ID, Kind: 9}
		}),
		"a flag": one(func(r *message) *message {
			return &message{ID: r.ID, Kind: filetest.End, Flags: 1}
		}),
		"a length": one(func(r *message) *message {
			return &message{ID: r.ID, Kind: filetest.End, Length: 1}
		}),
		"ALIVE with a head": one(func(*message) *message {
			return &message{Kind: filetest.Alive, Head: []byte{7}}
		}),
	} {
		client := filetest.Lie(t, fileOf(100_000, func(r *message, send func(...*message) error) error {
			return send(answer(r)...)
		}))
		file := openAll(t, client, "file")["file"]
		n, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), 7)
		if n != 0 || !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %d, %v", what, n, err)
		}
		if err := <-startRead(file, make([]byte, 100), 7); !errors.Is(err, fileservice.ErrIntegrity) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSilentReads has a server answer one request, and then no more.
func TestSilentReads(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	address := filetest.LieAt(t, fileOf(1<<20,
		func(r *filetest.DataMessage, send func(...*filetest.DataMessage) error) error {
			if asked.Add(1) > 1 {
				return nil
			}
			return zeros(r, send)
		}))
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Timeout: filetest.ShortTimeout})
	file := openAll(t, client, "file")["file"]
	if err := <-startRead(file, make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	for i := range int64(2) {
		if err := <-startRead(file, make([]byte, 10), i); !errors.Is(err, fileservice.ErrUnreachable) {
			t.Errorf("what is not answered gives %v", err)
		}
	}
}

// TestConnectionsThatEnd has each read but the first meet a connection that ends, or has just ended.
func TestConnectionsThatEnd(t *testing.T) {
	type message = filetest.DataMessage
	for what, read := range map[string]func() filetest.SendData{
		"after an answer": func() filetest.SendData {
			return func(r *message, send func(...*message) error) error {
				return errors.Join(zeros(r, send), filetest.ErrCut)
			}
		},
		"every other time instead of an answer": func() filetest.SendData {
			var asked atomic.Int64
			return func(r *message, send func(...*message) error) error {
				if asked.Add(1)%2 == 0 {
					return filetest.ErrCut
				}
				return zeros(r, send)
			}
		},
		"every other time within an answer": func() filetest.SendData {
			var asked atomic.Int64
			return func(r *message, send func(...*message) error) error {
				if asked.Add(1)%2 == 0 {
					return errors.Join(send(r.More([]byte("x"))), filetest.ErrCut)
				}
				return zeros(r, send)
			}
		},
	} {
		client := filetest.Lie(t, fileOf(1<<20, read()))
		file := openAll(t, client, "file")["file"]
		for i := range int64(50) {
			if err := <-startRead(file, make([]byte, 10), i); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if _, err := file.(io.ReaderAt).ReadAt(make([]byte, 200<<10), i); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestConnectionsThatWereIdle reads again after the server has closed the connection.
func TestConnectionsThatWereIdle(t *testing.T) { synctest.Test(t, connectionsThatWereIdle) }

func connectionsThatWereIdle(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 100_000})
	gone := make(chan struct{}, 100)
	address := filetest.ListenOn(t, filetest.ListenInMemory(t), dir, func(c *server.Config) {
		c.IdleTimeout = 10 * time.Millisecond
		c.Observer.Disconnected = func(net.Addr) { gone <- struct{}{} }
	})
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	file := openAll(t, client, "file")["file"]
	for i := range int64(10) {
		if n, err := file.(io.ReaderAt).ReadAt(make([]byte, 100), i); n != 100 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		<-gone
	}
}

// TestReadsLeaveRoom reads all the time from a server that takes one call at once, and has others wait their turn.
func TestReadsLeaveRoom(t *testing.T) {
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

// TestShutdownWhileReading shuts a server down that is read from all the time. It hangs if a connection does not end.
func TestShutdownWhileReading(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 100_000})
	listener := testkit.ListenTCP(t)
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

// TestStalledReaders take nothing of what they ask for, or ask for nothing, and are cut off.
func TestStalledReaders(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 1 << 20})
	info, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{}, 2)
	address := filetest.Listen(t, dir, func(c *server.Config) {
		c.StallTimeout, c.IdleTimeout = filetest.ShortTimeout, filetest.ShortTimeout
		c.Observer.Disconnected = func(net.Addr) { gone <- struct{}{} }
	})
	ask := &filetest.DataMessage{
		ID: 1, Kind: byte(exchange.Get), Length: 1 << 20,
		Head: filetest.RequestHead(0, fileservice.VersionOf(info), fileservice.Sum{}, "file"),
	}
	for _, requests := range []int{0, 1000} {
		conn := filetest.DialData(t, address)
		if _, err := conn.Write(bytes.Repeat(ask.Bytes(), requests)); err != nil {
			t.Fatal(err)
		}
		<-gone // the test hangs if it is not cut off
	}
}

func TestRequestsThatAreWrong(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 100})
	info, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	version := fileservice.VersionOf(info)
	data := filetest.RawData(t, filetest.Listen(t, dir, nil))
	type get = exchange.Request
	for what, c := range map[string]struct {
		request get
		want    error
		bytes   int
	}{
		"a range":           {get{Target: "file", Version: version, Offset: 5, Length: 10}, nil, 10},
		"over the end":      {get{Target: "file", Version: version, Offset: 95, Length: 10}, nil, 5},
		"behind the end":    {get{Target: "file", Version: version, Offset: 100, Length: 10}, nil, 0},
		"far behind it":     {get{Target: "file", Version: version, Offset: 1<<63 - 1, Length: 10}, nil, 0},
		"empty":             {get{Target: "file", Version: version}, nil, 0},
		"before the file":   {get{Target: "file", Version: version, Offset: -1, Length: 10}, fs.ErrInvalid, 0},
		"another version":   {get{Target: "file", Length: 10}, fileservice.ErrChanged, 0},
		"a path above":      {get{Target: "../file", Version: version, Length: 10}, fs.ErrInvalid, 0},
		"no path":           {get{Version: version, Length: 10}, fs.ErrInvalid, 0},
		"a directory":       {get{Target: ".", Version: version, Length: 10}, fs.ErrInvalid, 0},
		"none":              {get{Target: "none", Version: version, Length: 10}, fs.ErrNotExist, 0},
		"a large one above": {get{Target: "../file", Version: version, Length: 1 << 20}, fs.ErrInvalid, 0},
	} {
		c.request.Kind = exchange.Get
		call, err := filetest.Ask(data, c.request, nil)
		if !errors.Is(err, c.want) || call.N != c.bytes {
			t.Errorf("%s: %d bytes, %v", what, call.N, err)
		}
	}
	for _, kind := range []exchange.Kind{exchange.PutBlock, exchange.PutDraft, exchange.PutFiles} {
		_, err := filetest.Ask(data, exchange.Request{Kind: kind, Target: "file", Version: version}, []byte("x"))
		if !errors.Is(err, fileservice.ErrRefused) {
			t.Errorf("%v to a server that is not writable: %v", kind, err)
		}
	}
}
