//go:build !unix

package ui

import (
	"errors"
	"os"
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

// understandsEscapes is false: old consoles print the codes, and a question that stays does no harm.
func understandsEscapes(*os.File) bool { return false }
