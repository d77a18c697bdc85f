//go:build !race

package agefile_test

// allocRounds is how many groups of 8 spans an allocation test reads.
const allocRounds = 15

// sizes lie on both sides of every border: of a chunk, a span, and the memory of two workers.
var sizes = []int{
	0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 3*chunk + 5,
	span - 1, span, span + 1, span + chunk, 2 * span, 4 * span, 4*span + 1, 5*span + 77,
}
