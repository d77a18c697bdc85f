package secureconn_test

import (
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"culvert/internal/testkit"
	"culvert/secureconn"
)

// TestAllocs counts the allocations of both ends for records of several sizes.
func TestAllocs(t *testing.T) {
	for _, size := range []int{100, 16 << 10, 64 << 10, 1 << 20} {
		client, server := secure(t, tcpPair)
		out, in := make([]byte, size), make([]byte, size)
		testkit.Allocs(t, 0, func() {
			if _, err := client.Write(out); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(server, in); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestIdleMemory compares the memory of connections that have been busy, and that somebody waits to read from, with a
// bound for each.
func TestIdleMemory(t *testing.T) {
	const count = 100
	content := noise(1 << 20)
	networks := make([]*pending, 0, 2*count)
	connect := func(tb testing.TB) (client, server net.Conn) {
		a, b := tcpPair(tb)
		networks = append(networks, &pending{Conn: a}, &pending{Conn: b})
		return networks[len(networks)-2], networks[len(networks)-1]
	}
	conns := make([]*secureconn.Conn, 0, 2*count)
	var background sync.WaitGroup
	before := liveMemory()
	for range count {
		client, server := secure(t, connect)
		done := make(chan error, 1)
		go func() {
			_, err := client.Write(content)
			done <- err
		}()
		if _, err := io.ReadFull(server, make([]byte, len(content))); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		conns = append(conns, client, server)
		for _, c := range []*secureconn.Conn{client, server} {
			background.Go(func() { _, _ = c.Read(make([]byte, 1)) })
		}
	}
	for _, network := range networks {
		for network.reads.Load() == 0 {
			runtime.Gosched()
		}
	}
	each := (int64(liveMemory()) - int64(before)) / int64(len(conns))
	t.Logf("%d bytes for each connection", each)
	if each > 64<<10 && !raceEnabled {
		t.Errorf("an idle connection has %d bytes", each)
	}
	for _, c := range conns {
		_ = c.NetConn().Close()
	}
	background.Wait()
}

func liveMemory() uint64 {
	var m runtime.MemStats
	for range 3 { // free lists are given up after two
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// TestReaderThatStops has a peer send for ever to somebody who stops reading.
func TestReaderThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, other := withSecond(t, true)
		record := noise(secureconn.MaxPlaintext)
		var sent atomic.Int64
		var background sync.WaitGroup
		background.Go(func() {
			for {
				if _, err := other.conn.Write(other.send.seal(1, record)); err != nil {
					return
				}
				sent.Add(1)
			}
		})
		for range 2 { // the second one finds the helper at work
			if _, err := io.ReadFull(conn, make([]byte, len(record)+1)); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		// Two records and two bytes were read, so the third one is held.
		if held := sent.Load() - 2; held > secureconn.ReceiveBuffers {
			t.Errorf("%d records were taken without being read", held)
		}
		conn.Close()
		other.conn.Close()
		background.Wait()
	})
}

// TestBusyMemory has peers who send the longest records that there may be, and take nothing, while the caller writes
// and does not read. No connection holds more than the package comment says.
func TestBusyMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 4
		content := noise(16 << 20)
		var conns [count]*secureconn.Conn
		var others [count]*second
		var streams [count][]byte
		for i := range conns {
			conns[i], others[i] = withSecond(t, i%2 == 0)
			for range secureconn.ReceiveBuffers + 4 {
				streams[i] = append(streams[i], others[i].send.seal(1, content[:secureconn.MaxPlaintext])...)
			}
		}
		before := liveMemory()
		var background sync.WaitGroup
		for i, conn := range conns {
			background.Go(func() { _, _ = others[i].conn.Write(streams[i]) })
			background.Go(func() { _, _ = conn.Write(content) })
			p := make([]byte, secureconn.MaxPlaintext+1)
			for range 2 { // the second one finds the helper at work
				if _, err := io.ReadFull(conn, p); err != nil {
					t.Error(err)
				}
			}
		}
		synctest.Wait()
		each := (int64(liveMemory()) - int64(before)) / count
		t.Logf("%d bytes for each connection", each)
		if most := int64((4 + 6) * 640 << 10); each > most && !raceEnabled {
			t.Errorf("a busy connection has %d bytes, and the formula gives %d", each, most)
		}
		for i, conn := range conns {
			others[i].conn.Close()
			conn.Close()
		}
		background.Wait()
	})
}
