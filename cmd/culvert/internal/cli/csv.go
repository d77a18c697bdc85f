package cli

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/format/sniff"
)

// csvInspection is what a file of CSV seems to be by its beginning.
type csvInspection struct {
	Settings  string      `json:"settings"`
	Command   string      `json:"command"`
	Delimiter string      `json:"delimiter"`
	Quote     string      `json:"quote"`
	Escape    string      `json:"escape"`
	Null      string      `json:"null"`
	LineEnd   string      `json:"line_end"`
	Encoding  string      `json:"encoding"`
	Header    bool        `json:"header"`
	Columns   []csvColumn `json:"columns"`
	Rows      int64       `json:"rows"`
	Sample    int         `json:"sample_bytes"`
	Whole     bool        `json:"whole"`
	Problem   string      `json:"problem,omitempty"`
}

type csvColumn struct {
	Name   string     `json:"name"`
	Type   sniff.Type `json:"type"`
	Values int64      `json:"values"`
	Null   int64      `json:"null"`
	Empty  int64      `json:"empty"`
}

var textExtensions = []string{".csv", ".tsv", ".tab", ".psv", ".txt", ".dat"}

// inspectCSV describes a text that its name calls CSV, or that has columns. One with a seek table is of an export.
func (r *inspectReport) inspectCSV(in *argument.Input, config export.ReadConfig) error {
	src, is := in.Random.(io.ReadSeeker)
	extension := textExtension(in.Name)
	if !is || r.Content.Frames > 0 || !slices.Contains(textExtensions, extension) {
		return nil
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return argument.ReadError(in.Name, err)
	}
	text, err := config.NewReader(in.Random, in.Name)
	if err != nil {
		return argument.ReadError(in.Name, err)
	}
	sample, err := io.ReadAll(io.LimitReader(text, sniff.Size))
	isWhole := len(sample) < sniff.Size
	if err := errors.Join(err, text.Close()); err != nil {
		return argument.ReadError(in.Name, err)
	}
	guess, err := sniff.CSV(sample, isWhole)
	isSure := err == nil && (len(guess.Columns) > 1 && guess.Rows > 0 || extension == ".csv" || extension == ".tsv")
	if isSure {
		r.CSV = csvOf(in.Name, extension, guess)
	}
	return nil // what is no CSV is described as any file
}

// textExtension returns the extension of a file without those of its encryption and compression.
func textExtension(name string) string {
	if argument.IsURL(name) {
		name, _, _ = strings.Cut(name, "?") // the address of a store, such as its endpoint
	}
	name = strings.ToLower(name)
	for _, packed := range []string{".age", ".asc", ".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return path.Ext(name)
}

func csvOf(name, extension string, guess *sniff.Guess) *csvInspection {
	d := guess.Dialect
	c := &csvInspection{
		Settings: guess.Settings(), Delimiter: d.Delimiter, Null: d.Null, Encoding: guess.Encoding,
		LineEnd: map[string]string{"\n": "lf", "\r\n": "crlf", "\r": "cr"}[guess.LineEnd], Header: !d.NoHeader,
		Rows: guess.Rows, Sample: guess.Bytes, Whole: guess.IsWhole,
	}
	if c.Delimiter == "" {
		c.Delimiter = ","
	}
	switch {
	case d.Quote != 0:
		c.Quote = string(rune(d.Quote))
	case !d.Unquoted:
		c.Quote = `"`
	}
	if d.Escape != 0 {
		c.Escape = string(rune(d.Escape))
	}
	if c.Encoding == "" {
		c.Encoding = "utf-8"
	}
	if guess.Problem != nil {
		c.Problem = command.Plain(guess.Problem)
	}
	for _, one := range guess.Columns {
		c.Columns = append(c.Columns, csvColumn(one))
	}
	c.Command = "culvert load "
	switch {
	case c.Settings != "":
		c.Command += "--csv " + command.ForShell(c.Settings) + " "
	case extension != ".csv":
		c.Command += "--csv csv "
	}
	c.Command += command.ForShell(name) + " DEST TABLE"
	return c
}

// write writes what a person needs to see whether the guess is right.
func (c *csvInspection) write(b *strings.Builder, line func(label, format string, args ...any)) {
	if c == nil {
		return
	}
	shown := func(text, none string) string {
		switch text {
		case "":
			return none
		case "\t":
			return "tab"
		case " ":
			return "space"
		}
		return ui.Line(text)
	}
	line("delimiter", "%s", shown(c.Delimiter, ""))
	line("quote", "%s", shown(c.Quote, "none"))
	line("escape", "%s", shown(c.Escape, "none"))
	line("NULL", "%s", shown(c.Null, "nothing"))
	line("lines end in", "%s", shown(map[string]string{"lf": "LF", "crlf": "CR LF", "cr": "CR"}[c.LineEnd], "nothing"))
	line("encoding", "%s", c.Encoding)
	line("header", "%s", map[bool]string{true: "yes", false: "no"}[c.Header])
	which := "all of it"
	if !c.Whole {
		which = "the first " + ui.Bytes(int64(c.Sample))
	}
	line("sample", "%s: %s", which, ui.Several(c.Rows, "row"))
	line("columns", "%d", len(c.Columns))
	for i, one := range c.Columns {
		name := one.Name
		if !c.Header {
			name = fmt.Sprint(i + 1)
		}
		fmt.Fprintf(b, "    %s: %s", ui.Name(name), one.Type)
		if one.Null > 0 {
			fmt.Fprintf(b, ", %s NULL", ui.Count(one.Null))
		}
		if one.Empty > 0 {
			fmt.Fprintf(b, ", %s empty", ui.Count(one.Empty))
		}
		b.WriteByte('\n')
	}
	if c.Problem != "" {
		line("problem", "%s", ui.Line(c.Problem))
	}
	line("load it", "%s", c.Command)
}
