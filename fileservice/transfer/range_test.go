package transfer

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
)

// TestTransferRanges cuts a file of 600 blocks into the ranges of calls.
func TestTransferRanges(t *testing.T) {
	client, err := client.New(client.Config{Connections: 2, Dial: func(context.Context) (net.Conn, error) {
		return nil, fileservice.ErrUnreachable
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []struct {
		delay time.Duration
		most  int64 // blocks of a call
		least int64 // but for the last one
	}{
		{0, 4, 1},
		{24 * time.Millisecond, 4, 1},
		{100 * time.Millisecond, 15, 3},
		{time.Second, 32, 8},
	} {
		transfer := newTransfer(t.Context(), Config{})
		transfer.use(client.Place(), reading, 0)
		transfer.expect(c.delay)
		it := &item{size: 600 * fileservice.BlockSize, ranges: []fileservice.BlockRange{{First: 0, Count: 600}}}
		transfer.begun = []*item{it}
		var counts []int64
		next := int64(0)
		for len(transfer.begun) > 0 {
			_, blocks := transfer.takeRange()
			if blocks.First != next {
				t.Fatalf("%v: a call begins with block %d, and not %d", c.delay, blocks.First, next)
			}
			next += blocks.Count
			counts = append(counts, blocks.Count)
		}
		if next != 600 {
			t.Errorf("%v: %d blocks of 600", c.delay, next)
		}
		last := len(counts) - 1
		if counts[0] != c.most || slices.Max(counts) != c.most || slices.Min(counts[:last]) != c.least {
			t.Errorf("%v: calls of %v blocks, which should be from %d to %d", c.delay, counts, c.least, c.most)
		}
	}
}
