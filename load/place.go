package load

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"sort"

	"culvert/sink"
)

// mark says where in the file a block of a loader is.
type mark struct {
	rows, lines int64  // that the loader had taken before
	row, line   int64  // of the file, before the block
	even        bool   // a row for each line
	moved       bool   // the lines of the file are not known
	wide        []wide // otherwise, if they are known
}

// wide is a row of several lines.
type wide struct {
	row   int64 // of the block, from 1
	extra int64 // more lines than rows, up to its end
}

const (
	// mostWide is the most rows of several lines that are known of a block.
	mostWide = 4096

	// wideMarks is of how many of the last blocks they are known. The others have been taken, but for what is on its
	// way to the database.
	wideMarks = 4
)

// findWide finds the rows of several lines in text of CSV.
func findWide(text []byte, rows, lines int64) (found []wide) {
	const quote = '"'
	if rows == lines {
		return nil
	}
	row, extra, inRow, quoted := int64(1), int64(0), int64(0), false
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			break
		}
		if bytes.Count(text[:end], []byte{quote})%2 != 0 {
			quoted = !quoted
		}
		if text = text[end+1:]; quoted {
			inRow++
			continue
		}
		if inRow > 0 {
			if len(found) == mostWide {
				return nil
			}
			extra += inRow
			found = append(found, wide{row, extra})
		}
		row, inRow = row+1, 0
	}
	return found
}

// mark remembers where rows are that come after others of a block.
func (w *worker) mark(b *block, before, rows stretch) {
	m := mark{
		rows: w.taken.rows, lines: w.taken.lines, row: b.row + before.rows, line: b.line + before.lines,
		even: rows.rows == rows.lines, moved: b.moved, wide: rows.wide,
	}
	w.marks = append(w.marks, m)
	if before := len(w.marks) - wideMarks - 1; before >= 0 {
		w.marks[before].wide = nil
	}
	w.taken.rows += rows.rows
	w.taken.lines += rows.lines
}

// rowAt returns the row of a block that ends at one of its lines, from 1, or 0 if it is not known.
func (m *mark) rowAt(line int64) int64 {
	switch {
	case m.even:
		return line
	case len(m.wide) == 0:
		return 0
	}
	i := sort.Search(len(m.wide), func(i int) bool { return m.wide[i].row+m.wide[i].extra > line })
	if i == 0 {
		return line
	}
	return line - m.wide[i-1].extra
}

// lineAt returns the line at which a row of a block ends, from 1, or 0 if it is not known.
func (m *mark) lineAt(row int64) int64 {
	switch {
	case m.even:
		return row
	case len(m.wide) == 0:
		return 0
	}
	i := sort.Search(len(m.wide), func(i int) bool { return m.wide[i].row > row })
	if i == 0 {
		return row
	}
	return row + m.wide[i-1].extra
}

// locate says where in the file the row of an error is.
func (w *worker) locate(err error) error {
	if err == nil || err == errStopped {
		return err
	}
	refused, is := errors.AsType[*sink.RowError](err)
	if !is {
		return err
	}
	at := *refused
	at.Row, at.Line = 0, 0
	for i := len(w.marks) - 1; i >= 0; i-- {
		m := w.marks[i]
		switch {
		case refused.Line > m.lines:
			if row := m.rowAt(refused.Line - m.lines); row > 0 {
				at.Row = m.row + row
			}
			if w.csv && !m.moved {
				at.Line = w.pl.prepare.headerLines + m.line + refused.Line - m.lines
			}
		case refused.Row > m.rows:
			at.Row = m.row + refused.Row - m.rows
			if line := m.lineAt(refused.Row - m.rows); w.binary && w.csv && !m.moved && line > 0 {
				at.Line = w.pl.prepare.headerLines + m.line + line
			}
		default:
			continue
		}
		break
	}
	located := &fs.PathError{Op: "load", Path: w.file, Err: &at}
	if errors.Is(err, sink.ErrLocked) {
		return fmt.Errorf("%w: %w", sink.ErrLocked, located)
	}
	return located
}
