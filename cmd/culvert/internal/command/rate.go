package command

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"culvert/pace"
)

// RateFlag is the value of --rate: how fast rows may move, or nil.
type RateFlag struct{ Limit *pace.Limit }

// Add adds the flag.
func (f *RateFlag) Add(flags *pflag.FlagSet) {
	flags.Var(f, "rate", "move at most `RATE`, such as 50MB/s of text or 10000rows/s")
}

// Set implements [pflag.Value].
func (f *RateFlag) Set(text string) (err error) {
	if f.Limit, err = pace.Parse(text); err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "pace: "))
	}
	return err
}

func (f *RateFlag) String() string { return f.Limit.String() }

// Type implements [pflag.Value].
func (*RateFlag) Type() string { return "rate" }

// Paced adds a limit, if there is one, to the name of what progress shows.
func Paced(name string, limit *pace.Limit) string {
	if limit == nil {
		return name
	}
	return name + ", at most " + limit.String()
}
