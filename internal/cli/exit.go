package cli

import (
	"errors"

	"filippo.io/age"
	"filippo.io/age/armor"

	"culvert/agefile"
	"culvert/export"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
	"culvert/source"
	"culvert/wal"
)

// The exit codes. 2 is not among them: it is that of Go's own panics.
const (
	exitDone        = 0
	exitFailed      = 1
	exitPartly      = 3
	exitUsage       = 4
	exitSource      = 10
	exitIdentity    = 11
	exitIntegrity   = 12
	exitInterrupted = 130
)

// exitCodes is the text of culvert help exit-codes.
const exitCodes = `Culvert ends with one of these codes:

    0    done
    1    failed, for a reason that has no code of its own
    3    partly done: some of several tables have failed, the others are
         complete, and the manifest says which
    4    usage: the command line makes no sense
   10    the source cannot be reached, refuses the connection, or goes away
   11    no identity matched: the file is encrypted to others, or the
         passphrase is wrong
   12    integrity: damaged, cut off, or not what it claims to be
  130    interrupted by a signal

2 is left to the Go runtime, for a crash of the program itself; 13 to commands
that connect to other machines.

Whatever the code, a file has its final name only if it is complete.`

// exitCode is the one place that says which error ends with which code.
func exitCode(err error) int {
	partial, isPartial := errors.AsType[*export.PartialError](err)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case isPartial && partial.Failed < partial.Tables:
		return exitPartly
	case is[*usageError](err):
		return exitUsage
	case errors.Is(err, source.ErrUnavailable):
		return exitSource
	case is[*age.NoIdentityMatchError](err), errors.Is(err, errNoIdentity), errors.Is(err, keyfile.ErrPassphrase),
		errors.Is(err, wal.ErrKey):
		return exitIdentity
	case errors.Is(err, agefile.ErrCorrupt), errors.Is(err, compress.ErrCorrupt), errors.Is(err, keyfile.ErrMalformed),
		errors.Is(err, export.ErrManifest), errors.Is(err, errDamaged), errors.Is(err, source.ErrCorrupt),
		errors.Is(err, wal.ErrCorrupt), errors.Is(err, wal.ErrForeign), is[*armor.Error](err),
		is[*source.CountError](err):
		return exitIntegrity
	}
	return exitFailed
}

// is reports whether an error is, or wraps, one of type E.
func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}
