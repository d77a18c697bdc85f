package zstdenc

import "math/bits"

// code is one of the three codes of a sequence's numbers (RFC 8878, section 3.1.1.3.2).
type code struct {
	maxLog uint
	log    uint    // of the predefined distribution
	shares []int16 // the predefined distribution
}

var (
	literalsCode = code{9, 6, []int16{
		4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
		-1, -1, -1, -1,
	}}
	matchCode = code{9, 6, []int16{
		1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
	}}
	offsetCode = code{8, 5, []int16{
		1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
	}}
)

// symbol is what a number is encoded as: a symbol of a code, and some low bits of the number as they are.
type symbol struct{ code, bits uint8 }

// The symbols of small lengths.
var (
	shortLiterals = symbols(16, 1, 1, 1, 1, 2, 2, 3, 3, 4)
	shortMatches  = symbols(32, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5)
)

// symbols lists the symbols of small numbers. The first whole ones are symbols themselves. Each symbol after them
// stands for the numbers that differ in the given low bits.
func symbols(whole int, lowBits ...uint8) []symbol {
	var list []symbol
	for i := range whole {
		list = append(list, symbol{uint8(i), 0})
	}
	for i, n := range lowBits {
		for range 1 << n {
			list = append(list, symbol{uint8(whole + i), n})
		}
	}
	return list
}

func literalsSymbol(length uint32) symbol {
	if length < uint32(len(shortLiterals)) {
		return shortLiterals[length]
	}
	log := uint8(bits.Len32(length) - 1)
	return symbol{log + 19, log}
}

// matchSymbol takes the length of a match minus 3.
func matchSymbol(length uint32) symbol {
	if length < uint32(len(shortMatches)) {
		return shortMatches[length]
	}
	log := uint8(bits.Len32(length) - 1)
	return symbol{log + 36, log}
}

func offsetSymbol(offset uint32) symbol {
	log := uint8(bits.Len32(offset) - 1)
	return symbol{log, log}
}

func (s *sequence) symbols() (literals, match, offset symbol) {
	return literalsSymbol(s.literals), matchSymbol(s.match - 3), offsetSymbol(s.offset)
}

// appendSequences appends the sequences of a block.
func (e *Encoder) appendSequences(dst []byte) []byte {
	const long = 0x7F00
	sequences := e.matcher.sequences
	switch n := len(sequences); {
	case n == 0:
		return append(dst, 0)
	case n < 128:
		dst = append(dst, byte(n))
	case n < long:
		dst = append(dst, byte(n>>8)+128, byte(n))
	default:
		dst = append(dst, 255, byte(n-long), byte((n-long)>>8))
	}
	for i := range sequences {
		literals, match, offset := sequences[i].symbols()
		e.literals.counts[literals.code&(maxSymbols-1)]++
		e.matches.counts[match.code&(maxSymbols-1)]++
		e.offsets.counts[offset.code&(maxSymbols-1)]++
	}
	modes := len(dst)
	dst = append(dst, 0)
	dst, literalsMode := e.literals.prepare(dst, &literalsCode, len(sequences))
	dst, offsetMode := e.offsets.prepare(dst, &offsetCode, len(sequences))
	dst, matchMode := e.matches.prepare(dst, &matchCode, len(sequences))
	dst[modes] = literalsMode<<6 | offsetMode<<4 | matchMode<<2
	return e.appendBits(dst, sequences)
}

// sequenceSize is the most bytes of a sequence: 26 bits of states, two lengths of up to 16 bits and an offset of up to
// 20 bits.
const sequenceSize = 10

// appendBits appends the bit stream. Decoders read it from its end, so the last sequence comes first.
func (e *Encoder) appendBits(dst []byte, sequences []sequence) []byte {
	w := newBitWriter(dst, sequenceSize*len(sequences)+sequenceSize)
	var literalsState, matchState, offsetState state
	for i := len(sequences) - 1; i >= 0; i-- {
		s := &sequences[i]
		literals, match, offset := s.symbols()
		if i == len(sequences)-1 {
			literalsState.begin(&e.literals, literals.code)
			matchState.begin(&e.matches, match.code)
			offsetState.begin(&e.offsets, offset.code)
		} else {
			w.move(&offsetState, &e.offsets, offset.code)
			w.move(&matchState, &e.matches, match.code)
			w.move(&literalsState, &e.literals, literals.code)
		}
		w.add(s.literals, literals.bits)
		w.flush()
		w.add(s.match-3, match.bits)
		w.add(s.offset, offset.bits)
		w.flush()
	}
	w.add(uint32(matchState), uint8(e.matches.log))
	w.add(uint32(offsetState), uint8(e.offsets.log))
	w.add(uint32(literalsState), uint8(e.literals.log))
	w.add(1, 1) // marks the end
	w.flush()
	return w.end()
}
