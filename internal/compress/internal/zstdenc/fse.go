package zstdenc

import "math/bits"

// The limits of the codes, each rounded up to a power of two, so that masked indices need no check.
const (
	minLog     = 5
	maxStates  = 1 << 9
	maxSymbols = 64
)

// The modes of a code in a block.
const (
	predefined = 0
	single     = 1 // all values have one symbol
	described  = 2 // the block has the distribution
)

// fewValues is the number up to which a block uses the predefined distribution.
const fewValues = 48

// coder holds one of the three codes, with the tables for the current block.
//
// An FSE encoder has a state. Each symbol has a share of all states, in proportion to its frequency. To encode a
// symbol, the encoder writes low bits of its state until the rest selects one of the symbol's states, and changes to
// that state. A rare symbol has few states, so it takes more bits.
type coder struct {
	counts [maxSymbols]uint32 // of the block's symbols; all 0 between blocks
	shares [maxSymbols]int16  // states of each symbol; -1 is one state, too

	log     uint // there are 1<<log states
	moves   [maxSymbols]move
	states  [maxStates]uint16 // the states of the first symbol, of the second one, and so on
	current *code             // whose predefined distribution the tables are for, or nil
}

// move is how a symbol changes the state.
type move struct {
	bits uint32 // (state + bits) >> 16 is the number of bits to write
	from int32  // plus the rest of the state, it is the index of the next state
}

// state is the state of an encoder, from 1<<log up to 2<<log.
type state uint32

// begin sets the first state, for the symbol that is decoded last.
func (s *state) begin(c *coder, symbol uint8) {
	m := c.moves[symbol&(maxSymbols-1)]
	n := (m.bits + 1<<15) >> 16
	rest := (n<<16 - m.bits) >> n
	*s = state(c.states[uint32(int32(rest)+m.from)&(maxStates-1)])
}

// prepare makes the tables for n counted symbols and clears the counts. It appends what the block says about them, and
// returns the mode.
func (c *coder) prepare(dst []byte, k *code, n int) ([]byte, byte) {
	symbols, most := 0, 0 // most is the most frequent symbol
	for symbol, count := range c.counts {
		if count > 0 {
			symbols = symbol + 1
		}
		if count > c.counts[most] {
			most = symbol
		}
	}
	defer clear(c.counts[:])
	switch {
	case int(c.counts[most]) == n:
		c.log, c.current = 0, nil
		c.moves[most], c.states[0] = move{}, 0
		return append(dst, byte(most)), single
	case n <= fewValues:
		if c.current != k {
			c.log, c.current = k.log, k
			clear(c.shares[copy(c.shares[:], k.shares):])
			c.build(len(k.shares))
		}
		return dst, predefined
	default:
		c.log = min(k.maxLog, max(minLog, uint(bits.Len(uint(n-1)))-3, uint(bits.Len(uint(symbols-1)))+1))
		c.current = nil
		c.share(n, symbols, most)
		c.build(symbols)
		return c.appendShares(dst, symbols), described
	}
}

// share divides the states among the counted symbols, with at least one for each.
func (c *coder) share(n, symbols, most int) {
	clear(c.shares[:])
	left := 1 << c.log
	for symbol, count := range c.counts[:symbols] {
		if count > 0 {
			c.shares[symbol] = int16(max(1, (uint64(count)<<c.log+uint64(n)/2)/uint64(n)))
			left -= int(c.shares[symbol])
		}
	}
	for ; left < 0; left++ {
		largest := 0
		for symbol, share := range c.shares {
			if share > c.shares[largest] {
				largest = symbol
			}
		}
		c.shares[largest]--
	}
	c.shares[most] += int16(left)
}

// build makes the tables from the shares.
func (c *coder) build(symbols int) {
	size := 1 << c.log
	var spread [maxStates]uint8  // the symbol of each state
	var index [maxSymbols]int32  // of a symbol's first state in states
	end, total := size, int32(0) // from end on, states belong to symbols with -1
	for symbol, share := range c.shares[:symbols] {
		index[symbol] = total
		if share < 0 {
			end--
			spread[end] = uint8(symbol)
			share = 1
		}
		switch size, share := uint32(size), uint32(share); share {
		case 0:
		case 1:
			c.moves[symbol] = move{uint32(c.log)<<16 - size, total - 1}
		default:
			n := uint32(c.log) + 1 - uint32(bits.Len32(share-1))
			c.moves[symbol] = move{n<<16 - share<<n, total - int32(share)}
		}
		total += int32(share)
	}
	at, step := 0, size>>1+size>>3+3
	for symbol, share := range c.shares[:symbols] {
		for ; share > 0; share-- {
			spread[at] = uint8(symbol)
			at = (at + step) & (size - 1)
			for at >= end {
				at = (at + step) & (size - 1)
			}
		}
	}
	for i, symbol := range spread[:size] {
		c.states[index[symbol]] = uint16(size + i)
		index[symbol]++
	}
}

// appendShares appends the description of the shares (RFC 8878, section 4.1.1). None of them is -1.
func (c *coder) appendShares(dst []byte, symbols int) []byte {
	w := newBitWriter(dst, 2*maxSymbols)
	w.add(uint32(c.log-minLog), 4)
	size, width := int32(1)<<c.log, uint8(c.log)+1 // of the numbers that follow
	left := size + 1                               // one more than the states that follow
	for symbol := 0; left > 1; {
		share := int32(c.shares[symbol])
		symbol++
		// Values below short take a bit less than the others.
		value, short, n := share+1, 2*size-1-left, width
		if value >= size {
			value += short
		}
		if value < short {
			n--
		}
		w.add(uint32(value), n)
		w.flush()
		for left -= share; left < size; size >>= 1 {
			width--
		}
		if share > 0 {
			continue
		}
		zeros := 0 // after the first one
		for ; c.shares[symbol] == 0 && symbol < symbols; symbol++ {
			zeros++
		}
		for ; zeros >= 3; zeros -= 3 {
			w.add(3, 2)
			w.flush()
		}
		w.add(uint32(zeros), 2)
		w.flush()
	}
	return w.end()
}
