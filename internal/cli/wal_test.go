package cli

import (
	"testing"
	"time"
)

func TestTimeText(t *testing.T) {
	for want, at := range map[string]time.Time{
		"2001-09-09T01:46:40.000000005Z": time.Unix(1e9, 5).UTC(),
		"2001-09-09T03:16:40+01:30":      time.Unix(1e9, 0).In(time.FixedZone("", 90*60)),
		"2001-09-09T01:46:40Z":           time.Unix(1e9, 0).In(time.FixedZone("", 1172)), // 19 minutes and 32 seconds
		"1970-01-01T00:00:00Z":           time.Unix(0, 0).In(time.FixedZone("", 100*3600)),
		"33658-09-27T01:46:40Z":          time.Unix(1e12, 0).UTC(),
		"0001-01-01T00:00:00Z":           {},
	} {
		if got := timeText(at); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
