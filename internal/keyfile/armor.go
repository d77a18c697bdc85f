package keyfile

import (
	"bytes"
	"fmt"
	"io"

	"filippo.io/age/armor"
)

// armorLineLimit is the longest line that an armored file can have. Lines of data have 64 characters, but there may be
// white space before and after the armor.
const armorLineLimit = 1024

// NewArmorReader decodes an armored age file, like [armor.NewReader], but in constant memory: armor.NewReader reads a
// whole line before it checks its length. Errors of the armor are of type [*armor.Error].
func NewArmorReader(src io.Reader) io.Reader { return armor.NewReader(&shortLines{src: src}) }

// shortLines reads text and fails at a line that is too long.
type shortLines struct {
	src    io.Reader
	length int // of the current line so far
	err    error
}

func (s *shortLines) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.src.Read(p)
	s.err = err
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		length := end
		if end < 0 {
			length = len(rest)
		}
		if s.length+length > armorLineLimit {
			s.err = fmt.Errorf("a line is longer than %d bytes", armorLineLimit)
			return n - len(rest), s.err
		}
		if end < 0 {
			s.length += length
			break
		}
		s.length = 0
		rest = rest[end+1:]
	}
	return n, s.err
}
