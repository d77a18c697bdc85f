package server_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// TestManyStreams opens 10,000 reads on one connection and takes nothing of what they give.
func TestManyStreams(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 8 << 20})
	address := filetest.Listen(t, dir, nil)
	// One who behaves is there before and after.
	good := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
	if _, err := good.ReadFile("file"); err != nil {
		t.Fatal(err)
	}
	before := heap()
	goroutines := runtime.NumGoroutine()

	const calls = 10_000
	f := filetest.Speak(t, address)
	ask := filetest.Request(&pb.ReadRequest{Path: "file", Length: 8 << 20})
	sent := make(chan error, 1)
	go func() {
		for i := range uint32(calls) {
			if err := errors.Join(f.Open(2*i+1, "Read"), f.WriteData(2*i+1, true, ask)); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	refused := 0
	for refused < calls-server.DefaultMaxCalls {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("after %d calls that were refused: %v", refused, err)
		}
		if reset, is := frame.(*http2.RSTStreamFrame); is && reset.ErrCode == http2.ErrCodeRefusedStream {
			refused++
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if _, err := good.ReadFile("file"); err != nil {
		t.Error(err)
	}
	if got := runtime.NumGoroutine() - goroutines; got > 2*server.DefaultMaxCalls {
		t.Errorf("%d goroutines more", got)
	}
	// All buffers, and what gRPC needs for the calls that it has taken.
	const bound = server.DefaultMaxBuffers*256<<10 + 8<<20
	if after := heap(); after > before+bound {
		t.Errorf("%d KiB more in use", (after-before)>>10)
	}
}

// TestManyWrites opens 10,000 uploads on one connection, and sends as much of each as may be sent ahead. What a server
// holds is bounded by the calls that it takes.
func TestManyWrites(t *testing.T) {
	address := filetest.Listen(t, t.TempDir(), filetest.Writable)
	good := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
	if err := good.MkdirIfMissing("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	before, goroutines := heap(), runtime.NumGoroutine()
	const calls, window = 10_000, 2 << 20
	const blocks = server.DefaultMaxBuffers / 8 // that one connection may have, of 1 MiB
	f := filetest.Speak(t, address)
	sent := make(chan error, 1)
	go func() {
		var err error
		part := make([]byte, 16<<10)
		for i := range uint32(calls) {
			err = errors.Join(err, f.Open(2*i+1, "Write"))
			if i < blocks {
				// The beginning of a message of 256 KiB, whose end the others wait for.
				err = errors.Join(err, f.WriteData(2*i+1, false, []byte{0, 0, 4, 0, 0}))
			}
		}
		for i := uint32(blocks); i < server.DefaultMaxCalls; i++ {
			for sent := 0; sent < window; sent += len(part) {
				err = errors.Join(err, f.WriteData(2*i+1, false, part))
			}
		}
		sent <- errors.Join(err, f.WritePing(false, [8]byte{1}))
	}()
	refused := 0
	for answered := false; !answered; {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatalf("after %d calls that were refused: %v", refused, err)
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			refused++
		case *http2.PingFrame:
			answered = frame.IsAck() && frame.Data[0] == 1
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if refused < calls-server.DefaultMaxCalls {
		t.Errorf("%d calls were refused", refused)
	}
	if err := good.MkdirIfMissing("sub/sub", 0o700); err != nil {
		t.Error(err)
	}
	if got := runtime.NumGoroutine() - goroutines; got > 2*server.DefaultMaxCalls {
		t.Errorf("%d goroutines more", got)
	}
	const bound = server.DefaultMaxCalls*window + server.DefaultMaxBuffers*256<<10 + 16<<20
	if after := heap(); after > before+bound {
		t.Errorf("%d KiB more in use", (after-before)>>10)
	}
}

// TestSmallFrames sends a request in frames of one byte, which cost their receiver more than their sender.
func TestSmallFrames(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	f := filetest.Speak(t, filetest.Listen(t, dir, func(c *server.Config) { c.Writable = true }))
	before := heap()
	// It says that 200 KiB will come, and sends all but the last byte, on as many calls as there may be.
	calls := uint64(4)
	if testkit.RaceDetector() {
		calls = 1
	}
	sent := make(chan error, 1)
	go func() {
		for call := range uint32(calls) {
			stream := 2*call + 1
			head := []byte{0, 0, 3, 32, 0}
			if err := errors.Join(f.Open(stream, "Write"), f.WriteData(stream, false, head)); err != nil {
				sent <- err
				return
			}
			for range 200<<10 - 1 {
				if err := f.WriteData(stream, false, []byte{0}); err != nil {
					sent <- err
					return
				}
			}
		}
		sent <- f.WritePing(false, [8]byte{1})
	}()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Log("the connection was closed:", err)
			break
		}
		if ping, is := frame.(*http2.PingFrame); is && ping.IsAck() && ping.Data[0] == 1 {
			break // all of it was read
		}
	}
	if err := <-sent; err != nil && !isReset(err) {
		t.Error(err)
	}
	after := heap()
	t.Logf("%d bytes are held for each one that was sent", (after-min(before, after))/(calls*200<<10))
	if after > before+64<<20 {
		t.Errorf("%d MiB more in use", (after-before)>>20)
	}
}

// TestStalledClient takes nothing, and is cut off; another one is served all the while.
func TestStalledClient(t *testing.T) {
	t.Parallel()
	dir, _ := filetest.Tree(t, map[string]int{"file": 8 << 20})
	address := filetest.Listen(t, dir, func(c *server.Config) { c.StallTimeout = 3 * filetest.ShortTimeout })
	f := filetest.Speak(t, address)
	ask := filetest.Request(&pb.ReadRequest{Path: "file", Length: 8 << 20})
	if err := errors.Join(f.Open(1, "Read"), f.WriteData(1, true, ask)); err != nil {
		t.Fatal(err)
	}
	good := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	if _, err := good.ReadFile("file"); err != nil {
		t.Error(err)
	}
	for {
		if _, err := f.ReadFrame(); err != nil {
			break // the test hangs if this does not come
		}
	}
}

// TestSilentConnections say nothing at all.
func TestSilentConnections(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	rejected := make(chan error, 100)
	address := filetest.Listen(t, dir, func(c *server.Config) {
		c.HandshakeTimeout = 100 * time.Millisecond
		c.MaxConnections = 2
		c.Observer.Rejected = func(_ net.Addr, err error) { rejected <- err }
	})
	for range 5 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.Copy(io.Discard, conn); err != nil && !isReset(err) { // until the server closes it
			t.Error(err)
		}
	}
}

func isReset(err error) bool {
	_, is := errors.AsType[*net.OpError](err)
	return is
}

func TestTooManyConnections(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 1})
	rejected := make(chan error, 100)
	address := filetest.Listen(t, dir, func(c *server.Config) {
		c.MaxConnections = 4
		c.Observer.Rejected = func(_ net.Addr, err error) { rejected <- err }
	})
	for range 2 {
		client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1})
		if _, err := client.ReadFile("file"); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Stat("file"); err != nil {
			t.Fatal(err)
		}
	}
	// It hears of that before its time has passed.
	third := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Connections: 1, Timeout: time.Hour})
	if _, err := third.ReadFile("file"); !errors.Is(err, fileservice.ErrUnreachable) {
		t.Error(err)
	}
	if err := <-rejected; err == nil {
		t.Error("without a reason")
	}
}

// TestChange changes a file in each way while it is read.
func TestChange(t *testing.T) {
	for what, change := range map[string]func(name string) error{
		"truncated": func(name string) error { return os.Truncate(name, fileservice.BlockSize) },
		"appended": func(name string) error {
			file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.WriteString("x")
			return errors.Join(err, file.Close())
		},
		"replaced": func(name string) error {
			return errors.Join(os.WriteFile(name+"2", make([]byte, 20<<20), 0o644), os.Rename(name+"2", name))
		},
		"set back": func(name string) error {
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			file, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = file.WriteAt([]byte("x"), 19<<20)
			return errors.Join(err, file.Close(), os.Chtimes(name, time.Time{}, info.ModTime()))
		},
		"removed": os.Remove,
	} {
		dir, _ := filetest.Tree(t, map[string]int{"file": 20 << 20})
		client := filetest.Serve(t, dir, nil)
		info, err := client.Stat("file")
		if err != nil {
			t.Fatal(err)
		}
		opened, err := client.Open("file")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := opened.(io.ReaderAt).ReadAt(make([]byte, 100), 0); err != nil {
			t.Error(err)
		}
		if err := change(filepath.Join(dir, "file")); err != nil {
			t.Fatal(err)
		}
		isWanted := func(err error) bool {
			// The server may have the file open still.
			return errors.Is(err, fileservice.ErrChanged) || what == "removed" && errors.Is(err, os.ErrNotExist)
		}
		if _, err := opened.(io.ReaderAt).ReadAt(make([]byte, 100), 0); !isWanted(err) {
			t.Errorf("%s: ReadAt: %v", what, err)
		}
		err = client.ReadBlocks(t.Context(), "file", fileservice.VersionOf(info), 0, 20,
			func(int64, []byte, fileservice.Sum) error { return nil })
		if !isWanted(err) {
			t.Errorf("%s: ReadBlocks: %v", what, err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRenamedDirectory reads a file again and again, whose directory gets another name. Soon the old path is unknown.
func TestRenamedDirectory(t *testing.T) {
	t.Parallel() // it waits
	dir, _ := filetest.Tree(t, map[string]int{"dir/file": 1000})
	version := stat(t, dir, "dir/file")
	data := filetest.RawData(t, filetest.Listen(t, dir, nil))
	get := exchange.Request{Kind: exchange.Get, Target: "dir/file", Version: version, Length: 10}
	if _, err := filetest.Ask(data, get, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "dir"), filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "the file to be gone", func() bool {
		_, err := filetest.Ask(data, get, nil)
		return errors.Is(err, fs.ErrNotExist)
	})
}

// TestFewBuffers has more calls than there are buffers, of messages of all sizes.
func TestFewBuffers(t *testing.T) {
	dir, names := filetest.Tree(t, map[string]int{"1": 1, "1024": 1024, "1025": 1025, "256K": 256 << 10, "2M": 2 << 20})
	client := filetest.Serve(t, dir, func(c *server.Config) { c.MaxBuffers = 2 })
	var reading sync.WaitGroup
	for range 8 {
		reading.Go(func() {
			for i := range 20 {
				if _, err := client.ReadFile(names[i%len(names)]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reading.Wait()
}

// TestBuffersOfBroken breaks connections on which there is more to send, and has the buffers of that again.
func TestBuffersOfBroken(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 16 << 20})
	address := filetest.Listen(t, dir, func(c *server.Config) { c.MaxBuffers = 8 })
	breaks := 40 // much more than there are buffers
	if testkit.RaceDetector() {
		breaks = 12
	}
	for i := range breaks {
		client := filetest.Sever(t, address, int64(1<<20+i*10_000))
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if _, err := client.ReadFile("file"); !errors.Is(err, fileservice.ErrUnreachable) {
					t.Errorf("of a connection that broke: %v", err)
				}
			})
		}
		calls.Wait()
	}
	if _, err := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)}).ReadFile("file"); err != nil {
		t.Error(err)
	}
}
