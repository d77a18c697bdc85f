//go:build !race

package wal

// raceEnabled says whether the race detector is on, under which everything takes ten times as long.
const raceEnabled = false
