//go:build !race

package secureconn_test

const raceEnabled = false
