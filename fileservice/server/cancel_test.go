package server_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// TestBuffersOfCanceledCalls cancels requests while their answers are on the way. Another client has their buffers.
func TestBuffersOfCanceledCalls(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": exchange.MaxLength})
	address := filetest.Listen(t, dir, func(c *server.Config) { c.MaxBuffers = 1 })
	info := stat(t, dir, "file")
	conn := filetest.DialData(t, address)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		_, _ = io.Copy(io.Discard, conn) // until it is closed
	}()
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		<-taken
	}()
	const calls, together = 10_000, 8
	for first := uint32(1); first < calls; first += together {
		var messages []byte
		for id := first; id < first+together; id++ {
			messages = append(messages, getMessage(id, info, exchange.MaxInline+1).Bytes()...)
		}
		for id := first; id < first+together; id++ {
			messages = append(messages, (&filetest.DataMessage{ID: id, Kind: filetest.Cancel}).Bytes()...)
		}
		if _, err := conn.Write(messages); err != nil {
			t.Fatal(err)
		}
	}
	get := exchange.Request{Kind: exchange.Get, Target: "file", Version: info, Length: 100}
	call, err := filetest.Ask(filetest.RawData(t, address), get, nil)
	if err != nil || call.N != 100 {
		t.Errorf("%d bytes, %v", call.N, err)
	}
}

// TestCanceledCall cancels a request that has to wait for another one: it fails, and has no data.
func TestCanceledCall(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": exchange.MaxLength})
	canceled := make(chan error, 100)
	address := filetest.Listen(t, dir, func(c *server.Config) {
		c.Observer.Called = func(call server.Call) {
			if call.Err != nil {
				canceled <- call.Err
			}
		}
	})
	conn := filetest.DialData(t, address)
	// So many answers do not fit into the queues of the connection.
	const calls = 60
	version := stat(t, dir, "file")
	var messages []byte
	for id := uint32(1); id <= calls; id++ {
		messages = append(messages, getMessage(id, version, exchange.MaxLength).Bytes()...)
	}
	messages = append(messages, (&filetest.DataMessage{ID: calls, Kind: filetest.Cancel}).Bytes()...)
	if _, err := conn.Write(append(messages, getMessage(calls+1, version, 1).Bytes()...)); err != nil {
		t.Fatal(err)
	}
	received := map[uint32]int{}
	for ended := 0; ended <= calls; {
		answer, err := filetest.ReadMessage(conn)
		if err != nil {
			t.Fatal(err)
		}
		received[answer.ID] += len(answer.Data)
		if answer.Kind == filetest.End || answer.Kind == filetest.Failed {
			ended++
			if isLast := answer.ID == calls; isLast != (answer.Kind == filetest.Failed) {
				t.Errorf("request %d has ended with %d", answer.ID, answer.Kind)
			}
		}
	}
	if err := <-canceled; !errors.Is(err, context.Canceled) || received[calls] > 0 {
		t.Errorf("the one that was canceled: %v, %d bytes", err, received[calls])
	}
}
