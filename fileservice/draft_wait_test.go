package fileservice_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/fileservicepb"
)

// TestDraftWaitsForBuffer has a client that holds the only buffer for longer than a server waits for a client. The one
// that waits for the buffer meanwhile is not to blame.
func TestDraftWaitsForBuffer(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	const patience = 9 * time.Second // in which a slow machine moves something
	address := listen(t, dir, func(c *fileservice.ServerConfig) {
		c.Writable, c.MaxBuffers, c.StallTimeout = true, 4, patience // one of 1 MiB
	})
	slow := raw(t, address)
	version := &fileservicepb.Version{Size: fileservice.BlockSize}
	query := &fileservicepb.QueryWriteStatusRequest{Path: "slow", Version: version}
	if _, err := slow.QueryWriteStatus(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := slow.Write(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&fileservicepb.WriteRequest{Path: "slow", Version: version, Data: []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	client := connect(t, fileservice.ClientConfig{Dial: dialer(address), Connections: 1})
	written := make(chan error, 1)
	go func() {
		file, err := client.OpenFile("file", os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			written <- err
			return
		}
		draft := file.(*fileservice.WritableFile)
		_, err = draft.WriteAt([]byte("hello"), 0)
		written <- errors.Join(err, draft.Sync(), publish(draft, "file"))
	}()
	ticker := time.NewTicker(patience / 4)
	defer ticker.Stop()
	for range 12 {
		<-ticker.C
		if stream.Send(&fileservicepb.WriteRequest{Data: []byte("a")}) != nil {
			break // this machine was so slow that the server has given up on it
		}
	}
	cancel()
	if err := <-written; err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "hello" {
		t.Errorf("it has %q, %v", got, err)
	}
}
