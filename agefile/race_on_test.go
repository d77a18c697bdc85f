//go:build race

package agefile_test

// allocRounds is how many groups of 8 spans an allocation test reads. Nothing is counted under the race detector.
const allocRounds = 2

// sizes are those that differ in what runs at the same time. Without the race detector there are more.
var sizes = []int{0, 1, chunk + 1, span - 1, span, span + 1, 4*span + 1}
