//go:build !linux && !darwin

package ui

import "runtime/metrics"

// PeakMemory is the memory that the Go runtime has taken from the system, in bytes: the nearest thing to the peak that
// every system knows, since the runtime keeps most of what it once had.
func PeakMemory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
