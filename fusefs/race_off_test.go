//go:build !race

package fusefs_test

// raceEnabled says whether the race detector is on, under which everything takes ten times as long.
const raceEnabled = false
