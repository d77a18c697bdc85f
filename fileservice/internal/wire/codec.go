// Package wire encodes the messages of the protocol, and converts between them and the types of package fileservice.
package wire

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
)

// MessageSize is the number of bytes of a file in one message. Measurements with larger messages showed no gain.
const MessageSize = 256 << 10

// MaxMessage is the size of the largest message that either end accepts: data with its fields, or a page of a listing.
const MaxMessage = MessageSize + 128<<10

// maxFields bounds the fields other than the data in a message with data: 64 small files have names of 255 bytes.
const maxFields = 32 << 10

// Sizes and counts that the protocol limits.
const (
	MaxPiece    = 64 << 10 // bytes of a range in ReadPieces
	MaxPieces   = 64       // ranges in one request of ReadPieces
	MaxContent  = 64 << 10 // bytes of a file that Open returns with its content
	DraftIDSize = 16       // bytes of a draft's ID
)

// Fields that the codec handles itself. They have the same numbers in all messages with data.
const (
	dataField protowire.Number = 1
	hashField protowire.Number = 2
)

// Outgoing is a message with data to send, such as a ReadResponse. The data is not copied before it is sent.
type Outgoing struct {
	Data   mem.Buffer // owned by the message; nil if there is none
	Hash   *fileservice.Sum
	Fields proto.Message // the other fields, or nil
}

// Incoming is a message with data to receive, such as a WriteRequest. The data is copied once, from its frames to Into.
type Incoming struct {
	Into   []byte                      // receives the data; longer data is an error
	Room   func(n int) ([]byte, error) // returns Into for n bytes of data, unless nil
	Hold   bool                        // leave the data in Frames, which the receiver frees
	Frames mem.BufferSlice             // the frames of the message, if Hold is set
	N      int                         // bytes of data received
	Hash   fileservice.Sum
	Hashed bool          // Hash is set
	Fields proto.Message // receives the other fields, unless nil; those before the data are set when Room is called
}

// codec is the codec of Protocol Buffers, except that it encodes and decodes [Outgoing] and [Incoming] itself. The
// encoding is the same.
type codec struct{ encoding.CodecV2 }

// NewCodec returns the codec of the file service.
func NewCodec() codec { return codec{encoding.GetCodecV2(protocodec.Name)} }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if message, is := v.(*Outgoing); is {
		return message.marshal()
	}
	return c.CodecV2.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if message, is := v.(*Incoming); is {
		err := message.Unmarshal(data)
		if err == nil && message.Hold {
			data.Ref()
			message.Frames = slices.Clone(data)
		}
		return err
	}
	return c.CodecV2.Unmarshal(data, v)
}

func (m *Outgoing) marshal() (mem.BufferSlice, error) {
	head := make([]byte, 0, 64)
	if m.Fields != nil {
		var err error
		if head, err = (proto.MarshalOptions{}).MarshalAppend(head, m.Fields); err != nil {
			return nil, err
		}
	}
	if m.Hash != nil {
		head = protowire.AppendTag(head, hashField, protowire.BytesType)
		head = protowire.AppendBytes(head, m.Hash[:])
	}
	if m.Data == nil {
		return mem.BufferSlice{mem.SliceBuffer(head)}, nil
	}
	head = protowire.AppendTag(head, dataField, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(m.Data.Len()))
	return mem.BufferSlice{mem.SliceBuffer(head), m.Data}, nil
}

var errMessage = errors.New("fileservice: malformed message")

// Unmarshal decodes a message.
func (m *Incoming) Unmarshal(data mem.BufferSlice) error {
	m.N, m.Hashed = 0, false
	rest := scanner{buffers: data, left: data.Len()}
	var fields []byte
	for rest.left > 0 {
		tag := rest.varint()
		number, kind := protowire.DecodeTag(tag)
		switch {
		case rest.bad || number < 1:
			return errMessage
		case number == dataField && kind == protowire.BytesType:
			n := rest.varint()
			if m.Hold {
				m.N = rest.skip(n)
				break
			}
			if m.Room != nil && n <= uint64(rest.left) {
				err := m.setFields(fields)
				if err == nil {
					m.Into, err = m.Room(int(n))
				}
				if err != nil {
					return err
				}
			}
			if n > uint64(len(m.Into)) {
				return fmt.Errorf("%w: %d bytes of data, want at most %d", errMessage, n, len(m.Into))
			}
			m.N = int(n)
			rest.copyTo(m.Into[:n])
		case number == hashField && kind == protowire.BytesType:
			if rest.varint() != uint64(len(m.Hash)) {
				return fmt.Errorf("%w: wrong length of a hash", errMessage)
			}
			rest.copyTo(m.Hash[:])
			m.Hashed = true
		default:
			fields = protowire.AppendVarint(fields, tag)
			fields = rest.appendValue(fields, kind)
		}
		if rest.bad || len(fields) > maxFields {
			return errMessage
		}
	}
	return m.setFields(fields)
}

func (m *Incoming) setFields(fields []byte) error {
	if m.Fields == nil {
		return nil
	}
	return proto.Unmarshal(fields, m.Fields)
}

// scanner reads a message that lies in several buffers. After a fault bad is set, and results are meaningless.
type scanner struct {
	buffers mem.BufferSlice
	current []byte
	left    int // bytes in current and buffers
	bad     bool
}

func (s *scanner) readByte() byte {
	for len(s.current) == 0 {
		if len(s.buffers) == 0 {
			s.bad = true
			return 0
		}
		s.current, s.buffers = s.buffers[0].ReadOnlyData(), s.buffers[1:]
	}
	b := s.current[0]
	s.current = s.current[1:]
	s.left--
	return b
}

func (s *scanner) varint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b := s.readByte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			s.bad = s.bad || shift == 63 && b > 1
			return v
		}
	}
	s.bad = true
	return 0
}

func (s *scanner) copyTo(p []byte) {
	if len(p) > s.left {
		s.bad = true
		return
	}
	s.left -= len(p)
	for len(p) > 0 {
		if len(s.current) == 0 {
			s.current, s.buffers = s.buffers[0].ReadOnlyData(), s.buffers[1:]
		}
		n := copy(p, s.current)
		p, s.current = p[n:], s.current[n:]
	}
}

// skip skips n bytes and returns n, or 0 if there are fewer.
func (s *scanner) skip(n uint64) int {
	if n > uint64(s.left) {
		s.bad = true
		return 0
	}
	s.left -= int(n)
	for left := int(n); left > 0; {
		if len(s.current) == 0 {
			s.current, s.buffers = s.buffers[0].ReadOnlyData(), s.buffers[1:]
		}
		passed := min(left, len(s.current))
		s.current = s.current[passed:]
		left -= passed
	}
	return int(n)
}

// appendValue copies the value of another field after its tag.
func (s *scanner) appendValue(fields []byte, kind protowire.Type) []byte {
	n := uint64(0)
	switch kind {
	case protowire.VarintType:
		return protowire.AppendVarint(fields, s.varint())
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		n = s.varint()
		fields = protowire.AppendVarint(fields, n)
	default:
		s.bad = true
	}
	if s.bad || n > maxFields || n > uint64(s.left) {
		s.bad = true
		return fields
	}
	start := len(fields)
	fields = append(fields, make([]byte, n)...)
	s.copyTo(fields[start:])
	return fields
}
