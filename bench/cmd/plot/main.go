// Command plot writes the figures of the documentation from the recorded results of the benchmarks.
//
//	cd bench && go run ./cmd/plot [-results DIR] [PAGE]
//
// A page of Markdown, docs/performance.md if none is named, says where it wants figures:
//
//	<!-- figures: exports 2026-11-23-xeon-2 2026-11-21-xeon-4 -->
//	<!-- end of figures -->
//
// Between such lines the program writes a picture and a table of one topic; topics.go has the list. The names are those
// of directories of results, and each gets a column of the table. The picture, an SVG in the directory pictures
// beside the page, shows the first of them. The same samples give the same bytes, so a page that does not change is
// current.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("plot", flag.ContinueOnError)
	results := flags.String("results", "results", "directory of the directories of results")
	if err := flags.Parse(args); err != nil {
		return err
	}
	name := "../docs/performance.md"
	switch flags.NArg() {
	case 0:
	case 1:
		name = flags.Arg(0)
	default:
		return errors.New("only one page can be written at a time")
	}
	return writePage(name, *results)
}
