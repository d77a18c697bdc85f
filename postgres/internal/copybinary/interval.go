package copybinary

import (
	"bytes"
	"encoding/binary"
	"math"

	"culvert/internal/canonical"
	"culvert/source"
)

// units are those of an interval as IntervalStyle = postgres prints them, in the order in which it does, and their
// months or days.
var units = []struct {
	name         string
	months, days int64
}{
	{"year", 12, 0}, {"mon", 1, 0}, {"day", 0, 1},
}

// interval is microseconds, days and months, each with a sign of its own (interval_recv in timestamp.c).
func interval(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
	if kind == source.Bytes || len(value) == 0 {
		return dst, false
	}
	months, days, clock, unit := int64(0), int64(0), int64(0), 0
	for rest := value; ; {
		word, behind, hasMore := bytes.Cut(rest, []byte{' '})
		if !hasMore {
			var ok bool
			if clock, ok = parseDuration(word); !ok {
				return dst, false
			}
			break
		}
		var name []byte
		name, rest, hasMore = bytes.Cut(behind, []byte{' '})
		n, ok := parseInteger(bytes.TrimPrefix(word, []byte{'+'}))
		ok = ok && !bytes.HasPrefix(word, []byte("+-"))
		name = bytes.TrimSuffix(name, []byte{'s'})
		for unit < len(units) && string(name) != units[unit].name {
			unit++
		}
		if !ok || unit == len(units) || n > math.MaxInt32 || n < -math.MaxInt32 {
			return dst, false
		}
		months += n * units[unit].months
		days += n * units[unit].days
		if unit++; !hasMore {
			break
		}
	}
	if months > math.MaxInt32 || months < -math.MaxInt32 { // the server has one number for years and months
		return dst, false
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(clock))
	dst = binary.BigEndian.AppendUint32(dst, uint32(int32(days)))
	return binary.BigEndian.AppendUint32(dst, uint32(int32(months))), true
}

// parseDuration reads hours, minutes and seconds with a sign, and returns microseconds.
func parseDuration(word []byte) (clock int64, ok bool) {
	signed := len(word) > 0 && (word[0] == '-' || word[0] == '+')
	digits := word
	if signed {
		digits = word[1:]
	}
	hours, rest, ok := bytes.Cut(digits, []byte{':'})
	const mostHours = 9 // digits; times 3.6e9 is less than 2^63
	if !ok || len(hours) < 2 || len(hours) > mostHours || hours[0] == '-' {
		return 0, false
	}
	n, ok := parseInteger(hours)
	if !ok {
		return 0, false
	}
	minutes := append([]byte("00:"), rest...)
	clock, rest, ok = canonical.ParseClock(minutes)
	clock += n * hour
	if signed && word[0] == '-' {
		clock = -clock
	}
	return clock, ok && len(rest) == 0
}
