package client_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
)

// putAll makes one put of each kind.
func putAll(t *testing.T, remote *client.Client) map[string]error {
	t.Helper()
	content := strings.Repeat("x", 100)
	version := fileservice.Version{Size: int64(len(content))}
	errs := map[string]error{}
	errs["block"] = remote.WriteBlocks(t.Context(), "file", version, 0, 1, strings.NewReader(content),
		func(int64, []byte, fileservice.Sum) {})
	_, errs["files"] = remote.WriteFiles(t.Context(), ".", []fileservice.SmallFile{{Name: "file", Version: version}},
		false, func(_ int, p []byte) error { copy(p, content); return nil })
	file, err := remote.OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	draft := file.(*client.WritableFile)
	_, err = draft.WriteAt([]byte(content), 0)
	errs["draft"] = errors.Join(err, draft.Flush())
	if err := draft.Close(); !errors.Is(err, client.ErrDiscarded) {
		t.Error(err)
	}
	return errs
}

// TestPutsThatMeetTheEnd has each put meet the end of its connection. It is repeated if the server says that it has not
// executed it, and a block in any case.
func TestPutsThatMeetTheEnd(t *testing.T) {
	type message = filetest.DataMessage
	for _, bye := range []bool{true, false} {
		var asked atomic.Int64
		l := honestDraft()
		l.OnData = func(r *message, send func(...*message) error) error {
			switch {
			case asked.Add(1)%2 == 1 && bye:
				return errors.Join(send(&message{Kind: filetest.Bye}), filetest.ErrCut)
			case !bye:
				return filetest.ErrCut
			case r.Kind == byte(exchange.PutFiles):
				results := &fileservicepb.SmallFileResults{Files: []*fileservicepb.SmallFileResult{{}}}
				return send(r.End(encode(results), nil))
			case len(r.Data) != 100:
				t.Errorf("%d bytes the second time", len(r.Data))
			}
			return send(r.End(nil, nil))
		}
		for what, err := range putAll(t, filetest.Lie(t, l)) {
			if bye && err != nil || !bye && !errors.Is(err, fileservice.ErrUnreachable) {
				t.Errorf("%s, said: %v: %v", what, bye, err)
			}
		}
		if n := asked.Load(); bye && n != 6 || !bye && n != 5 {
			t.Errorf("%d puts", n)
		}
	}
}

// TestOverlappingPutsThatMeetTheEnd has two writes of the same bytes meet the end of a connection. They use the same
// one, and the second is not repeated, because the first could undo it.
func TestOverlappingPutsThatMeetTheEnd(t *testing.T) {
	type message = filetest.DataMessage
	var asked atomic.Int64
	l := honestDraft()
	l.OnData = func(r *message, send func(...*message) error) error {
		switch asked.Add(1) {
		case 1:
			return nil // it is not answered
		case 2:
			return errors.Join(send(&message{Kind: filetest.Bye}), filetest.ErrCut)
		}
		if string(r.Data) != "first" {
			t.Errorf("%q is repeated", r.Data)
		}
		return send(r.End(nil, nil))
	}
	file, err := filetest.Lie(t, l).OpenFile("file", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	draft := file.(*client.WritableFile)
	for _, text := range []string{"first", "again"} {
		if _, err := draft.WriteAt([]byte(text), 0); err != nil {
			t.Error(err)
		}
	}
	if err := draft.Flush(); !errors.Is(err, fileservice.ErrUnreachable) {
		t.Error(err)
	}
	if err := draft.Close(); !errors.Is(err, client.ErrDiscarded) {
		t.Error(err)
	}
}

// TestCloseWaitsForDial closes a client while it connects.
func TestCloseWaitsForDial(t *testing.T) {
	begun := make(chan struct{})
	var ended atomic.Bool
	remote, err := client.New(client.Config{Dial: func(ctx context.Context) (net.Conn, error) {
		close(begun)
		<-ctx.Done()
		ended.Store(true)
		return nil, ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		failed <- remote.ReadRange(t.Context(), "file", fileservice.Version{Size: 1}, make([]byte, 1), 0)
	}()
	<-begun
	if err := remote.Close(); err != nil || !ended.Load() {
		t.Errorf("Dial has returned: %v, %v", ended.Load(), err)
	}
	if err := <-failed; !errors.Is(err, client.ErrClosed) {
		t.Error(err)
	}
}
