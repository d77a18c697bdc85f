package secureconn_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"culvert/secureconn"
)

// bulk returns the records of a long stream, of all sizes and with re-keys among them, and what they hold.
func bulk(c *chain, random *rand.Rand) (stream records, content []byte) {
	content = noise(1<<20 + random.IntN(3<<20))
	for rest := content; len(rest) > 0; {
		if len(stream) > 0 && random.IntN(10) == 0 && stream[len(stream)-1][0] != 2 {
			stream = append(stream, c.seal(2, nil))
		}
		n := min(len(rest), 1+random.IntN(1<<(1+random.IntN(19))))
		stream, rest = append(stream, c.seal(1, rest[:n])), rest[n:]
	}
	return append(stream, c.seal(3, nil)), content
}

// bulkChanges are what somebody may do to the records, at random. They never leave the stream as it was.
var bulkChanges = map[string]func(records, *rand.Rand) []byte{
	"bit": func(r records, random *rand.Rand) []byte {
		stream := slices.Concat(r...)
		stream[random.IntN(len(stream))] ^= 1 << random.IntN(8)
		return stream
	},
	"cut": func(r records, random *rand.Rand) []byte {
		stream := slices.Concat(r...)
		return stream[:random.IntN(len(stream))]
	},
	"left out": func(r records, random *rand.Rand) []byte {
		i := random.IntN(len(r))
		return slices.Concat(slices.Delete(r, i, i+1)...)
	},
	"repeated": func(r records, random *rand.Rand) []byte {
		i := random.IntN(len(r) - 1)
		return slices.Concat(slices.Insert(r, i+random.IntN(len(r)-1-i), r[i])...)
	},
	"swapped": func(r records, random *rand.Rand) []byte {
		i := random.IntN(len(r) - 1)
		k := i + 1 + random.IntN(len(r)-1-i)
		r[i], r[k] = r[k], r[i]
		return slices.Concat(r...)
	},
	"type": func(r records, random *rand.Rand) []byte {
		i := random.IntN(len(r))
		r[i][0] = 1 + (r[i][0]+byte(random.IntN(2)))%3
		return slices.Concat(r...)
	},
	"bytes of a piece": func(r records, random *rand.Rand) []byte {
		stream := slices.Concat(r...)
		i := random.IntN(len(stream))
		for k := i; k < min(len(stream), i+1+random.IntN(100_000)); k++ {
			stream[k]++
		}
		return stream
	},
}

// TestBulkAttacks has somebody change a long stream, of which several records are on their way at once. What is read is
// the beginning of what was sent, in every way to read.
func TestBulkAttacks(t *testing.T) {
	rounds := uint64(6)
	if raceEnabled {
		rounds = 2
	}
	for name, change := range bulkChanges {
		for seed := range rounds {
			for reader, read := range streamReaders(4 << 20) {
				t.Run(name+", "+reader, func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(seed, 9))
					conn, other := withSecondOver(t, true, connections[[]string{"tcp", "pipe"}[seed%2]])
					genuine, content := bulk(other.send, random)
					stream := change(genuine, random)
					var background sync.WaitGroup
					defer background.Wait()
					defer other.conn.Close()
					background.Go(func() {
						_, _ = other.conn.Write(stream)
						other.conn.Close()
					})
					got, err := read(conn)
					if reader == "Read" && err == nil {
						_, err = conn.Read(make([]byte, 1)) // io.ReadFull has hidden the error
					}
					if err == nil || err == io.EOF || !bytes.HasPrefix(content, got) {
						t.Errorf("read %d of %d bytes, %v", len(got), len(content), err)
					}
					if _, again := conn.Read(make([]byte, 1)); again != err {
						t.Errorf("the error was %v, and then %v", err, again)
					}
					if !errors.Is(err, secureconn.ErrRecord) {
						return
					}
					if _, err := conn.Write([]byte("x")); !errors.Is(err, secureconn.ErrRecord) {
						t.Errorf("Write after that has the error %v", err)
					}
				})
			}
		}
	}
}
