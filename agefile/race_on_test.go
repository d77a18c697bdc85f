//go:build race

package agefile_test

// allocRounds is how many groups of 8 spans an allocation test reads. Nothing is counted under the race detector.
const allocRounds = 2
