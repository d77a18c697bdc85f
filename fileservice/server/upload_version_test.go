package server_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"

	"culvert/fileservice"
	"culvert/fileservice/client"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// beginWrite begins to send a file in a call that goes on: the first block has come, and a byte of the second.
func beginWrite(t *testing.T, dir, address string, s source) writeStream {
	t.Helper()
	return beginWriteOn(t, dir, address, filetest.Raw(t, address), s)
}

// beginWriteOn is beginWrite on a connection.
func beginWriteOn(t *testing.T, dir, address string, service pb.FileServiceClient, s source) writeStream {
	t.Helper()
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	if _, err := client.QueryWrite(t.Context(), "file", s.version, false); err != nil {
		t.Fatal(err)
	}
	stream, err := service.Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	message := &pb.WriteRequest{Path: "file", Version: &pb.Version{
		Size: s.version.Size, ModifiedUnixNano: s.version.ModifiedUnixNano, Tag: s.version.Tag,
	}}
	for i := range 4 {
		message.Data = s.block(0)[i<<18:][:1<<18]
		if i == 3 {
			message.Hash = s.hash(0)
		}
		if err := stream.Send(message); err != nil {
			t.Fatal(err)
		}
		message = &pb.WriteRequest{}
	}
	if err := stream.Send(&pb.WriteRequest{Data: s.block(1)[:1]}); err != nil {
		t.Fatal(err)
	}
	testkit.WaitFor(t, "the block is written", func() bool {
		got, err := os.ReadFile(filepath.Join(dir, "file.culvert.part"))
		return err == nil && bytes.HasPrefix(got, s.block(0))
	})
	return stream
}

type writeStream = grpc.ClientStreamingClient[pb.WriteRequest, pb.WriteResponse]

// sendRest sends the rest of a block, with its hash.
func sendRest(t *testing.T, stream writeStream, rest, hash []byte) {
	t.Helper()
	for len(rest) > 0 {
		message := &pb.WriteRequest{Data: rest[:min(len(rest), 1<<18)]}
		if rest = rest[len(message.Data):]; len(rest) == 0 {
			message.Hash = hash
		}
		if err := stream.Send(message); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUploadInPlaceOfALostOne sends a new version of a file while the server still waits for the rest of the old one,
// from a client that it takes to be there.
func TestUploadInPlaceOfALostOne(t *testing.T) {
	dir := t.TempDir()
	address := filetest.Listen(t, dir, filetest.Writable)
	old := newSource(2 * fileservice.BlockSize)
	lost := beginWrite(t, dir, address, old)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	s := newSource(3*fileservice.BlockSize + 1)
	committed, err := client.QueryWrite(t.Context(), "file", s.version, false)
	if err != nil || len(committed) != 0 {
		t.Fatalf("%v, %v", committed, err)
	}
	// The old client was not gone for good.
	sendRest(t, lost, old.block(1)[1:], old.hash(1))
	if _, err := lost.CloseAndRecv(); err == nil {
		t.Error("the old version was taken")
	}
	if err := s.send(t.Context(), client, "file", 0, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := client.FinishWrite(t.Context(), "file", s.version, s.root(), 0o600, false); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestUploadBesideAnActiveOne sends a new version of a file while somebody else sends the old one: who came first goes
// on.
func TestUploadBesideAnActiveOne(t *testing.T) {
	dir := t.TempDir()
	address := filetest.Listen(t, dir, filetest.Writable)
	old := newSource(2 * fileservice.BlockSize)
	active := beginWrite(t, dir, address, old)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	s := newSource(5)
	asked := make(chan error, 1)
	go func() {
		_, err := client.QueryWrite(t.Context(), "file", s.version, false)
		asked <- err
	}()
	rest := old.block(1)[1:]
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	var err error
	for answered := false; !answered; {
		select {
		case err = <-asked:
			answered = true
		case <-ticker.C:
			if err := active.Send(&pb.WriteRequest{Data: rest[:1]}); err != nil {
				t.Fatal(err)
			}
			rest = rest[1:]
		}
	}
	if !errors.Is(err, fileservice.ErrRefused) {
		t.Error(err)
	}
	sendRest(t, active, rest, old.hash(1))
	if response, err := active.CloseAndRecv(); err != nil || response.GetBlocks() != 2 {
		t.Errorf("%v, %v", response, err)
	}
}

// TestShutdownUpload lets a server drain that is being sent a file: the call comes to its end, and what has come is
// there for the next server.
func TestShutdownUpload(t *testing.T) {
	dir := t.TempDir()
	root := filetest.OpenRoot(t, dir)
	listener := filetest.ListenLocally(t)
	server, served := filetest.StartServer(t, listener, server.Config{Root: root, Writable: true})
	down := make(chan error, 1)
	s := newSource(2 * fileservice.BlockSize)
	stream := beginWrite(t, dir, listener.Addr().String(), s)
	go func() { down <- server.Shutdown(t.Context()) }()
	testkit.WaitFor(t, "the server drains", func() bool {
		conn, err := net.Dial("tcp", listener.Addr().String())
		return err != nil || conn.Close() != nil
	})
	sendRest(t, stream, s.block(1)[1:], s.hash(1))
	if response, err := stream.CloseAndRecv(); err != nil || response.GetBlocks() != 2 {
		t.Errorf("a call under way: %v, %v", response, err)
	}
	if err := errors.Join(<-down, <-served); err != nil {
		t.Error(err)
	}
	committed, err := filetest.Serve(t, dir, filetest.Writable).QueryWrite(t.Context(), "file", s.version, false)
	if err != nil || !slices.Equal(committed, []fileservice.BlockRange{{First: 0, Count: 2}}) {
		t.Errorf("the next server has %v, %v", committed, err)
	}
}
