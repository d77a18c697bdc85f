package mask

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"math/bits"
)

// permuter permutes numbers and texts over their own domain, so that no two become equal.
//
// It is a Feistel network whose halves are added modulo the size of their domain: FE1 of Bellare, Ristenpart, Rogaway
// and Stegers, "Format-Preserving Encryption" (SAC 2009), from which FF1 of NIST SP 800-38G was made. As in FF1, there
// are ten rounds, whose function is AES. A domain that is no square is permuted inside the next square, again and again
// until the result is of the domain ("cycle walking", section 2 of that paper). FF1 itself is only for strings of
// digits of one radix; here it is also for the numbers of a range, and texts in which each place has a radix of its
// own.
//
// As with FF1, a small domain hides little: of a hundred values, whoever knows some pairs knows much of the rest.
type permuter struct {
	block   cipher.Block
	mac     hash.Hash
	sum     [sha256.Size]byte
	in, out [aes.BlockSize]byte
	tweak   [sha256.Size]byte // of the texts that came before, in a long one
}

// rounds is the number of rounds of FF1. Each half of a long text has so many values that four are enough (Luby and
// Rackoff, 1988).
const (
	rounds     = 10
	longRounds = 4
	longText   = 64 // symbols
)

func newPermuter(k *Key, purpose string) *permuter {
	secret, another := k.derive("permutation "+purpose), k.derive("long permutation "+purpose)
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // the key has a right size
	}
	return &permuter{block: block, mac: hmac.New(sha256.New, another[:])}
}

// number permutes the numbers below n, which must not be 0; 0 stands for 1<<64.
func (p *permuter) number(x, n uint64) uint64 {
	half := root(n)
	binary.LittleEndian.PutUint64(p.in[8:], n)
	for {
		left, right := x/half, x%half
		for round := 0; round < rounds; round += 2 {
			left = (left + p.function(round, right)) % half
			right = (right + p.function(round+1, left)) % half
		}
		if x = left*half + right; x < n || n == 0 {
			return x
		}
	}
}

// function is that of a round. The half is below 1<<32.
func (p *permuter) function(round int, half uint64) uint64 {
	binary.LittleEndian.PutUint64(p.in[:], half<<8|uint64(round))
	p.block.Encrypt(p.out[:], p.in[:])
	return binary.LittleEndian.Uint64(p.out[:]) >> 8 // so that the sum does not overflow
}

// root returns the smallest number whose square is at least n, with 0 for 1<<64.
func root(n uint64) uint64 {
	if n == 0 || n > (1<<32-1)*(1<<32-1) {
		return 1 << 32
	}
	r := uint64(math.Sqrt(float64(n)))
	for r*r < n {
		r++
	}
	for r > 1 && (r-1)*(r-1) >= n {
		r--
	}
	return r
}

// symbol is a character of a text: its number among those that it may become.
type symbol struct{ value, radix uint32 }

// symbols permutes texts of the same shape.
func (p *permuter) symbols(all []symbol) {
	n := uint64(1)
	for _, s := range all {
		high, low := bits.Mul64(n, uint64(s.radix))
		if n = low; high > 0 {
			p.long(all)
			return
		}
	}
	if n < 2 {
		return
	}
	x := uint64(0)
	for _, s := range all {
		x = x*uint64(s.radix) + uint64(s.value)
	}
	x = p.number(x, n)
	for i := len(all) - 1; i >= 0; i-- {
		all[i].value = uint32(x % uint64(all[i].radix))
		x /= uint64(all[i].radix)
	}
}

// long permutes texts with more than 1<<64 possible values.
func (p *permuter) long(all []symbol) {
	count := rounds
	if len(all) > longText {
		count = longRounds
	}
	left, right := all[:len(all)/2], all[len(all)/2:]
	for round := 0; round < count; round += 2 {
		p.addTo(left, right, round)
		p.addTo(right, left, round+1)
	}
}

// addTo adds what the function of a round makes of one half to the other one, symbol by symbol.
func (p *permuter) addTo(to, from []symbol, round int) {
	p.mac.Reset()
	p.mac.Write(p.tweak[:])
	p.in = [aes.BlockSize]byte{byte(round)}
	p.mac.Write(p.in[:])
	for len(from) > 0 {
		n := min(len(from), aes.BlockSize/4)
		p.in = [aes.BlockSize]byte{}
		for i, s := range from[:n] {
			binary.LittleEndian.PutUint32(p.in[4*i:], s.value)
		}
		p.mac.Write(p.in[:])
		from = from[n:]
	}
	seed := p.mac.Sum(p.sum[:0])[:aes.BlockSize]
	counter := binary.LittleEndian.Uint64(seed)
	for i := range to {
		if i%4 == 0 {
			binary.LittleEndian.PutUint64(seed, counter+uint64(i))
			p.block.Encrypt(p.out[:], seed)
		}
		add := uint64(binary.LittleEndian.Uint32(p.out[i%4*4:]))
		to[i].value = uint32((uint64(to[i].value) + add) % uint64(to[i].radix))
	}
}

// chain has the next part of a long text depend on this one.
func (p *permuter) chain(part []byte) {
	p.mac.Reset()
	p.mac.Write(p.tweak[:])
	p.mac.Write(part)
	p.mac.Sum(p.tweak[:0])
}
