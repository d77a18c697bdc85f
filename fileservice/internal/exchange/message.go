package exchange

import (
	"encoding/binary"
	"fmt"
	"math"

	"culvert/fileservice"
)

// Preface is what the client sends first on a connection. The first line of HTTP/2's has the same length.
const Preface = "culvert-data/1\r\n"

// Sizes in bytes.
const (
	MaxLength = 1 << 20   // of a get, and of the data of a put
	MaxPart   = 256 << 10 // of the data in one answer
	MaxInline = 64 << 10  // of a get that is answered at once
)

const (
	headerSize  = 16
	requestHead = 32 + fileservice.SumSize // the fixed part of a request's head
	maxPath     = 8 << 10                  // longer than any valid path, so that the handler says why
	maxTarget   = 40 << 10                 // of SmallFiles
	maxHead     = requestHead + maxTarget
)

// Kind is what a request does.
type Kind uint8

// The kinds of requests.
const (
	hello Kind = iota + 1
	cancel
	Get
	GetDraft
	PutBlock
	PutDraft
	PutFiles
)

// IsPut reports whether the request carries data.
func (k Kind) IsPut() bool { return k >= PutBlock && k <= PutFiles }

// String returns the name of the kind, as observers see it.
func (k Kind) String() string {
	if k < Get || k > PutFiles {
		return "unknown"
	}
	return [...]string{"Get", "GetDraft", "PutBlock", "PutDraft", "PutFiles"}[k-Get]
}

// The kinds of answers.
const (
	more Kind = iota + 1
	end
	failed
	alive
	bye
)

// The flags of requests.
const (
	flagAny = 1 << iota
	flagSum
)

// flagListening is the flag of ALIVE.
const flagListening = 1

// A Request asks a server for a range of a file, or sends it data.
type Request struct {
	Kind    Kind
	Target  string // a path, the ID of a draft, or SmallFiles
	Version fileservice.Version
	Any     bool // every version is accepted, and the answer has the entry
	Summed  bool // the answer has the sum of the data, after what is before it in its block
	Offset  int64
	Length  int             // of a get; at most MaxLength
	Sum     fileservice.Sum // of the data of a put, after what is before it in its block
}

// inBlock returns where the range begins in its block.
func (r *Request) inBlock() int64 { return r.Offset % fileservice.BlockSize }

// header is the fixed part of a message.
type header struct {
	id           uint32
	kind         Kind
	flags        byte
	head         int
	data, length int
}

func (h *header) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.id)
	b = append(b, byte(h.kind), h.flags)
	b = binary.BigEndian.AppendUint16(b, uint16(h.head))
	b = binary.BigEndian.AppendUint32(b, uint32(h.data))
	return binary.BigEndian.AppendUint32(b, uint32(h.length))
}

func (h *header) parse(b []byte) {
	*h = header{
		id: binary.BigEndian.Uint32(b), kind: Kind(b[4]), flags: b[5], head: int(binary.BigEndian.Uint16(b[6:])),
		data: intOf(b[8:]), length: intOf(b[12:]),
	}
}

// intOf decodes a number. One that is too large for any field becomes math.MaxInt32.
func intOf(b []byte) int { return int(min(binary.BigEndian.Uint32(b), math.MaxInt32)) }

// ErrMessage is the error of a connection whose other end does not follow the protocol.
var ErrMessage = fmt.Errorf("%w: malformed message", fileservice.ErrIntegrity)

// append appends the message of a request, without its data.
func (r *Request) append(b []byte, id uint32, data int) []byte {
	h := header{id: id, kind: r.Kind, head: requestHead + len(r.Target), data: data, length: r.Length}
	if r.Any {
		h.flags |= flagAny
	}
	if r.Summed {
		h.flags |= flagSum
	}
	b = h.append(b)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Offset))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Version.Size))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Version.ModifiedUnixNano))
	b = binary.BigEndian.AppendUint64(b, r.Version.Tag)
	b = append(b, r.Sum[:]...)
	return append(b, r.Target...)
}

// parse decodes a request. The head has the length that h says, and is not retained.
func (r *Request) parse(h *header, head []byte) {
	*r = Request{
		Kind: h.kind, Any: h.flags&flagAny != 0, Summed: h.flags&flagSum != 0, Length: h.length,
		Offset: int64(binary.BigEndian.Uint64(head)),
		Version: fileservice.Version{
			Size:             int64(binary.BigEndian.Uint64(head[8:])),
			ModifiedUnixNano: int64(binary.BigEndian.Uint64(head[16:])),
			Tag:              binary.BigEndian.Uint64(head[24:]),
		},
		Sum:    fileservice.Sum(head[32:requestHead]),
		Target: string(head[requestHead:]),
	}
}

// checkRequest fails if a request is not valid.
func (h *header) checkRequest() error {
	switch {
	case h.kind == hello || h.kind == cancel:
		if h.head == 0 && h.data == 0 && h.flags == 0 {
			return nil
		}
	case h.kind < hello || h.kind > PutFiles:
	case h.flags&^(flagAny|flagSum) != 0 || h.flags != 0 && h.kind != Get && h.kind != GetDraft:
	case h.head < requestHead || h.head > maxHead || h.length > MaxLength || h.data > MaxLength:
	case h.head > requestHead+maxPath && h.kind != PutFiles || h.flags&flagAny != 0 && h.kind != Get:
	case h.kind.IsPut() && h.length == 0 || !h.kind.IsPut() && h.data == 0:
		return nil
	}
	return fmt.Errorf("%w: request %d, kind %d", ErrMessage, h.id, h.kind)
}

// checkAnswer fails if an answer is not valid, whatever the request was.
func (h *header) checkAnswer() error {
	if h.kind == alive && h.flags&^flagListening == 0 && h.head == 0 && h.data == 0 {
		return nil
	}
	switch {
	case h.kind < more || h.kind > bye || h.flags != 0 || h.length != 0 || h.data > MaxPart:
	case h.kind == more && h.head == 0 && h.data > 0:
		return nil
	case h.kind == end, h.kind == failed && h.data == 0:
		return nil
	case h.kind == bye && h.id == 0 && h.head == 0 && h.data == 0:
		return nil
	}
	return fmt.Errorf("%w: answer %d, kind %d", ErrMessage, h.id, h.kind)
}
