package cli

import (
	"errors"

	"filippo.io/age"
	"filippo.io/age/armor"

	"culvert/agefile"
	"culvert/export"
	"culvert/fileservice"
	"culvert/fileservice/transfer"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
	"culvert/secureconn"
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
	exitUnreachable = 13
	exitInterrupted = 130
)

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
	case is[*secureconn.PeerError](err):
		return exitIntegrity
	case errors.Is(err, source.ErrUnavailable), errors.Is(err, secureconn.ErrRefused),
		errors.Is(err, fileservice.ErrRefused) && !errors.Is(err, transfer.ErrPartial):
		return exitSource
	case is[*age.NoIdentityMatchError](err), errors.Is(err, errNoIdentity), errors.Is(err, keyfile.ErrPassphrase),
		errors.Is(err, wal.ErrKey):
		return exitIdentity
	case errors.Is(err, agefile.ErrCorrupt), errors.Is(err, compress.ErrCorrupt), errors.Is(err, keyfile.ErrMalformed),
		errors.Is(err, export.ErrManifest), errors.Is(err, export.ErrDamaged), errors.Is(err, source.ErrCorrupt),
		errors.Is(err, wal.ErrCorrupt), errors.Is(err, wal.ErrForeign), is[*armor.Error](err),
		is[*source.CountError](err), errors.Is(err, fileservice.ErrIntegrity), errors.Is(err, secureconn.ErrRecord):
		return exitIntegrity
	case errors.Is(err, fileservice.ErrUnreachable):
		return exitUnreachable
	case errors.Is(err, transfer.ErrPartial):
		return exitPartly
	}
	return exitFailed
}

// is reports whether an error is, or wraps, one of type E.
func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}
