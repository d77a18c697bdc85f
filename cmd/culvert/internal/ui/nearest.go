package ui

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the one of the known names that was probably meant, or "" if none is near.
func Nearest(name string, known []string) string {
	folded := strings.ToLower(name)
	// About a third of the letters may differ, and at least one; two letters that are swapped count as two.
	best, bestDistance := "", max(1, (len([]rune(name))+1)/3)+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		distance := levenshtein.ComputeDistance(folded, strings.ToLower(candidate))
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}
