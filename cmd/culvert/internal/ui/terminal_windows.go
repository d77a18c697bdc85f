package ui

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openTerminal opens the console by the names that Windows has for it.
func openTerminal() (in, out *os.File, err error) {
	if in, err = os.OpenFile("CONIN$", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	if out, err = os.OpenFile("CONOUT$", os.O_WRONLY, 0); err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, out, nil
}

func closeTerminal(in, out *os.File) error { return errors.Join(in.Close(), out.Close()) }

// understandsEscapes turns on the escape sequences of a console, which those before Windows 10 do not have.
func understandsEscapes(f *os.File) bool {
	console, mode := windows.Handle(f.Fd()), uint32(0)
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
