package format

import "culvert/source"

// Lossy says how a format writes values that do not fit the type of their column.
type Lossy uint8

// The values of Lossy.
const (
	NotLossy    Lossy = iota // a value that does not fit is an error
	LossyNull                // it is written as NULL
	LossyString              // columns of types that may have such values are written as text
)

// LossyNames are the names of the values of Lossy, as users write them.
var LossyNames = map[string]Lossy{"null": LossyNull, "string": LossyString}

// String returns the name, or "".
func (l Lossy) String() string {
	for name, one := range LossyNames {
		if one == l {
			return name
		}
	}
	return ""
}

// Fitting is implemented by formats with types that some values do not fit.
type Fitting interface {
	Format

	// Fitter returns a Fitter for the values of columns, as the dialect prints them, and the columns for the Encoder.
	Fitter(columns []source.Column, printed source.Dialect, how Lossy) (Fitter, []source.Column, error)
}

// Fitter makes values fit. It is safe for concurrent use.
type Fitter interface {
	// Fit returns b if all its values fit. Otherwise it fills dst with the rows of b, replaces the values that do not
	// fit, and returns dst. Rows that b lends are lent in dst too, so b must not change while dst is used.
	Fit(dst, b *source.Batch) *source.Batch

	// Unfit returns how many values of each column did not fit so far.
	Unfit() []int64
}
