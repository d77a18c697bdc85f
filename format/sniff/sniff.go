// Package sniff guesses how a text of CSV is written: its encoding, its dialect, its columns, and the types of their
// values. It is for people, who look at the guess before they load the text. A load itself never guesses.
//
//	guess, err := sniff.CSV(beginning, false)
//	…
//	fmt.Println(guess.Settings()) // such as delimiter=;,encoding=windows-1252
//
// [CSV] reads the sample with each dialect that it could be in, by the same [format.Dialect.Reader] that a load uses.
// So what it says of the sample is what a load finds. The best dialect is the one that reads the most rows into the
// most columns, with values that are numbers, dates or words, without delimiters or quotes of other dialects.
// This is the idea of G. J. J. van den Burg, A. Nazábal and C. Sutton, "Wrangling messy CSV files by detecting row and
// type patterns", Data Mining and Knowledge Discovery 33 (2019), doi 10.1007/s10618-019-00646-y. DuckDB's sniffer does
// the same with the dialects that its reader has. Python's csv.Sniffer counts the characters of lines instead, also
// those in quotes.
//
// A guess can be wrong. No text says which encoding of one byte for each character it is in: it is taken for
// windows-1252 if each of its bytes is a character there, and for latin1 otherwise. Encodings such as Shift JIS are not
// recognized. An empty value may be NULL or not. What follows the sample may have another form.
package sniff

import (
	"bytes"
	"errors"
	"strings"

	"culvert/format"
)

// Size is how many bytes a sample should have: enough to see rare values, and few enough to be read quickly.
const Size = 1 << 20

// ErrNotText is the error of [CSV] for a sample that is not text.
var ErrNotText = errors.New("sniff: it is no text")

// Guess is how a text seems to be written.
type Guess struct {
	Dialect  format.Dialect
	Encoding string // a name for package charset; "" is UTF-8
	LineEnd  string // of the first row: "\n", "\r\n" or "\r"; "" if there is only one
	Columns  []Column
	Rows     int64 // in the sample, without the header
	Bytes    int   // of the sample
	IsWhole  bool  // the sample is the whole text
	IsPlain  bool  // package format reads the sample as CSV in the same way as in the dialect

	// Problem is why a load would end within the sample, and nil if it would not. It is mostly a [*format.RowError].
	Problem error
}

// Column is a column of the sample.
type Column struct {
	Name   string // in the header; "" without a header
	Type   Type   // of all values that are there
	Values int64  // that are not NULL
	Null   int64  // NULL, for which the text has nothing, or the dialect's Null
	Empty  int64  // of the values: empty texts
}

// Settings returns what --csv needs to read the text, and "" if it is read in the same way without --csv.
func (g *Guess) Settings() string {
	settings := g.Dialect.String()
	if g.Encoding != "" {
		settings = strings.TrimPrefix(settings+",encoding="+g.Encoding, ",")
	}
	if settings == "" && !g.IsPlain {
		return "csv"
	}
	return settings
}

// CSV guesses how a text is written. The sample is its beginning, or all of it if isWhole is true; [Size] bytes are
// enough. The error is [ErrNotText], or says that there are no rows. CSV keeps nothing of the sample, and takes up to
// four times its memory.
func CSV(sample []byte, isWhole bool) (*Guess, error) {
	text, encoding, err := decode(sample, isWhole)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("sniff: there are no rows")
	}
	s := search{text: text, isWhole: isWhole}
	best := s.best()
	best.chooseHeader(&s)
	best.chooseTrim(&s)
	best.chooseNull(&s)
	guess := &Guess{
		Dialect: best.dialect, Encoding: encoding, Rows: best.rows, Bytes: len(sample), IsWhole: isWhole,
		LineEnd: best.lineEnd(text), Problem: best.problem, Columns: make([]Column, len(best.columns)),
		IsPlain: best.isPlain(&s),
	}
	for i, one := range best.columns {
		guess.Columns[i] = Column{Type: one.typeOf(), Values: one.values, Null: one.null, Empty: one.empty}
		if !best.dialect.NoHeader {
			guess.Columns[i].Name = best.names[i]
		}
	}
	return guess, nil
}

// lineEnd returns what ends the first row.
func (c *candidate) lineEnd(text []byte) string {
	if c.dialect.LineEnd != "" {
		return c.dialect.LineEnd
	}
	at := bytes.IndexAny(text, "\r\n")
	switch {
	case at < 0:
		return ""
	case text[at] == '\n':
		return "\n"
	case bytes.HasPrefix(text[at:], []byte("\r\n")):
		return "\r\n"
	}
	return "\r"
}
