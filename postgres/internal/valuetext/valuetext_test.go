package valuetext_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"culvert/postgres/internal/valuetext"
)

// TestTimes compares times with what package time prints.
func TestTimes(t *testing.T) {
	const timestamptz, date = 1184, 1082
	check := func(oid uint32, value []byte, at time.Time, layout, zone string) {
		year, suffix := at.Year(), ""
		if year < 1 {
			year, suffix = 1-year, " BC"
		}
		want := fmt.Sprintf("%04d", year) + at.Format(layout) + zone + suffix
		got, ok := valuetext.Of(oid).Print(nil, value)
		if !ok || string(got) != want {
			t.Fatalf("%x is %q, want %q", value, got, want)
		}
	}
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	checkTime := func(micros int64) {
		at := time.Unix(epoch.Unix()+micros/1e6, micros%1e6*1000).UTC()
		check(timestamptz, binary.BigEndian.AppendUint64(nil, uint64(micros)), at, "-01-02 15:04:05.999999", "+00")
	}
	for _, micros := range []int64{
		0, 1, -1, 999_999, -999_999, 1e6, -1e6, 86_400e6 - 1, -86_400e6, math.MaxInt64 - 1, math.MinInt64 + 1,
	} {
		checkTime(micros)
	}
	random := rand.New(rand.NewPCG(1, 0))
	for range 200_000 {
		checkTime(random.Int64() - random.Int64())
		checkTime((random.Int64N(8e11) - 4e11) * random.Int64N(1e6))
		days := int32(random.Uint32())
		if days == math.MaxInt32 || days == math.MinInt32 {
			continue
		}
		at := epoch.AddDate(0, 0, int(days))
		check(date, binary.BigEndian.AppendUint32(nil, uint32(days)), at, "-01-02", "")
	}
	for _, micros := range []int64{math.MaxInt64, math.MinInt64} {
		got, ok := valuetext.Of(timestamptz).Print(nil, binary.BigEndian.AppendUint64(nil, uint64(micros)))
		if !ok || strings.TrimPrefix(string(got), "-") != "infinity" {
			t.Errorf("%d is %q", micros, got)
		}
	}
}
