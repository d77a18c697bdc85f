//go:build unix

package ui

import "os"

func openTerminal() (in, out *os.File, err error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return tty, tty, err
}

func closeTerminal(in, _ *os.File) error { return in.Close() }

func understandsEscapes(*os.File) bool { return os.Getenv("TERM") != "dumb" }
