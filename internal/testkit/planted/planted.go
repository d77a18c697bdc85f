// Package planted searches what a run has written for values that must not be there: in files as they are, compressed
// or encrypted, and in the forms in which programs write values.
//
//	secrets := planted.New(values)
//	if found := secrets.In(stderr); found != "" {
//		t.Error(found)
//	}
//	for _, found := range secrets.Under(dir, identity) {
//		t.Error(found)
//	}
package planted

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"filippo.io/age"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Least is the fewest bytes of a value: a shorter one could be anywhere by chance.
const Least = 10

// headSize is the number of bytes by which patterns are looked for.
const headSize = 8

// Set is the values to look for. It may be used by several goroutines.
type Set struct {
	heads map[uint64][]pattern
	maybe [1 << 16]uint64 // bits, by the hash of a head
}

// pattern is a form of a value.
type pattern struct {
	text      string
	value, as string
}

// New returns a set of values. It panics if one has fewer than [Least] bytes.
func New(values []string) *Set {
	s := &Set{heads: map[uint64][]pattern{}}
	for _, value := range values {
		if len(value) < Least {
			panic("planted: the value " + value + " is too short")
		}
		seen := map[string]bool{}
		for as, text := range forms(value) {
			if !seen[text] {
				s.add(pattern{text, value, as})
			}
			seen[text] = true
		}
	}
	return s
}

// forms returns how programs write a value.
func forms(value string) map[string]string {
	quoted, ascii := strconv.Quote(value), strconv.QuoteToASCII(value)
	all := map[string]string{
		"as it is": value, "quoted": quoted[1 : len(quoted)-1], "in ASCII": ascii[1 : len(ascii)-1],
		"in SQL": strings.ReplaceAll(value, "'", "''"), "in CSV": strings.ReplaceAll(value, `"`, `""`),
		"in a URL": url.QueryEscape(value), "in a path": url.PathEscape(value),
		"in hex": hex.EncodeToString([]byte(value)), "in upper hex": strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
	for before := range 3 { // bytes in front of it decide how it is cut into letters of base64
		bits := 8 * (before + len(value))
		text := append(make([]byte, before), value...)
		first := (8*before + 5) / 6
		all[fmt.Sprint("in base64, ", before)] = base64.StdEncoding.EncodeToString(text)[first : bits/6]
		all[fmt.Sprint("in base64 of URLs, ", before)] = base64.URLEncoding.EncodeToString(text)[first : bits/6]
	}
	return all
}

func (s *Set) add(p pattern) {
	head := binary.LittleEndian.Uint64([]byte(p.text))
	s.heads[head] = append(s.heads[head], p)
	at := hash(head)
	s.maybe[at/64] |= 1 << (at % 64)
}

// hash returns a number below 2^22.
func hash(head uint64) uint64 { return head * 0x9e3779b97f4a7c15 >> 42 }

// In returns what is found first in some bytes, for people, or "".
func (s *Set) In(data []byte) string {
	for i := 0; i+headSize <= len(data); i++ {
		head := binary.LittleEndian.Uint64(data[i:])
		if at := hash(head); s.maybe[at/64]>>(at%64)&1 == 0 {
			continue
		}
		for _, p := range s.heads[head] {
			if bytes.HasPrefix(data[i:], []byte(p.text)) {
				return fmt.Sprintf("the value %q, %s, at byte %d", p.value, p.as, i)
			}
		}
	}
	return ""
}

// Under returns what is found in the files of a directory and all below, in their names, and in what they are when they
// are decrypted and decompressed, or in what they have inside, such as the pages of Parquet. A file that has no end is
// searched as far as it goes. Files of databases that are open may change meanwhile, so what cannot be read is an error
// only if it is there.
func (s *Set) Under(dir string, identities ...age.Identity) (found []string) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if what := s.In([]byte(path)); what != "" {
			found = append(found, "a name has "+what)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		for ; err == nil && data != nil; data = inside(data, identities) {
			if what := s.In(data); what != "" {
				found = append(found, path+" has "+what)
				return nil
			}
			if what := s.In(frames(data)); what != "" {
				found = append(found, path+", decompressed, has "+what)
				return nil
			}
		}
		return err
	})
	if err != nil {
		found = append(found, err.Error())
	}
	return found
}

// zstdMagic begins a frame of zstd.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// frames returns the content of all frames of zstd that are anywhere in some bytes, but not of those that a file begins
// with.
func frames(data []byte) (all []byte) {
	if bytes.HasPrefix(data, zstdMagic) {
		return nil
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err) // the options are right
	}
	defer r.Close()
	for at := bytes.Index(data, zstdMagic); at >= 0; {
		if r.Reset(bytes.NewReader(data[at:])) == nil {
			text, _ := io.ReadAll(r) // to the end of the frame, after which there is something else
			all = append(all, text...)
		}
		next := bytes.Index(data[at+1:], zstdMagic)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return all
}

// inside returns what is in encrypted or compressed data, as far as it can be read, or nil if it is neither.
func inside(data []byte, identities []age.Identity) []byte {
	var r io.Reader
	var err error
	switch from := bytes.NewReader(data); {
	case bytes.HasPrefix(data, []byte("age-encryption.org/v1")) && identities != nil:
		r, err = age.Decrypt(from, identities...)
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(from)
	case bytes.HasPrefix(data, zstdMagic):
		var opened *zstd.Decoder
		if opened, err = zstd.NewReader(from, zstd.WithDecoderConcurrency(1)); err == nil {
			defer opened.Close()
			r = opened
		}
	}
	if r == nil || err != nil {
		return nil
	}
	text, _ := io.ReadAll(r) // a file of a process that was killed ends anywhere
	if len(text) == 0 {
		return nil
	}
	return text
}
