package pgdump

import (
	"testing"

	"culvert/source"
)

// Divide is divide.
func Divide(all []string) []source.Statement { return divide(all) }

// Find is find, with other directories than those of packages. It returns the version.
func Find(t *testing.T, directory string, server int) (string, error) {
	was := directories
	t.Cleanup(func() { directories = was })
	directories = []string{directory}
	found, err := find(t.Context(), server)
	if err != nil {
		return "", err
	}
	return found.version, nil
}
