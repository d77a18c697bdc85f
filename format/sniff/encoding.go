package sniff

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"culvert/format/charset"
)

// errCut is where a sample ends and its text does not.
var errCut = errors.New("sniff: the sample ends")

// stream is a sample as a stream.
type stream struct {
	rest []byte
	end  error
}

func streamOf(sample []byte, isWhole bool) *stream {
	if isWhole {
		return &stream{sample, io.EOF}
	}
	return &stream{sample, errCut}
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, s.end
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// decode returns a sample in UTF-8, without its byte order mark, and the encoding that it had.
func decode(sample []byte, isWhole bool) (text []byte, encoding string, err error) {
	encoding = encodingOf(sample, isWhole)
	text = sample
	if encoding != "" {
		r, err := charset.NewReader(streamOf(sample, isWhole), encoding)
		if err != nil {
			return nil, "", err
		}
		if text, err = io.ReadAll(r); err != nil && err != errCut {
			return nil, "", ErrNotText
		}
	} else if !isWhole {
		text = wholeCharacters(text)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, "", ErrNotText
	}
	return text, encoding, nil
}

func encodingOf(sample []byte, isWhole bool) string {
	switch {
	case bytes.HasPrefix(sample, []byte("\ufeff")):
		return ""
	case bytes.HasPrefix(sample, []byte{0xff, 0xfe}):
		return "utf-16le"
	case bytes.HasPrefix(sample, []byte{0xfe, 0xff}):
		return "utf-16be"
	}
	// Of UTF-16, delimiters and line ends have a byte that is 0, as half of the bytes of most texts are.
	var zeros [2]int
	for i, b := range sample {
		if b == 0 {
			zeros[i%2]++
		}
	}
	endsLike := func(end string) bool {
		return bytes.Contains(sample, []byte(end)) || !bytes.ContainsAny(sample, "\r\n")
	}
	switch few := len(sample) / 20; {
	case zeros[1] > few && zeros[0] <= few/10 && (endsLike("\n\x00") || endsLike("\r\x00")):
		return "utf-16le"
	case zeros[0] > few && zeros[1] <= few/10 && (endsLike("\x00\n") || endsLike("\x00\r")):
		return "utf-16be"
	}
	if !isWhole {
		sample = wholeCharacters(sample)
	}
	switch {
	case utf8.Valid(sample):
		return ""
	case hasAny(sample, "\x81\x8d\x8f\x90\x9d"): // which windows-1252 does not have
		return "latin1"
	}
	return "windows-1252"
}

func hasAny(text []byte, bytesOf string) bool {
	for i := range len(bytesOf) {
		if bytes.IndexByte(text, bytesOf[i]) >= 0 {
			return true
		}
	}
	return false
}

// wholeCharacters is a text without the first bytes of a character whose others are missing.
func wholeCharacters(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
