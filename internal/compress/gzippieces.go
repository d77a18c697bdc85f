package compress

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipPieces gives the text of gzip members. Zeros after the last one are passed over, as gzip does: they fill the
// blocks of tapes.
type gzipPieces struct {
	src      *source
	buffered *bufio.Reader
	gzip     *gzip.Reader
	inside   bool // a member, not between two
	buf      []byte
}

func newGzipPieces(s *source, buffered *bufio.Reader) *gzipPieces {
	return &gzipPieces{src: s, buffered: buffered, gzip: new(gzip.Reader), buf: make([]byte, pieceSize)}
}

func (p *gzipPieces) next() ([]byte, error) {
	if !p.inside {
		if err := p.begin(); err != nil {
			return nil, err
		}
	}
	n, err := p.gzip.Read(p.buf)
	switch {
	case err == io.EOF:
		p.inside = false
		err = p.between()
	case err != nil:
		err = p.src.explain(Gzip, err)
	}
	return p.buf[:n], err
}

// begin reads the header of a member.
func (p *gzipPieces) begin() error {
	err := p.gzip.Reset(p.buffered)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return p.src.explain(Gzip, err)
	}
	p.gzip.Multistream(false)
	p.inside = true
	return nil
}

var errAfterMember = errors.New("there is something else after a member")

// between looks at what follows a member: nothing, so that the stream ends with io.EOF, or another one.
func (p *gzipPieces) between() error {
	const firstOfMagic = 0x1f
	zeros := false
	for {
		switch b, err := p.buffered.ReadByte(); {
		case err == io.EOF:
			return io.EOF
		case err != nil:
			return p.src.explain(Gzip, err)
		case b == 0:
			zeros = true
		case b == firstOfMagic && !zeros:
			return p.buffered.UnreadByte()
		default:
			return corrupt(Gzip, errAfterMember)
		}
	}
}

func (p *gzipPieces) close() {}
