package fileservice

import (
	"errors"
	"fmt"
)

// ProtocolVersion is the version of the protocol that this module implements.
const ProtocolVersion = 2

// SumName names what makes the sums of blocks and files.
const SumName = "XXH3-128"

// Capabilities says what a server supports. Sizes are in bytes.
type Capabilities struct {
	Version          int
	BlockSize        int
	SumName          string
	MaxMessageSize   int // of a request
	MaxSmallFileSize int // of a file that WriteFiles sends
	MaxSmallFiles    int // in one call
	Writable         bool
}

// Check returns an error that wraps [errors.ErrUnsupported] if this module cannot use such a server.
func (c Capabilities) Check() error {
	switch {
	case c.Version != ProtocolVersion:
		return fmt.Errorf("fileservice: the server uses protocol version %d: %w", c.Version, errors.ErrUnsupported)
	case c.SumName != SumName:
		return fmt.Errorf("fileservice: the server uses sums of %q: %w", c.SumName, errors.ErrUnsupported)
	case c.BlockSize != BlockSize:
		return fmt.Errorf("fileservice: the server uses blocks of %d bytes: %w", c.BlockSize, errors.ErrUnsupported)
	}
	return nil
}
