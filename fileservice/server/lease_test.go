package server_test

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/internal/wire"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestLeaseByControlConnection closes the connection on which a client has sent a block, while it has a draft, and
// sends other calls for longer than either is kept unused. Both go on over another connection.
func TestLeaseByControlConnection(t *testing.T) { synctest.Test(t, leaseByControlConnection) }

func leaseByControlConnection(t *testing.T) {
	var ended atomic.Int64
	address := filetest.ListenOn(t, filetest.ListenInMemory(t), t.TempDir(), func(c *server.Config) {
		c.Writable = true
		c.Observer.Disconnected = func(net.Addr) { ended.Add(1) }
	})
	control := filetest.Raw(t, address)
	s := newSource(2 * fileservice.BlockSize)
	query := &pb.QueryWriteStatusRequest{Path: "file", Version: wire.VersionMessage(s.version)}
	if _, err := control.QueryWriteStatus(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	draft, err := control.OpenDraft(t.Context(), &pb.OpenDraftRequest{Path: "draft", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	write := exchange.Request{Kind: exchange.PutDraft, Target: string(draft.GetDraft())}
	first := beginPut(t, address, s, 0)
	if answer := first.rest(t); answer.Kind != filetest.End {
		t.Fatalf("the first block: %v", answer)
	}
	if err := first.conn.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "the connection to end", func() bool { return ended.Load() > 0 })
	ticker := time.NewTicker(server.DefaultStallTimeout / 20)
	defer ticker.Stop()
	for range 50 {
		<-ticker.C
		if _, err := control.Stat(t.Context(), &pb.StatRequest{Path: "."}); err != nil {
			t.Fatal(err)
		}
	}
	data := filetest.RawData(t, address)
	if err := put(data, "file", s.version, fileservice.BlockSize, s.block(1), s.sum(1)); err != nil {
		t.Errorf("the upload: %v", err)
	}
	if _, err := filetest.Ask(data, write, []byte("hello")); err != nil {
		t.Errorf("the draft: %v", err)
	}
}
