//go:build race

package mountsuite

// raceEnabled says whether the race detector is on, under which everything takes ten times as long.
const raceEnabled = true
