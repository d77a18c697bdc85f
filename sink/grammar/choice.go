package grammar

import (
	"bytes"
	"fmt"
	"slices"

	"culvert/source"
)

// The server takes a value of an ENUM or a SET in letters of another case, with white space at its end, by its place in
// the list, and in a SET in another order and several times, and keeps it as the list has it.

// oneOf is the grammar of an ENUM. The empty text is the error value of an ENUM that does not list it.
func oneOf(values []string) Grammar {
	if values == nil {
		return nil
	}
	isListed := make(map[string]bool, len(values))
	for _, v := range values {
		isListed[v] = true
	}
	return func(kind source.Kind, value []byte) string {
		if kind == source.Bytes || len(value) == 0 || isListed[string(value)] {
			return ""
		}
		return "it is none of the values of the column"
	}
}

// someOf is the grammar of a SET.
func someOf(values []string) Grammar {
	if values == nil {
		return nil
	}
	return func(kind source.Kind, value []byte) string {
		if kind == source.Bytes || len(value) == 0 {
			return ""
		}
		rest, next := value, 0
		for found := true; found; {
			var v []byte
			v, rest, found = bytes.Cut(rest, []byte{','})
			at := slices.IndexFunc(values[next:], func(listed string) bool { return listed == string(v) })
			if at < 0 {
				return "the column takes its values in their order, each once"
			}
			next += at + 1
		}
		return ""
	}
}

// exactly is the grammar of bytes of one length. The server fills up shorter ones with zero bytes.
func exactly(size int) Grammar {
	return func(_ source.Kind, value []byte) string {
		if len(value) < size {
			return fmt.Sprintf("the column would fill it up to %d bytes", size)
		}
		return ""
	}
}
