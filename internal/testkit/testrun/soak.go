package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// slice is a part of the long forms of tests, which takes a few minutes.
type slice struct {
	name     string
	packages []string
	tests    string // a regular expression for -run
}

// soakSlices are all long forms.
var soakSlices = []slice{}

// soak runs slices of the long forms of tests: those that are named, all, or the one whose turn it is today. So each gets
// its turn where it runs once a day or at each change.
func soak(ctx context.Context, r *report, names []string) error {
	if len(names) == 0 {
		names = []string{"all"}
	}
	r.environment = append(r.environment, "CULVERT_TEST_ALL=1", "CULVERT_TEST_SOAK=1")
	var chosen []slice
	for _, name := range names {
		switch {
		case name == "all":
			chosen = append(chosen, soakSlices...)
		case name == "today":
			day := int(time.Now().Unix() / (24 * 60 * 60))
			chosen = append(chosen, soakSlices[day%len(soakSlices)])
		default:
			i := slices.IndexFunc(soakSlices, func(s slice) bool { return s.name == name })
			if i < 0 {
				return fmt.Errorf("there is no slice %q: there are %s", name, strings.Join(soakNames(), ", "))
			}
			chosen = append(chosen, soakSlices[i])
		}
	}
	for _, s := range chosen {
		p := pass{name: "soak " + s.name, dir: ".", flags: []string{parallel, "-run", s.tests}, packages: s.packages}
		_, _ = fmt.Fprintf(os.Stdout, "\nto repeat this: ./dev soak %s\n", s.name)
		if err := r.goTest(ctx, p); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

func soakNames() (names []string) {
	for _, s := range soakSlices {
		names = append(names, s.name)
	}
	return names
}
