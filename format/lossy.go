package format

import "culvert/source"

// Lossy says what becomes of values that the type of their column does not have, in formats with such types.
type Lossy uint8

// The ways. Without one, such a value ends the work.
const (
	NotLossy    Lossy = iota
	LossyNull         // it is written as NULL
	LossyString       // its column is written as text, if its type is one of which such values are known
)

// LossyNames are the names of the ways, as users write them.
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

// Fitting is implemented by formats whose columns have types that not every value fits.
type Fitting interface {
	Format

	// Fitter returns what makes the values of columns fit, which a system has printed, and the columns for the Encoder.
	Fitter(columns []source.Column, printed source.Dialect, how Lossy) (Fitter, []source.Column, error)
}

// Fitter makes values fit. It is safe for concurrent use.
type Fitter interface {
	// Fit returns the batch b if all values fit as they are. Otherwise it fills dst with those that do, in place of the
	// others what Lossy says, and returns dst. A row that is lent stays so, and b as long as dst is used.
	Fit(dst, b *source.Batch) *source.Batch

	// Unfit returns how many values of each column did not fit until now.
	Unfit() []int64
}
