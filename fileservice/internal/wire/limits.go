package wire

// Sizes in bytes.
const (
	PartSize    = 31 << 10        // of the data in one message of a Read, which fits into a buffer of gRPC of 32 KiB
	MaxMessage  = 1<<20 + 128<<10 // of the largest message: a block with its fields, or a page of a listing
	DraftIDSize = 16              // of a draft's ID
)
