package ui

import (
	"slices"
	"strings"
)

// Nearest returns the one of the known names that was probably meant, or "" if none is near.
func Nearest(name string, known []string) string {
	folded := []rune(strings.ToLower(name))
	// About a third of the letters may differ, and at least one; two letters that are swapped count as two.
	best, bestDistance := "", max(1, (len([]rune(name))+1)/3)+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		distance := editDistance(folded, []rune(strings.ToLower(candidate)))
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// editDistance is how many letters have to be inserted, removed or replaced to make b of a (Wagner and Fischer, "The
// String-to-String Correction Problem", 1974).
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1) // from the letters of a so far to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i, letter := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, other := range b {
			replaced := diagonal
			if letter != other {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
