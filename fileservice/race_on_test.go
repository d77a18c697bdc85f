//go:build race

package fileservice

// RaceEnabled says whether the race detector is on, under which a GiB takes ten times as long.
const RaceEnabled = true
