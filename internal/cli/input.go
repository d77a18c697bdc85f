package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"filippo.io/age/armor"

	"culvert/agefile"
	"culvert/export"
	"culvert/internal/keyfile"
)

// claimStdin gives standard input to one reader, for one purpose.
func (a *app) claimStdin(purpose string) (io.Reader, error) {
	if a.stdinUse != "" {
		return nil, usagef("standard input cannot be %s: it is %s already", purpose, a.stdinUse)
	}
	a.stdinUse = purpose
	return a.stdin, nil
}

// input is a file that is read from its beginning to its end, and counted. Reading ends with the context.
type input struct {
	ctx  context.Context
	name string
	size int64 // of a regular file, otherwise 0
	file *os.File
	read atomic.Int64

	src io.Reader
}

// openInput opens the file of an argument. No argument, and "-", are standard input.
func (a *app) openInput(ctx context.Context, args []string) (*input, error) {
	if len(args) == 0 || args[0] == "-" {
		stdin, err := a.claimStdin("the input")
		if err != nil {
			return nil, err
		}
		return &input{ctx: ctx, name: "standard input", src: stdin}, nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, err
	}
	in := &input{ctx: ctx, name: args[0], src: f, file: f}
	switch info, err := f.Stat(); {
	case err != nil:
	case info.IsDir():
		return nil, errors.Join(directoryError(args[0]), f.Close())
	case info.Mode().IsRegular():
		in.size = info.Size()
	}
	return in, nil
}

// isDirectory reports whether an argument is a directory.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// directoryError refuses a directory where a file is needed. One of tables has other ways.
func directoryError(path string) error {
	err := fmt.Errorf("%s is a directory", path)
	for _, name := range []string{export.EncryptedManifestName, export.ManifestName} {
		manifest := filepath.Join(path, name)
		if _, statErr := os.Lstat(manifest); statErr == nil {
			return withHint(err, "to check all tables in it: culvert verify "+forShell(path),
				"to see which they are: culvert cat "+forShell(manifest))
		}
	}
	return withHint(err, "name a file in it")
}

func (in *input) Read(p []byte) (int, error) {
	if err := context.Cause(in.ctx); err != nil {
		return 0, err
	}
	n, err := in.src.Read(p)
	in.read.Add(int64(n))
	return n, err
}

// reader gives the input in the form in which it can be read by several goroutines at once, if it can.
func (in *input) reader() io.Reader {
	if in.size > 0 {
		return fileInput{in}
	}
	return in
}

// fileInput is an input that is a regular file. Its ReadAt returns what its Read does, which agefile.Config.ReadAt asks
// for.
type fileInput struct{ *input }

func (in fileInput) ReadAt(p []byte, off int64) (int, error) {
	if err := context.Cause(in.ctx); err != nil {
		return 0, err
	}
	n, err := in.file.ReadAt(p, off)
	in.read.Add(int64(n))
	return n, err
}

func (in fileInput) Seek(off int64, whence int) (int64, error) { return in.file.Seek(off, whence) }

func (in *input) Close() error {
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}

// The first line of an age file, and what PowerShell makes of it when it redirects output.
const (
	ageIntro      = "age-encryption.org/"
	crlfIntro     = "age-encryption.org/v1\r"
	utf16Intro    = "\xff\xfea\x00g\x00e\x00-\x00e\x00n\x00c\x00"
	armorLeadMax  = 1024 // white space before the armor
	inputBuffered = 64 << 10
)

// openedInput is an input whose kind is known.
type openedInput struct {
	io.Reader      // without the armor
	age       bool // an age file
	armored   bool
}

// recognize looks at how an input begins.
func recognize(in *input) (*openedInput, error) {
	src, start, err := in.peek(armorLeadMax + len(armor.Header))
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte(crlfIntro)), bytes.HasPrefix(start, []byte(utf16Intro)):
		return nil, withHint(fmt.Errorf("%w: the first line is mangled", agefile.ErrCorrupt),
			"it looks as if PowerShell redirection has damaged this file; encrypt with -o FILE or -a")
	case bytes.HasPrefix(bytes.TrimSpace(start), []byte(armor.Header)):
		return &openedInput{Reader: keyfile.NewArmorReader(src), age: true, armored: true}, nil
	}
	return &openedInput{Reader: src, age: bytes.HasPrefix(start, []byte(ageIntro))}, nil
}

// peek gives the first bytes of the input, and the input with these bytes in it.
func (in *input) peek(size int) (src io.Reader, start []byte, err error) {
	if in.size > 0 {
		start = make([]byte, size)
		n, err := in.file.ReadAt(start, 0)
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		return in.reader(), start[:n], nil
	}
	b := bufio.NewReaderSize(in, inputBuffered)
	if start, err = b.Peek(size); err != nil && err != io.EOF {
		return nil, nil, err
	}
	return b, start, nil
}

// refuseSameFile refuses an output that is one of the files that are read: the input, or an identity, say.
func refuseSameFile(output string, inputs []string) error {
	target, err := os.Stat(output)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range inputs {
		if info, err := os.Stat(name); err == nil && target.Mode().IsRegular() && os.SameFile(info, target) {
			return usagef("the output %q is also read from", output)
		}
	}
	return nil
}
