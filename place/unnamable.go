package place

import (
	"fmt"
	"io/fs"
)

// NamedUnnamables is how many names an UnnamableError has at most.
const NamedUnnamables = 3

// An UnnamableError reports that a listing omits Count entries, since no path leads to them: their names are not valid
// UTF-8, are too long, or have control characters, or they are objects of a bucket with keys such as "a//b". ReadDir
// returns it after all other entries. It is an fs.ErrInvalid.
type UnnamableError struct {
	Count uint64

	// Names are those of the first entries, if the place tells them.
	Names []string
}

func (e *UnnamableError) Error() string {
	text := fmt.Sprintf("place: %d entries have names that no path can hold", e.Count)
	if e.Count == 1 {
		text = "place: 1 entry has a name that no path can hold"
	}
	for i, name := range e.Names {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += fmt.Sprintf("%s%q", separator, name)
	}
	if len(e.Names) > 0 && uint64(len(e.Names)) < e.Count {
		text += ", …"
	}
	return text
}

// Unwrap returns fs.ErrInvalid.
func (e *UnnamableError) Unwrap() error { return fs.ErrInvalid }
