//go:build !race

package agefile_test

// allocRounds is how many groups of 8 spans an allocation test reads.
const allocRounds = 15
