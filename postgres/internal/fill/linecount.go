package fill

import "sort"

// lineCount finds the lines that the server means. In rows that end with a line feed, it counts the line feeds in
// quotes, and in others the carriage returns there. Before the end of the first row it does not know which, and counts
// the carriage returns (CopyReadLineText in copyfromparse.c of PostgreSQL).
type lineCount struct {
	quoted, carriage bool  // at the end of what was seen
	known            bool  // the rows end with a line feed, so the rest is counted as it is
	lines, counted   int64 // of whole rows: all, and those that the server counts
	inRow            [2]int64
	steps            []lineStep
}

// lineStep is a row after which another number of lines is not counted.
type lineStep struct {
	from  int64 // the first line of the row, as the server counts
	extra int64 // lines that it has not counted, up to the end of the row
}

// mostSteps is of how many rows the lines are known, twice as many at most.
const mostSteps = 4096

// see takes the text that is sent next.
func (c *lineCount) see(text []byte) {
	if c.known {
		return
	}
	for _, b := range text {
		switch {
		case b == '"':
			c.quoted = !c.quoted
		case b == '\n' && c.quoted:
			c.inRow[0]++
		case b == '\r' && c.quoted:
			c.inRow[1]++
		case b == '\n':
			if c.endRow(); c.known {
				return
			}
		}
		c.carriage = b == '\r'
	}
}

func (c *lineCount) endRow() {
	extra := c.lines - c.counted
	if c.inRow[0] != c.inRow[1] {
		if len(c.steps) == 2*mostSteps {
			c.steps = append(c.steps[:0], c.steps[mostSteps:]...)
		}
		c.steps = append(c.steps, lineStep{c.counted + 1, extra + c.inRow[0] - c.inRow[1]})
	}
	c.known = c.lines == 0 && !c.carriage
	c.lines, c.counted, c.inRow = c.lines+c.inRow[0]+1, c.counted+c.inRow[1]+1, [2]int64{}
}

// lineOf returns the line of the text that the server means, or 0 if it is not known.
func (c *lineCount) lineOf(counted int64) int64 {
	i := sort.Search(len(c.steps), func(i int) bool { return c.steps[i].from > counted })
	switch {
	case i > 0:
		return counted + c.steps[i-1].extra
	case len(c.steps) >= mostSteps:
		return 0
	}
	return counted
}
