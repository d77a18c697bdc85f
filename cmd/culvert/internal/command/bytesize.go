package command

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ByteSize is the value of a flag that is a number of bytes above zero, such as 256MiB.
type ByteSize int64

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

// Set implements pflag.Value.
func (b *ByteSize) Set(value string) error {
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
	*b = ByteSize(n * unit)
	return nil
}

// String returns the number of bytes.
func (b *ByteSize) String() string {
	if *b == 0 {
		return ""
	}
	return fmt.Sprint(int64(*b))
}

// Type implements pflag.Value.
func (b *ByteSize) Type() string { return "size" }
