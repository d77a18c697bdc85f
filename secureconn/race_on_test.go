//go:build race

package secureconn_test

// raceEnabled makes tests smaller, which the race detector makes ten times as long.
const raceEnabled = true
