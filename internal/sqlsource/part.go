package sqlsource

import (
	"encoding/json"
	"fmt"

	"culvert/source"
)

// NumberOfParts returns how many parts of size bytes a table has, at least one. The error begins with the name of the
// source's package.
func NumberOfParts(name string, bytes, size int64) (int64, error) {
	if size <= 0 {
		return 0, fmt.Errorf("%s: the size of a part is %d bytes; it must be more than 0", name, size)
	}
	n := bytes / size
	if bytes%size > 0 {
		n++
	}
	if n > source.MaxParts {
		return 0, fmt.Errorf("%s: there would be %d parts of %d bytes, and %d is the most; choose larger ones",
			name, n, size, source.MaxParts)
	}
	return max(1, n), nil
}

// Texts writes texts, such as the values of a key, for a [source.Range]. They must be UTF-8.
func Texts(texts []string) (string, error) {
	text, err := json.Marshal(texts)
	return string(text), err
}

// ReadTexts reads what Texts has written: at least one text.
func ReadTexts(text string) ([]string, error) {
	var texts []string
	err := json.Unmarshal([]byte(text), &texts)
	if err == nil && len(texts) == 0 {
		err = fmt.Errorf("%q has no texts", text)
	}
	return texts, err
}
