package keyfile

import (
	"bytes"
	"fmt"
	"io"

	"filippo.io/age/armor"
)

// armorLineLimit is the length of the longest line that an armored file can have: white space before or after the
// armor. Lines of data have 64 characters.
const armorLineLimit = 1024

// NewArmorReader takes the armor off an age file, as [armor.NewReader] does, in constant memory: that one reads a line
// as a whole before it looks at its length. Errors of the armor are of type [*armor.Error].
func NewArmorReader(src io.Reader) io.Reader { return armor.NewReader(&shortLines{src: src}) }

// shortLines reads text up to a line that is too long.
type shortLines struct {
	src    io.Reader
	length int // of the current line, as far as it was read
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
