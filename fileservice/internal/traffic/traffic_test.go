package traffic

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSilence has a count that falls, as when a connection is given up: nothing has moved then.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Silence
		for _, step := range []struct {
			number int64
			want   time.Duration
		}{
			{100, 0},
			{100, time.Second},
			{60, 2 * time.Second},
			{0, 3 * time.Second},
			{10, 0},
			{10, time.Second},
		} {
			if got := s.See(step.number); got != step.want {
				t.Errorf("the silence at %d is %v, want %v", step.number, got, step.want)
			}
			<-time.After(time.Second)
		}
	})
}
