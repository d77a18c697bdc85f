package format

import "fmt"

// ValueError reports a value that the format cannot hold as a value of the type of its column.
type ValueError struct {
	Column string
	Row    int64  // counts from 1 in the batch; package export counts from the first row; 0 if rows have no order
	Reason string // a sentence without the value: "it is NaN, which …"
}

func (e *ValueError) Error() string {
	if e.Row == 0 {
		return fmt.Sprintf("format: column %q: the value does not fit: %s", e.Column, e.Reason)
	}
	return fmt.Sprintf("format: column %q, row %d: the value does not fit: %s", e.Column, e.Row, e.Reason)
}
