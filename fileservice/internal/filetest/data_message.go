package filetest

import (
	"encoding/binary"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
)

// The kinds of requests of package exchange that no constant names, and those of answers.
const (
	Hello  = 1
	Cancel = 2

	More   = 1
	End    = 2
	Failed = 3
	Alive  = 4
	Bye    = 5
)

// The flags of requests.
const (
	FlagAny = 1
	FlagSum = 2
)

// DataMessage is a message of package exchange. It keeps no rules of the protocol by itself. Its coding is not that of
// package exchange, so that tests compare the two.
type DataMessage struct {
	ID          uint32
	Kind, Flags byte
	Length      uint32
	Head, Data  []byte
}

// Header is the size of the fixed part of a message.
const Header = 16

// Bytes encodes a message.
func (m *DataMessage) Bytes() []byte {
	b := make([]byte, Header, Header+len(m.Head)+len(m.Data))
	binary.BigEndian.PutUint32(b, m.ID)
	b[4], b[5] = m.Kind, m.Flags
	binary.BigEndian.PutUint16(b[6:], uint16(len(m.Head)))
	binary.BigEndian.PutUint32(b[8:], uint32(len(m.Data)))
	binary.BigEndian.PutUint32(b[12:], m.Length)
	return append(append(b, m.Head...), m.Data...)
}

// ReadMessage receives a message.
func ReadMessage(r io.Reader) (*DataMessage, error) {
	var b [Header]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, err
	}
	m := &DataMessage{
		ID: binary.BigEndian.Uint32(b[:]), Kind: b[4], Flags: b[5], Length: binary.BigEndian.Uint32(b[12:]),
		Head: make([]byte, binary.BigEndian.Uint16(b[6:])), Data: make([]byte, binary.BigEndian.Uint32(b[8:])),
	}
	if _, err := io.ReadFull(r, m.Head); err != nil {
		return nil, err
	}
	_, err := io.ReadFull(r, m.Data)
	return m, err
}

// RequestHead encodes the head of a request.
func RequestHead(offset int64, version fileservice.Version, sum fileservice.Sum, target string) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(offset))
	b = binary.BigEndian.AppendUint64(b, uint64(version.Size))
	b = binary.BigEndian.AppendUint64(b, uint64(version.ModifiedUnixNano))
	b = binary.BigEndian.AppendUint64(b, version.Tag)
	return append(append(b, sum[:]...), target...)
}

// Offset returns the offset in the head of a request.
func (m *DataMessage) Offset() int64 { return int64(binary.BigEndian.Uint64(m.Head)) }

// Target returns the target in the head of a request.
func (m *DataMessage) Target() string { return string(m.Head[32+fileservice.SumSize:]) }

// More answers a request with data, and more is to come.
func (m *DataMessage) More(data []byte) *DataMessage {
	return &DataMessage{ID: m.ID, Kind: More, Data: data}
}

// End answers a request.
func (m *DataMessage) End(head, data []byte) *DataMessage {
	return &DataMessage{ID: m.ID, Kind: End, Head: head, Data: data}
}

// Fail answers a request with an error.
func (m *DataMessage) Fail(code codes.Code, message string) *DataMessage {
	head, err := proto.Marshal(status.New(code, message).Proto())
	Must(err)
	return &DataMessage{ID: m.ID, Kind: Failed, Head: head}
}
