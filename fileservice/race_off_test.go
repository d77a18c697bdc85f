//go:build !race

package fileservice_test

// raceEnabled says whether the race detector is on, under which a GiB takes ten times as long.
const raceEnabled = false
