package fileservice

import (
	"errors"
	"fmt"
)

// ProtocolVersion is the version of the protocol that this module implements.
const ProtocolVersion = 1

// HashName names the hash of files and blocks.
const HashName = "BLAKE3"

// Capabilities says what a server supports. Sizes are in bytes.
type Capabilities struct {
	Version          int
	BlockSize        int
	Hash             string
	MaxMessageSize   int // of a request
	MaxSmallFileSize int // of a file in ReadFiles and WriteFiles
	MaxSmallFiles    int // in one call
	MaxPieceSize     int // of a range in ReadPieces
	MaxPieces        int // in one request
	Writable         bool
}

// Check returns an error that wraps [errors.ErrUnsupported] if this module cannot use such a server.
func (c Capabilities) Check() error {
	switch {
	case c.Version != ProtocolVersion:
		return fmt.Errorf("fileservice: the server uses protocol version %d: %w", c.Version, errors.ErrUnsupported)
	case c.Hash != HashName:
		return fmt.Errorf("fileservice: the server uses the hash %q: %w", c.Hash, errors.ErrUnsupported)
	case c.BlockSize != BlockSize:
		return fmt.Errorf("fileservice: the server uses blocks of %d bytes: %w", c.BlockSize, errors.ErrUnsupported)
	}
	return nil
}
