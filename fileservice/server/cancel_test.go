package server_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"golang.org/x/net/http2"

	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// TestBuffersOfCanceledCalls gives calls up while what they give is on its way. Another client has their buffers.
func TestBuffersOfCanceledCalls(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 60 << 10})
	address := filetest.Listen(t, dir, func(c *server.Config) { c.MaxBuffers = 1 })
	f := filetest.Speak(t, address)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		_, _ = io.Copy(io.Discard, f.Conn) // until it is closed
	}()
	defer func() {
		if err := f.Conn.Close(); err != nil {
			t.Error(err)
		}
		<-taken
	}()
	ask := filetest.Request(&pb.OpenRequest{Path: "file", Content: 64 << 10})
	open := http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}
	if err := errors.Join(f.WriteWindowUpdate(0, 1<<30), f.WriteSettings(open)); err != nil {
		t.Fatal(err)
	}
	const calls, together = 100_000, 8
	for first := uint32(1); first < 2*calls; first += 2 * together {
		for call := first; call < first+2*together; call += 2 {
			if err := errors.Join(f.Open(call, "Open"), f.WriteData(call, true, ask)); err != nil {
				t.Fatal(err)
			}
		}
		for call := first; call < first+2*together; call += 2 {
			if err := f.WriteRSTStream(call, http2.ErrCodeCancel); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request := &pb.OpenRequest{Path: "file", Content: 64 << 10}
	if _, err := filetest.Raw(t, address).Open(ctx, request); err != nil {
		t.Error(err)
	}
}
