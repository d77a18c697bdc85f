package grammar

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestUsualMoment changes characters of dates and times: what is said at first sight is what reading them says.
func TestUsualMoment(t *testing.T) {
	const others = "0123456789-: .TZ+/\xb0"
	r := rand.New(rand.NewPCG(12, 1))
	usual := 0
	for range 50_000 {
		moment := moment{date: true, clock: true, years: 4, zeros: r.IntN(2) == 0, places: r.IntN(7)}
		at := time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC()
		text := []byte(at.Format("2006-01-02 15:04:05.000000")[:len("2006-01-02 15:04:05")+r.IntN(8)])
		for range r.IntN(3) {
			text[r.IntN(len(text))] = others[r.IntN(len(others))]
		}
		if !moment.isUsual(text) {
			continue
		}
		usual++
		if reason := moment.read(text); reason != "" {
			t.Errorf("%q in %+v: %s", text, moment, reason)
		}
	}
	if usual < 10_000 {
		t.Errorf("only %d are usual", usual)
	}
}
