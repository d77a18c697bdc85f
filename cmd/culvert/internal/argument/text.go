package argument

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
)

// Text is what a file holds, decrypted and decompressed; or the parts of a table, one after the other.
type Text struct {
	*export.Reader
	Name    string                     // of the file or the directory
	Size    int64                      // of what is read, in bytes, or 0
	BytesIn func(bytesOut int64) int64 // how much of that was read, after so many bytes of text
	Explain func(err error) error      // says what cannot be read
	close   func(err error) (closed error)
}

// Close closes what the text is read from. It takes the error of what was done with it, and returns the one to report.
func (t *Text) Close(err error) error { return t.close(err) }

// OpenText opens the text that an argument names: see [OpenInput]. Unless config says that a file stays packed, the
// argument may also be a table in parts.
func OpenText(ctx context.Context, a *command.App, args []string, f *PlaceFlags, config export.ReadConfig) (
	*Text, error,
) {
	in, err := OpenInput(ctx, a, args, f)
	if errors.Is(err, ErrDirectory) && !config.Packed {
		t, tableErr := OpenTable(ctx, a, args[0], f, config)
		if t != nil {
			return t.text(args[0])
		}
		err = cmp.Or(tableErr, err)
	}
	if err != nil {
		return nil, err
	}
	return in.Text(config)
}

// Text returns what is in the input, which it takes over.
func (in *Input) Text(config export.ReadConfig) (*Text, error) {
	text, err := config.NewReader(in.Reader, in.Name)
	if err != nil {
		return nil, in.Close(ReadError(in.Name, err))
	}
	return &Text{
		Reader: text, Name: in.Name, Size: in.Size,
		BytesIn: func(int64) int64 { return in.BytesRead.Load() },
		Explain: func(err error) error { return ReadError(in.Name, err) },
		close:   func(err error) error { return in.Close(errors.Join(err, text.Close())) },
	}, nil
}

// Use calls do with what is in the input, and closes both.
func (in *Input) Use(config export.ReadConfig, do func(*export.Reader) error) error {
	text, err := in.Text(config)
	if err != nil {
		return err
	}
	return text.Close(do(text.Reader))
}

// text returns the rows of the table, which it takes over.
func (t *Table) text(name string) (*Text, error) {
	text, err := t.Export.Open(t.Entry)
	if err != nil {
		return nil, t.Close(t.Explain(err))
	}
	return &Text{
		Reader: text, Name: name, Size: t.Entry.FileBytes, BytesIn: t.BytesIn, Explain: t.Explain,
		close: func(err error) error { return t.Close(errors.Join(err, text.Close())) },
	}, nil
}

// ErrNotAge says that a file is not encrypted.
var ErrNotAge = fmt.Errorf("%w: it does not begin as one", agefile.ErrCorrupt)

// ReadError says which file cannot be read. If no identity matches, it says who the file is for, as far as that shows.
func ReadError(name string, err error) error {
	if key, is := errors.AsType[*command.KeyError](err); is {
		return key.Unwrap() // about the identities, not the file
	}
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		kinds := slices.Compact(slices.Sorted(slices.Values(noMatch.StanzaTypes)))
		return command.Rephrase(err, fmt.Sprintf("%s: no identity matches; it is encrypted to others (%s)",
			name, strings.Join(kinds, ", ")))
	}
	switch {
	case strings.HasPrefix(err.Error(), name+": "):
		return err
	case errors.Is(err, export.ErrMangled):
		err = command.WithHint(err,
			"it looks as if PowerShell redirection has damaged this file; encrypt with -o FILE or -a")
	}
	return command.About(name, err)
}
