package sniff

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"culvert/format"
	"culvert/source"
)

// search finds the best dialect of a text.
type search struct {
	text    []byte // UTF-8
	isWhole bool
}

// candidate is a dialect, and what the text is in it.
type candidate struct {
	dialect format.Dialect
	names   []string // of the first row
	columns []*column
	rows    int64 // without the first one, if it is the header
	quoted  int64 // of the rows, those that begin and end with a quote that has no meaning
	returns int64 // of the rows, those that end in a carriage return, since others do not
	problem error
	score   float64
}

// firstSize is how much of a text is read with every dialect. The best is then read with all of the sample.
const firstSize = 128 << 10

// mostSkipped is how many lines before the header are left out at most.
const mostSkipped = 32

// mostColumns is how many columns are looked at. In a wrong dialect there may be any number.
const mostColumns = 20_000

func (s *search) best() *candidate {
	first := *s
	if len(s.text) > firstSize {
		first = search{text: s.text[:firstSize]}
	}
	best := first.search()
	if len(s.text) > firstSize {
		all := s.read(best.dialect)
		if all.problem != nil && best.problem == nil {
			return s.search()
		}
		return all
	}
	return best
}

func (s *search) search() *candidate {
	if delimiter, skip := separatorLine(s.text); skip > 0 {
		return s.bestOf(format.Dialect{Skip: skip}, []string{delimiter})
	}
	best := s.bestOf(format.Dialect{}, s.delimiters())
	isGood := func(c *candidate) bool { return c.problem == nil && (len(c.columns) > 1 || c.isTyped()) }
	if isGood(best) {
		return best
	}
	consider := func(base format.Dialect) (one *candidate, is bool) {
		delimiters := s.delimiters()
		if base.Skip > 0 {
			delimiters = slices.DeleteFunc(delimiters, isRare) // behind a line of prose, others are prose too
		}
		one = s.bestOf(base, delimiters)
		is = isGood(one) && one.rows > 0 && one.score > best.score && s.isBefore(one.dialect, len(one.columns))
		return one, is
	}
	comments := []string{""}
	var commented *candidate
	if bytes.HasPrefix(s.text, []byte("#")) || bytes.Contains(s.text, []byte("\n#")) {
		one, is := consider(format.Dialect{Comment: "#"})
		if is {
			return one
		}
		comments, commented = append(comments, "#"), one
	}
	for skip := 1; skip <= min(mostSkipped, bytes.Count(s.text, []byte{'\n'})-1); skip++ {
		for _, comment := range comments {
			if one, is := consider(format.Dialect{Skip: skip, Comment: comment}); is {
				return one
			}
		}
	}
	if commented != nil && len(commented.columns) > 1 && len(best.columns) < 2 && s.text[0] == '#' {
		return commented // a comment also follows values, where it is none here
	}
	return best
}

// separatorLine returns the delimiter that Excel is told in a line of its own, sep=;, and how many lines that are.
func separatorLine(text []byte) (delimiter string, lines int) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	one := strings.Trim(strings.TrimSuffix(string(line), "\r"), `"`)
	if len(one) == len("sep=;") && strings.EqualFold(one[:4], "sep=") {
		return one[4:], 1
	}
	return "", 0
}

// isBefore reports whether the lines that are left out have fewer values than the rows: they are no rows. Nor is the
// last one a header, to which the rows add a value.
func (s *search) isBefore(d format.Dialect, columns int) bool {
	delimiter := []byte(delimiterOf(d))
	for i, line := range bytes.SplitN(s.text, []byte("\n"), d.Skip+1) {
		if i == d.Skip {
			break
		}
		count := bytes.Count(line, delimiter)
		isHeader := i == d.Skip-1 && count > 0 && count == columns-2 && !bytes.ContainsAny(line, " \t")
		if count >= columns-1 || isHeader {
			return false
		}
	}
	return true
}

// isRare reports whether a delimiter is more often within times and names.
func isRare(delimiter string) bool { return delimiter == " " || delimiter == ":" }

func delimiterOf(d format.Dialect) string {
	if d.Delimiter == "" {
		return ","
	}
	return d.Delimiter
}

// delimiters returns those that the text has, and one that it does not have. The first wins if others read it as well.
func (s *search) delimiters() (all []string) {
	for _, one := range []string{",", ";", "\t", "||", "|", "\x01", "\x1f", "~", "^", ":", " "} {
		if bytes.Contains(s.text, []byte(one)) {
			all = append(all, one)
		}
	}
	for _, one := range []string{",", ";", "\t", "|"} { // with which each line is a value
		if !slices.Contains(all, one) {
			return append(all, one)
		}
	}
	return all
}

// bestOf reads the text with dialects that differ from base in their delimiter, quote, escape and line ends.
func (s *search) bestOf(base format.Dialect, delimiters []string) *candidate {
	var best *candidate
	for _, delimiter := range delimiters {
		untrimmed := map[string]bool{} // with these line ends, the text is read as it is
		for _, d := range s.variants(base, delimiter) {
			one := s.read(d)
			isUsual := !d.Trim && !d.Unquoted && d.Quote == 0 && d.Escape == 0
			untrimmed[d.LineEnd] = untrimmed[d.LineEnd] || isUsual && one.problem == nil
			if d.Trim && untrimmed[d.LineEnd] && !s.isPadded(delimiter) {
				continue // the spaces are those of texts
			}
			if best == nil || one.score > best.score {
				best = one
			}
		}
	}
	return best
}

// isPadded reports whether a space follows most delimiters.
func (s *search) isPadded(delimiter string) bool {
	return 2*bytes.Count(s.text, []byte(delimiter+" ")) > bytes.Count(s.text, []byte(delimiter))
}

// variants returns dialects with a delimiter. The first wins if others read the text as well.
func (s *search) variants(base format.Dialect, delimiter string) (all []format.Dialect) {
	if base.Delimiter = delimiter; delimiter == "," {
		base.Delimiter = ""
	}
	has := func(text string) bool { return bytes.Contains(s.text, []byte(text)) }
	add := func(change func(d *format.Dialect)) {
		d := base
		change(&d)
		all = append(all, d)
	}
	add(func(*format.Dialect) {})
	if has(`"`) {
		if has(delimiter + ` "`) {
			add(func(d *format.Dialect) { d.Trim = true })
		}
		add(func(d *format.Dialect) { d.Unquoted = true })
	}
	if has(`'`) {
		add(func(d *format.Dialect) { d.Quote = '\'' })
	}
	if has(`\`) {
		add(func(d *format.Dialect) { d.Escape, d.Escapes = '\\', format.EscapeQuoted })
		add(func(d *format.Dialect) { d.Escape = '\\' })
		if !s.hasLetters(delimiter) {
			return s.withLineEnds(all)
		}
		first, _, _ := bytes.Cut(s.text, []byte("\n"))
		letters := func(d *format.Dialect) {
			d.Escape, d.Escapes, d.Null = '\\', format.EscapeLetters, `\N`
			d.NoHeader = bytes.Contains(first, []byte(`\N`))
		}
		add(func(d *format.Dialect) { letters(d); d.Unquoted = true })
		add(letters)
		if has(`'`) {
			add(func(d *format.Dialect) { d.Quote, d.Escape = '\'', '\\' })
			add(func(d *format.Dialect) { letters(d); d.Quote = '\'' })
		}
	}
	return s.withLineEnds(all)
}

// hasLetters reports whether all escapes of the text are ones that programs write if they escape by letters, as \n.
func (s *search) hasLetters(delimiter string) bool {
	text := s.text
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			return true
		}
		if c := text[at+1]; strings.IndexByte("\\NbfnrtvZ0.\"'\r\n", c) < 0 && c != delimiter[0] {
			return false
		}
		text = text[at+2:]
	}
}

// withLineEnds adds dialects with each line end, if the text has several.
func (s *search) withLineEnds(all []format.Dialect) []format.Dialect {
	returns, pairs := bytes.Count(s.text, []byte("\r")), bytes.Count(s.text, []byte("\r\n"))
	if returns == 0 || returns == pairs && pairs == bytes.Count(s.text, []byte("\n")) {
		return all
	}
	for _, d := range all {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			if bytes.Contains(s.text, []byte(end)) {
				d.LineEnd = end
				all = append(all, d)
			}
		}
	}
	return all
}

// read reads the text in a dialect.
func (s *search) read(d format.Dialect) *candidate {
	c := &candidate{dialect: d}
	var text []byte
	if r, err := d.Reader(streamOf(s.text, s.isWhole)); err != nil {
		c.problem = err
		return c
	} else if text, err = io.ReadAll(r); err != nil && err != errCut {
		c.problem = err
	}
	n, rows := format.CSV{}.Cut(text)
	if rows == 0 {
		return c
	}
	text = text[:n]
	names, n, err := format.CSV{}.Header(text)
	if err != nil || len(names) > mostColumns {
		return c
	}
	if len(names) == 0 { // a row of one column that is NULL
		names = []string{""}
	}
	if !d.NoHeader {
		c.names = names
		text = text[n:]
	}
	c.columns = make([]*column, len(names))
	for i := range c.columns {
		c.columns[i] = newColumn()
	}
	c.add(text)
	if row, is := errors.AsType[*format.RowError](c.problem); is {
		c.score *= 0.9 * float64(row.Line) / float64(1+linesIn(s.text))
		if len(c.columns) == 1 {
			c.score *= unlikely // lines have this delimiter, or this quote, after all
		}
	}
	return c
}

// linesIn returns how many lines end in a text, in whatever way.
func linesIn(text []byte) int {
	return max(bytes.Count(text, []byte{'\n'}), bytes.Count(text, []byte{'\r'}))
}

// unlikely is what is left of the score of a dialect that reads the text, but that nobody would have written.
const unlikely = 0.0005

// add adds rows of CSV, and computes the score.
func (c *candidate) add(text []byte) {
	decoder, err := format.CSV{}.Decoder(make([]format.Field, len(c.columns)))
	if err != nil {
		return
	}
	var batch source.Batch
	weight, cells := 0.0, 0
	// Lines in quotes count as rows do: a dialect that cuts such a value into rows does not read more of the text.
	lines, areQuoted := 0, c.dialect.LineEnd == "" && c.dialect.Escapes != format.EscapeLetters
	for len(text) > 0 {
		n, err := decoder.Decode(&batch, text)
		if err != nil {
			return
		}
		text = text[n:]
		c.rows += int64(batch.Rows())
		for row := range batch.Rows() {
			before := cells
			for i, column := range c.columns {
				kind, value := batch.AnyValue(row, i)
				if kind == source.Null {
					column.null++
					if c.dialect.Null != "" { // it is written, as a value is
						weight++
						cells++
					}
				} else if t := column.add(value); len(value) > 0 {
					weight += c.weightOf(value, t)
					cells++
					if areQuoted {
						lines += linesIn(value)
					}
				}
			}
			if cells > before { // an empty line is no row of most dialects
				lines++
			}
			c.look(&batch, row)
		}
	}
	for _, name := range c.names {
		if name != "" {
			weight += c.weightOf([]byte(name), typeOf([]byte(name)))
			cells++
		}
	}
	if cells > 0 {
		if c.names != nil {
			lines++
		}
		c.score = float64(lines) * c.shape() * weight / float64(cells)
		if c.returns > 0 || c.rows > 0 && c.quoted == c.rows {
			c.score *= unlikely
		}
	}
}

// look looks for rows that are in quotes as a whole, and for carriage returns that end lines.
func (c *candidate) look(batch *source.Batch, row int) {
	_, first := batch.AnyValue(row, 0)
	_, last := batch.AnyValue(row, len(c.columns)-1)
	if c.dialect.Unquoted && bytes.HasPrefix(first, []byte{'"'}) && bytes.HasSuffix(last, []byte{'"'}) {
		c.quoted++
	}
	if c.dialect.LineEnd == "\n" && c.dialect.Escape == 0 && bytes.HasSuffix(last, []byte{'\r'}) {
		c.returns++
	}
}

// shape says how much the columns are ones, from 0 to 1: columns without a name and values are none.
func (c *candidate) shape() float64 {
	filled := 0.0
	for i, one := range c.columns {
		if one.values > 0 || c.names != nil && c.names[i] != "" {
			filled++
		}
	}
	isRare := isRare(delimiterOf(c.dialect))
	switch {
	case filled > 1 && isRare && !c.isTyped():
		return unlikely
	case filled > 1 && isRare:
		return (filled - 1) / filled / 2
	case filled > 1:
		return (filled - 1) / filled
	case c.isTyped():
		return 0.45
	}
	return 0.001
}

// isTyped reports whether half of the columns or more are of another type than text.
func (c *candidate) isTyped() bool {
	typed := 0
	for _, one := range c.columns {
		if t := common(one.types); t != Text && t != Unknown {
			typed++
		}
	}
	return typed > 0 && 2*typed >= len(c.columns)
}
