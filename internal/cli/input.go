package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"filippo.io/age/armor"

	"culvert/agefile"
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
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		in.size = info.Size()
	}
	return in, nil
}

func (in *input) Read(p []byte) (int, error) {
	if err := context.Cause(in.ctx); err != nil {
		return 0, err
	}
	n, err := in.src.Read(p)
	in.read.Add(int64(n))
	return n, err
}

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
func recognize(in io.Reader) (*openedInput, error) {
	b := bufio.NewReaderSize(in, inputBuffered)
	start, err := b.Peek(armorLeadMax + len(armor.Header))
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(start, []byte(crlfIntro)), bytes.HasPrefix(start, []byte(utf16Intro)):
		return nil, withHint(fmt.Errorf("%w: the first line is mangled", agefile.ErrCorrupt),
			"it looks as if PowerShell redirection has damaged this file; encrypt with -o FILE or -a")
	case bytes.HasPrefix(bytes.TrimSpace(start), []byte(armor.Header)):
		return &openedInput{Reader: armor.NewReader(b), age: true, armored: true}, nil
	}
	return &openedInput{Reader: b, age: bytes.HasPrefix(start, []byte(ageIntro))}, nil
}

// refuseSameFile refuses an output that is one of the files that are read: an identity, say.
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
