package filetest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
)

// frames is an HTTP/2 client that sends single frames. It keeps no rules of the protocol by itself.
type frames struct {
	*http2.Framer
	Conn net.Conn
}

// Speak connects to a server and begins HTTP/2.
func Speak(t testing.TB, address string) *frames {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	f := &frames{http2.NewFramer(conn, conn), conn}
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = f.WriteSettings()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Open begins a call, without a request.
func (f *frames) Open(stream uint32, method string) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/culvert.fileservice.v1.FileService/" + method},
		{":authority", "x"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			return err
		}
	}
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
}

// Request encodes a message with its length, as gRPC does.
func Request(message proto.Message) []byte {
	body, _ := proto.Marshal(message)
	head := make([]byte, 5, 5+len(body))
	binary.BigEndian.PutUint32(head[1:], uint32(len(body)))
	return append(head, body...)
}
