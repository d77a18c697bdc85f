package command

import (
	"errors"
	"fmt"
	"regexp"
	"syscall"
	"testing"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/cmd/culvert/internal/help"
	"culvert/export"
	"culvert/fileservice"
	"culvert/fileservice/transfer"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
	"culvert/load"
	"culvert/manifest"
	"culvert/secureconn"
	"culvert/sink"
	"culvert/source"
)

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("some error"), 1},
		{Usagef("bad flag"), 4},
		{source.ErrUnavailable, 10},
		{&age.NoIdentityMatchError{}, 11},
		{ErrNoIdentity, 11},
		{keyfile.ErrPassphrase, 11},
		{agefile.ErrCorrupt, 12},
		{compress.ErrCorrupt, 12},
		{keyfile.ErrMalformed, 12},
		{source.ErrCorrupt, 12},
		{&source.CountError{Received: 1, Confirmed: 2}, 12},
		{manifest.ErrInvalid, 12},
		{export.ErrDamaged, 12},
		{export.ErrDiffers, 12},
		{&export.PartialError{Failed: 1, Tables: 2}, 3},
		{&export.PartialError{Failed: 2, Tables: 2}, 1},
		{&load.PartialError{Failed: 1, Tables: 2}, 3},
		{&load.PartialError{Failed: 2, Tables: 2}, 1},
		{&load.SumError{}, 12},
		{&sink.CountError{}, 12},
		{sink.ErrNotEmpty, 1},
		{sink.ErrGone, 1},
		{&secureconn.PeerError{}, 12},
		{fmt.Errorf("%w: %w", fileservice.ErrUnreachable, &secureconn.PeerError{}), 12},
		{secureconn.ErrRecord, 12},
		{fileservice.ErrIntegrity, 12},
		{fmt.Errorf("%w: %w", transfer.ErrPartial, fileservice.ErrIntegrity), 12},
		{fileservice.ErrUnreachable, 13},
		{fmt.Errorf("%w: %w", fileservice.ErrUnreachable, secureconn.ErrRefused), 10},
		{fileservice.ErrRefused, 10},
		{fmt.Errorf("%w: %w", transfer.ErrPartial, fileservice.ErrRefused), 3},
		{fmt.Errorf("%w: %w", fileservice.ErrRefused, syscall.ENOSPC), 1},
		{fmt.Errorf("%w: %w", fileservice.ErrRefused, syscall.EDQUOT), 1},
		{fmt.Errorf("%w: %w: %w", transfer.ErrPartial, fileservice.ErrRefused, syscall.ENOSPC), 3},
		{syscall.ENOSPC, 1},
		{transfer.ErrPartial, 3},
		{fileservice.ErrChanged, 1},
		{ErrInterrupted, 130},
		{errors.Join(ErrInterrupted, source.ErrUnavailable), 130},
		{&source.UnknownError{What: "table", Name: "x"}, 1},
	} {
		wrapped := test.err
		if wrapped != nil {
			wrapped = WithHint(fmt.Errorf("export: %w", test.err), "a hint")
		}
		for _, err := range []error{test.err, wrapped} {
			if got := ExitCode(err); got != test.want {
				t.Errorf("%v has code %d, want %d", err, got, test.want)
			}
		}
		line := regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d    `, test.want))
		if !line.MatchString(help.Text("topics/exit-codes.txt")) {
			t.Errorf("the help does not explain code %d", test.want)
		}
	}
}
