// Command culvert gets tables out of a database, encrypted from the first byte. See culvert help.
package main

import (
	"os"

	"culvert/cmd/culvert/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
