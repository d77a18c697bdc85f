package format

import "culvert/source"

// outsized reports whether a batch holds a value so large that the size of its text is worth finding out before it is
// made: an estimate that is too small leaves the old and the new buffer in memory at once.
func outsized(b *source.Batch) bool { return b.Size() > 2*source.BatchSize }
