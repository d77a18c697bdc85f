package command

import (
	"errors"

	"filippo.io/age"
	"filippo.io/age/armor"

	"culvert/agefile"
	"culvert/export"
	"culvert/fileservice/transfer"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
	"culvert/load"
	"culvert/manifest"
	"culvert/place"
	"culvert/secureconn"
	"culvert/sink"
	"culvert/source"
	"culvert/wal"
)

// The exit codes. 2 is not among them: it is that of Go's own panics.
const (
	ExitDone        = 0
	ExitFailed      = 1
	ExitPartly      = 3
	ExitUsage       = 4
	ExitSource      = 10
	ExitIdentity    = 11
	ExitIntegrity   = 12
	ExitUnreachable = 13
	ExitInterrupted = 130
)

// ExitCode is the one place that says which error ends with which code.
func ExitCode(err error) int {
	failed, tables, isPartial := partial(err)
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case isPartial && failed < tables, Is[*incompleteError](err):
		return ExitPartly
	case Is[*UsageError](err):
		return ExitUsage
	case Is[*secureconn.PeerError](err):
		return ExitIntegrity
	case errors.Is(err, source.ErrUnavailable), errors.Is(err, secureconn.ErrRefused),
		errors.Is(err, place.ErrRefused) && !errors.Is(err, transfer.ErrPartial) && !IsFull(err):
		return ExitSource
	case Is[*age.NoIdentityMatchError](err), errors.Is(err, ErrNoIdentity), errors.Is(err, keyfile.ErrPassphrase),
		errors.Is(err, wal.ErrKey):
		return ExitIdentity
	case errors.Is(err, agefile.ErrCorrupt), errors.Is(err, compress.ErrCorrupt), errors.Is(err, keyfile.ErrMalformed),
		errors.Is(err, manifest.ErrInvalid), errors.Is(err, export.ErrDamaged),
		errors.Is(err, export.ErrDiffers), errors.Is(err, source.ErrCorrupt),
		errors.Is(err, wal.ErrCorrupt), errors.Is(err, wal.ErrForeign), Is[*armor.Error](err),
		Is[*source.CountError](err), Is[*sink.CountError](err), Is[*load.SumError](err),
		errors.Is(err, place.ErrIntegrity), errors.Is(err, secureconn.ErrRecord), errors.Is(err, ErrAuthor):
		return ExitIntegrity
	case errors.Is(err, place.ErrUnreachable):
		return ExitUnreachable
	case errors.Is(err, transfer.ErrPartial):
		return ExitPartly
	}
	return ExitFailed
}

// partial returns how many of several tables have failed, each of which was reported.
func partial(err error) (failed, tables int, is bool) {
	if exported, is := errors.AsType[*export.PartialError](err); is {
		return exported.Failed, exported.Tables, true
	}
	if loaded, is := errors.AsType[*load.PartialError](err); is {
		return loaded.Failed, loaded.Tables, true
	}
	return 0, 0, false
}

// isReported reports whether every failure in an error was reported before.
func isReported(err error) bool {
	_, _, is := partial(err)
	return is || Is[*incompleteError](err) || Is[ChecksError](err)
}

// Is reports whether an error is, or wraps, one of type E.
func Is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}
