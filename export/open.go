package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"culvert/agefile"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
)

// ErrCorrupt marks errors of compressed data that is damaged or cut short. Encrypted data that is damaged or cut short
// is an [agefile.ErrCorrupt].
var ErrCorrupt = compress.ErrCorrupt

// ErrMangled marks age files that a program, such as a redirection in PowerShell, has converted as if they were text.
// It wraps agefile.ErrCorrupt.
var ErrMangled = fmt.Errorf("%w: the first line is mangled", agefile.ErrCorrupt)

var errNotAge = fmt.Errorf("%w: it does not begin as one", agefile.ErrCorrupt)

// ReadConfig configures reading. The zero value reads files that are not encrypted.
type ReadConfig struct {
	// Identities decrypt the files. If none opens a file, the error is an [*age.NoIdentityMatchError].
	Identities []age.Identity

	// Jobs is the number of chunks that are decrypted in parallel, and the most frames that are decompressed so. Zero
	// means GOMAXPROCS.
	Jobs int

	// Packed disables decompression.
	Packed bool

	// Cache keeps decoded data of each [ReaderAt]. Nil means a new Cache of 32 MiB for each ReaderAt.
	Cache *Cache

	// Key identifies the content of a file in the Cache, so that all ReaderAt of the file share decoded data. It must
	// be comparable. Nil means that nothing is shared.
	Key any
}

// Reader reads the text of a file as a stream. It must be used by one goroutine at a time.
type Reader struct {
	text   io.Reader
	packed *compress.Reader // nil if the config says Packed
	sealed *agefile.Reader  // nil if the file is not encrypted
	file   fs.File          // to close, or nil
	joined io.Closer        // text, or nil if the file is not a table in parts
	codec  Compression      // of the parts
	form
}

// form is what the beginning of a file shows.
type form struct{ encrypted, armored bool }

// Open opens a file that an export has written, or any other file: encrypted with age or not, and compressed with zstd
// or gzip or not. The [Reader] returns its text. The caller must close it.
func Open(fsys fs.FS, name string, identities ...age.Identity) (*Reader, error) {
	return ReadConfig{Identities: identities}.Open(fsys, name)
}

// Open is like the function [Open].
func (c ReadConfig) Open(fsys fs.FS, name string) (*Reader, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	r, err := c.NewReader(f, name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.file = f
	return r, nil
}

// NewReader reads a file from src. If src is an [*os.File] or an [*io.SectionReader], several goroutines read it with
// ReadAt. Other sources are read with Read, as a file of a server that reads ahead.
//
// A file with a damaged beginning looks like a file of another kind. It is therefore an error if the extension of name
// says that the file is encrypted or compressed and it is not. The name may be empty.
func (c ReadConfig) NewReader(src io.Reader, name string) (r *Reader, err error) {
	r = &Reader{}
	if r.text, r.form, err = recognize(src); err != nil {
		return nil, err
	}
	if extension := path.Ext(name); !r.encrypted && (extension == ".age" || extension == ".asc") {
		return nil, errNotAge
	}
	if r.encrypted {
		config := agefile.Config{Workers: c.Jobs}
		if r.sealed, err = config.NewReader(r.text, c.Identities...); err != nil {
			return nil, err
		}
		r.text = r.sealed
	}
	if c.Packed {
		return r, nil
	}
	if r.packed, err = compress.NewParallelReader(r.text, c.Jobs); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.text = r.packed
	extension := path.Ext(strings.TrimSuffix(name, ".age"))
	for _, c := range []Compression{Zstd, Gzip} {
		if extension == c.Extension() && r.Compression() == None && !r.armored {
			return nil, errors.Join(fmt.Errorf("%w: it does not begin as %s does", ErrCorrupt, c), r.Close())
		}
	}
	return r, nil
}

// Read reads text. If the file is damaged, Read returns the text before the damage and then the error; see
// [ErrCorrupt].
func (r *Reader) Read(p []byte) (int, error) { return r.text.Read(p) }

// WriteTo writes the rest of the text to w.
func (r *Reader) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, r.text) }

// Encrypted reports whether the file is encrypted.
func (r *Reader) Encrypted() bool { return r.encrypted }

// Armored reports whether the file is encrypted and encoded as text (PEM).
func (r *Reader) Armored() bool { return r.armored }

// Compression returns how the text is compressed: None if the config says Packed.
func (r *Reader) Compression() Compression {
	if r.joined != nil {
		return r.codec
	}
	if r.packed == nil {
		return None
	}
	return Compression(r.packed.Codec())
}

// Complete reports, after Read has returned io.EOF, whether nothing can be missing at the end of the file: it is
// encrypted, or ends with a seek table that lists all frames.
func (r *Reader) Complete() bool {
	return r.encrypted || r.joined != nil || r.packed != nil && r.packed.Sealed()
}

// Close ends the goroutines of the reader, and closes the file if [Open] has opened it.
func (r *Reader) Close() error {
	var errs []error
	if r.joined != nil {
		errs = append(errs, r.joined.Close())
	}
	if r.packed != nil {
		errs = append(errs, r.packed.Close())
	}
	if r.sealed != nil {
		errs = append(errs, r.sealed.Close())
	}
	if r.file != nil {
		errs = append(errs, r.file.Close())
	}
	return errors.Join(errs...)
}

// The first line of an age file, and the same line after programs have converted it as text.
const (
	ageIntro      = "age-encryption.org/"
	crlfIntro     = "age-encryption.org/v1\r"
	utf16Intro    = "\xff\xfea\x00g\x00e\x00-\x00e\x00n\x00c\x00"
	armorLeadMax  = 1024 // white space before the armor
	inputBuffered = 64 << 10
)

// recognize determines the form of a file by its beginning. It returns the file without its armor.
func recognize(src io.Reader) (io.Reader, form, error) {
	src, start, err := peek(src, armorLeadMax+len(armor.Header))
	switch {
	case err != nil:
		return nil, form{}, err
	case bytes.HasPrefix(start, []byte(crlfIntro)), bytes.HasPrefix(start, []byte(utf16Intro)):
		return nil, form{}, ErrMangled
	case isArmor(start):
		return keyfile.NewArmorReader(src), form{encrypted: true, armored: true}, nil
	}
	return src, form{encrypted: bytes.HasPrefix(start, []byte(ageIntro))}, nil
}

func isArmor(start []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(start), []byte(armor.Header)) }

// randomReader is a source that can be read at any offset, and as a stream.
type randomReader interface {
	io.ReadSeeker
	io.ReaderAt
}

// peek returns the next bytes of src, and a reader that returns all of src, including these bytes.
func peek(src io.Reader, size int) (_ io.Reader, start []byte, err error) {
	if random, is := src.(randomReader); is {
		if off, err := random.Seek(0, io.SeekCurrent); err == nil {
			start = make([]byte, size)
			n, err := random.ReadAt(start, off)
			if err == io.EOF {
				err = nil
			}
			return src, start[:n], err
		}
	}
	b := bufio.NewReaderSize(src, inputBuffered)
	if start, err = b.Peek(size); err == io.EOF {
		err = nil
	}
	return b, start, err
}
