package load

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsGiven reads the flags that it prints.
func TestFlagsGiven(t *testing.T) {
	add := func() *pflag.FlagSet {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.BoolP("verbose", "v", false, "")
		flags.StringSlice("convert", nil, "")
		flags.StringArray("identity", nil, "")
		flags.Duration("lock-timeout", 0, "")
		flags.String("unused", "", "")
		return flags
	}
	given := add()
	if err := given.Parse([]string{
		"-v", "--convert", `a b,"c,d"`, "--identity", "x,y", "--identity", "it's", "--lock-timeout", "5m",
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`--convert='a b'`, `--convert='"c,d"'`, "--identity=x,y", `--identity='it'\''s'`,
		"--lock-timeout=5m0s", "--verbose",
	}
	if got := flagsGiven(given); !slices.Equal(got, want) {
		t.Errorf("the flags are %q, want %q", got, want)
	}
}
