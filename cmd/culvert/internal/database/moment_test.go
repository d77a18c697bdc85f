package database

import "testing"

// TestMomentText has locks that last for a short time, and for a long one.
func TestMomentText(t *testing.T) {
	for name, want := range map[string]struct {
		locked float64
		text   string
	}{
		"short": {0.00123, "t: 3 connections began at one moment; others could not commit for 1.2 ms"},
		"long":  {12.345, "t: 3 connections began at one moment; others could not commit for 12345.0 ms"},
	} {
		if got := (MomentReport{Connections: 3, Locked: want.locked}).text("t"); got != want.text {
			t.Errorf("%s: %s", name, got)
		}
	}
}
