package sniff

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"culvert/format"
	"culvert/source"
)

// chooseNull chooses what stands for NULL, and reads the text again with it. Nothing does so where it would leave
// empty values in a column of numbers.
func (c *candidate) chooseNull(s *search) {
	chosen, most := "", int64(0)
	for i, word := range nullWords {
		count := int64(0)
		for _, one := range c.columns {
			t := one.typeWithout(word)
			if i < surelyNull || t != Text && t != Unknown && t != common(one.types) {
				count += one.words[word]
			}
		}
		if count > most {
			chosen, most = word, count
		}
	}
	if chosen == "" {
		return
	}
	d := c.dialect
	d.Null = chosen
	// The reader says whether the word is in quotes, and so a text.
	again := s.read(d)
	nulls := int64(0)
	for i, one := range again.columns {
		nulls += one.null
		if t := common(one.types); one.empty > 0 && t != Text && c.columns[i].null > 0 {
			return
		}
	}
	if nulls == 0 {
		return
	}
	again.problem = c.problem
	*c = *again
	if d.Null == `\N` && d.Delimiter == "\t" && d.Escape == 0 && c.problem == nil {
		// Who writes \N between tabs is a database, and escapes what is yet to come.
		d.Unquoted, d.Escape, d.Escapes = true, '\\', format.EscapeLetters
		if again := s.read(d); again.problem == nil {
			*c = *again
		}
	}
}

// chooseHeader chooses whether the first row is a header, and if not, reads it again as a row.
func (c *candidate) chooseHeader(s *search) {
	if c.columns == nil {
		return
	}
	if c.isHeader() {
		for i, name := range c.names {
			is := "has no name"
			if name != "" {
				is = "has the name of another one"
			}
			if c.problem == nil && (name == "" || slices.Index(c.names, name) < i) {
				c.problem = fmt.Errorf("sniff: column %d %s: name all, with skip=%d,names=…", i+1, is, c.dialect.Skip+1)
			}
		}
		return
	}
	d := c.dialect
	d.NoHeader = true
	d.Skip += s.emptyLines(d.Skip) // which would be rows, of one column
	again := s.read(d)
	if again.columns != nil {
		*c = *again
	}
}

// emptyLines returns how many lines are empty after those that are left out.
func (s *search) emptyLines(skip int) (n int) {
	for i, line := range bytes.SplitN(s.text, []byte("\n"), skip+mostSkipped+1) {
		if i >= skip && len(bytes.TrimSuffix(line, []byte("\r"))) > 0 {
			break
		}
		if i >= skip {
			n++
		}
	}
	return n
}

// isHeader reports whether the first row has names: no values, and, unless a column of numbers or the like has a word
// above it, most of them, none twice, and none that its column has below.
func (c *candidate) isHeader() bool {
	names, missing, isAbove := map[string]bool{}, 0, false
	for i, name := range c.names {
		if t := common(c.columns[i].types); t != Text && t != Unknown && t != Boolean && name != "" {
			isAbove = true // if it is no value, as all names must be
		}
	}
	for i, name := range c.names {
		if name == "" {
			missing++
			continue
		}
		_, isValue := c.columns[i].seen[name]
		switch t := typeOf([]byte(name)); {
		case t == Boolean && common(c.columns[i].types) != Boolean: // a column may be named t
		case t != Text, slices.Index(nullWords, name) >= 0 && slices.Index(nullWords, name) < surelyNull:
			return false
		}
		if !isAbove && (isValue || names[name]) || len(name) > longestSeen || strings.ContainsAny(name, "\r\n") {
			return false
		}
		names[name] = true
	}
	return isAbove || 2*missing < len(c.names)
}

// chooseTrim chooses to leave out the spaces around values if this makes numbers and dates of text, or if names and
// values of most columns have some.
func (c *candidate) chooseTrim(s *search) {
	if c.dialect.Trim || c.columns == nil {
		return
	}
	padded, better := 0, false
	for i, one := range c.columns {
		if t := common(one.trimmed); t != common(one.types) && t != Text {
			better = true
		}
		if i < len(c.names) && strings.HasPrefix(c.names[i], " ") {
			padded++
		}
	}
	if !better && 2*padded < len(c.columns) {
		return
	}
	d := c.dialect
	d.Trim = true
	if again := s.read(d); again.columns != nil && (again.problem == nil || c.problem != nil) {
		*c = *again
	}
}

// isPlain reports whether a load without a dialect finds the same rows. It does not if lines are empty or end in CR, or
// if a quote is within a value: there it begins a part of the value that may go on in the next line.
func (c *candidate) isPlain(s *search) bool {
	if c.dialect.String() != "" {
		return false
	}
	r, err := c.dialect.Reader(streamOf(s.text, s.isWhole))
	if err != nil {
		return false
	}
	want, err := io.ReadAll(r)
	if err != nil && err != errCut {
		return false
	}
	n := len(s.text)
	if !s.isWhole {
		n, _ = format.CSV{}.Cut(s.text)
	}
	got, err := rewritten(s.text[:n], len(c.columns))
	return err == nil && bytes.Equal(got, want)
}

// rewritten returns rows of CSV, the header among them, as package format writes them.
func rewritten(text []byte, columns int) (out []byte, err error) {
	decoder, err := format.CSV{}.Decoder(make([]format.Field, columns))
	if err != nil {
		return nil, err
	}
	encoder, err := format.CSV{}.Encoder(make([]source.Column, columns))
	if err != nil {
		return nil, err
	}
	var batch source.Batch
	for len(text) > 0 {
		n, err := decoder.Decode(&batch, text)
		if err != nil {
			return nil, err
		}
		text = text[n:]
		if out, err = encoder.AppendRows(out, &batch); err != nil {
			return nil, err
		}
	}
	return out, nil
}
