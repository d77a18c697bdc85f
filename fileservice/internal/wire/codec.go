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

// MessageSize is how many bytes of a file go into one message. More saves calls and costs memory at both ends; this is
// where the gain ended when it was measured.
const MessageSize = 256 << 10

// MaxMessage is the longest message that either end takes: one of data with its fields, or a page of a listing.
const MaxMessage = MessageSize + 128<<10

// maxFields bounds the fields of a message of data beside the data: 64 small files have names of 255 bytes.
const maxFields = 32 << 10

// maxPiece is how many bytes a read may have to share a message, and maxPieces how many share one at most.
const (
	MaxPiece  = 64 << 10
	MaxPieces = 64
)

// MaxContent is how long a file may be whose content comes when it is opened.
const MaxContent = 64 << 10

// DraftIDSize is how long the name of a draft is.
const DraftIDSize = 16

// The fields of messages with data that are not left to package proto. They have these numbers in all of them.
const (
	dataField protowire.Number = 1
	hashField protowire.Number = 2
)

// Outgoing is a message with data to be sent, such as a ReadResponse. The data goes to the connection from where it is.
type Outgoing struct {
	Data   mem.Buffer // owned by the message; nil if there is none
	Hash   *fileservice.Sum
	Fields proto.Message // what else the message has, or nil
}

// Incoming is a message with data to be received, such as a WriteRequest. The data goes from the frames it came in to
// where it is wanted.
type Incoming struct {
	Into   []byte                      // where the data goes; more is refused
	Room   func(n int) ([]byte, error) // gives into for the data that has come; nil if into is there
	Hold   bool                        // leaves the data in frames, which the receiver frees
	Frames mem.BufferSlice             // that the message came in, if it is held
	N      int                         // so much came
	Hash   fileservice.Sum
	Hashed bool
	Fields proto.Message // takes what else the message has, also for room if it came before; nil leaves it out
}

// codec is the codec of Protocol Buffers, with a way of its own for the messages that carry data. What travels is
// the same.
type codec struct{ encoding.CodecV2 }

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

var errMessage = errors.New("fileservice: a message that cannot be read")

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
				return fmt.Errorf("%w: %d bytes of data where %d were asked for", errMessage, n, len(m.Into))
			}
			m.N = int(n)
			rest.copyTo(m.Into[:n])
		case number == hashField && kind == protowire.BytesType:
			if rest.varint() != uint64(len(m.Hash)) {
				return fmt.Errorf("%w: a hash of a wrong length", errMessage)
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

// scanner reads a message that lies in several buffers. After a fault bad is set, and what it gives means nothing.
type scanner struct {
	buffers mem.BufferSlice
	current []byte
	left    int // in all
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

// skip passes over n bytes, and returns how many there were.
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

// appendValue moves the value of another field behind its tag.
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
