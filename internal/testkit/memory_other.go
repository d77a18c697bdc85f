//go:build !linux

package testkit

import "errors"

func resetPeak() error { return errors.ErrUnsupported }

func readPeak() (int64, error) { return 0, errors.ErrUnsupported }
