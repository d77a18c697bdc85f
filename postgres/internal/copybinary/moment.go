package copybinary

import (
	"encoding/binary"

	"culvert/internal/canonical"
	"culvert/source"
)

// Dates are days, and times microseconds, since the beginning of the year 2000 (date_recv in date.c, timestamp_recv in
// timestamp.c).
const (
	daysBefore2000 = 10_957 // since 1970
	hour           = 60 * 60 * 1_000_000
	before2000     = daysBefore2000 * 24 * hour
)

func date(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	days, rest, ok := canonical.ParseDay(value)
	if !ok || len(rest) > 0 || kind == source.Bytes {
		return dst, false
	}
	return binary.BigEndian.AppendUint32(dst, uint32(int32(days-daysBefore2000))), true
}

func timeOfDay(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	clock, rest, ok := canonical.ParseClock(value)
	if !ok || len(rest) > 0 || kind == source.Bytes {
		return dst, false
	}
	return binary.BigEndian.AppendUint64(dst, uint64(clock)), true
}

// timestamp is a date and a time. One with a time zone is an instant, whose offset may be named.
func timestamp(isZoned bool) column {
	return func(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
		moment, rest, ok := canonical.ParseMoment(value)
		if !ok || kind == source.Bytes || len(rest) > 0 && !isZoned {
			return dst, false
		}
		east, ok := canonical.ParseZone(rest)
		const most = 16 * hour // the server takes less
		if !ok || east >= most || east <= -most {
			return dst, false
		}
		return binary.BigEndian.AppendUint64(dst, uint64(moment-east-before2000)), true
	}
}
