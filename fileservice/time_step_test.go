package fileservice

import (
	"testing"
	"time"
)

func TestTimeStep(t *testing.T) {
	const ms = time.Millisecond
	at := func(after time.Duration) time.Time { return time.Unix(1_600_000_000, 0).Add(after) }
	for what, c := range map[string]struct {
		modified, changed, want time.Duration
	}{
		"nanoseconds":                     {1, 2, 0},
		"nanoseconds, set to even":        {0, 123_456_789, 0},
		"nanoseconds, set to odd":         {time.Second, 123_456_789, 0},
		"NTFS":                            {1100, 2300, 100},
		"a network":                       {1e6 + 1000, 2e6 + 1000, time.Microsecond},
		"exFAT":                           {20 * ms, 130 * ms, 10 * ms},
		"seconds":                         {time.Second, 7 * time.Second, time.Second},
		"seconds, even by chance":         {0, 8 * time.Second, time.Second},
		"FAT":                             {0, 0, 2 * time.Second},
		"FAT that tells of the making":    {0, 130 * ms, 2 * time.Second},
		"FAT that tells of it, and exFAT": {time.Second, 130 * ms, 10 * ms},
	} {
		if got := timeStepOfTimes(at(c.modified), at(c.changed)); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
	if got := timeStepOfTimes(at(0), time.Time{}); got != 2*time.Second {
		t.Errorf("without any other time: %v", got)
	}
}
