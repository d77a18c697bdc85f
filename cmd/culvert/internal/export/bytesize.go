package export

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is the value of a flag that is a number of bytes above zero, such as 256MiB.
type byteSize int64

// byteUnits are the units of a size, the longest first.
var byteUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
}

func (b *byteSize) Set(value string) error {
	number, unit := value, 1.0
	for _, u := range byteUnits {
		if rest, found := strings.CutSuffix(value, u.name); found {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n*unit >= 1) || n*unit > math.MaxInt64/2 {
		return errors.New("it must be a size such as 256MiB or 1GiB")
	}
	*b = byteSize(n * unit)
	return nil
}

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return fmt.Sprint(int64(*b))
}

func (b *byteSize) Type() string { return "size" }
