//go:build !linux

package testkit

import (
	"errors"
	"os"
)

func resetPeak() error { return errors.ErrUnsupported }

func readPeak() (int64, error) { return 0, errors.ErrUnsupported }

func childPeak(*os.ProcessState) (int64, bool) { return 0, false }
