package mask

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
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
	block cipher.Block
	lanes [lanes]lane

	// Of texts with more than 1<<64 possible values:
	mac     *cmac
	message []byte
	random  [aes.BlockSize]byte
	tweak   [aes.BlockSize]byte // of the texts that came before, in a long one
}

// lane is what it takes to permute a number.
type lane struct {
	in, out     [aes.BlockSize]byte
	n, half     uint64 // of the last domain
	left, right uint64
}

// lanes is how many numbers are permuted at once. A processor begins with the AES of one while that of another is not
// done: four take 1.5 times as long as one, and eight as long as twice four.
const lanes = 4

// numbered is one of the numbers below n, which must not be 0; 0 stands for 1<<64.
type numbered struct{ x, n uint64 }

// rounds is the number of rounds of FF1. Each half of a long text has so many values that four are enough (Luby and
// Rackoff, 1988).
const (
	rounds     = 10
	longRounds = 4
	longText   = 64 // symbols
)

func newPermuter(k *Key, purpose string) *permuter {
	return &permuter{block: k.cipher("permutation " + purpose), mac: newCMAC(k, "long permutation "+purpose)}
}

// number permutes the numbers below n, which must not be 0; 0 stands for 1<<64.
func (p *permuter) number(x, n uint64) uint64 {
	one := [1]numbered{{x, n}}
	p.numbers(one[:])
	return one[0].x
}

// numbers permutes several numbers, of which none depends on another.
func (p *permuter) numbers(all []numbered) {
	for len(all) > 0 {
		some := all[:min(lanes, len(all))]
		p.permute(some)
		for i, one := range some {
			for one.x >= one.n && one.n != 0 {
				p.permute(some[i : i+1])
				one = some[i]
			}
		}
		all = all[len(some):]
	}
}

// permute permutes as many numbers as there are lanes, or fewer, in the squares that hold their domains.
func (p *permuter) permute(all []numbered) {
	for i, one := range all {
		l := &p.lanes[i]
		if l.half == 0 || l.n != one.n {
			l.n, l.half = one.n, root(one.n)
			binary.LittleEndian.PutUint64(l.in[8:], l.n)
		}
		l.left, l.right = one.x/l.half, one.x%l.half
	}
	used := p.lanes[:len(all)]
	for round := range uint64(rounds) {
		for i := range used {
			binary.LittleEndian.PutUint64(used[i].in[:], used[i].right<<8|round)
		}
		for i := range used {
			p.block.Encrypt(used[i].out[:], used[i].in[:])
		}
		for i := range used {
			used[i].turn()
		}
	}
	for i := range used {
		all[i].x = used[i].left*used[i].half + used[i].right
	}
}

// turn adds to one half what the function of a round has made of the other one, which is the next to be added to. Both
// are below l.half, which is at most 1<<32.
func (l *lane) turn() {
	random, _ := bits.Mul64(binary.LittleEndian.Uint64(l.out[:]), l.half)
	sum := l.left + random
	if sum >= l.half {
		sum -= l.half
	}
	l.left, l.right = l.right, sum
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
		switch radix := uint64(all[i].radix); radix {
		case 10: // without a division, as by all constants
			x, all[i].value = x/10, uint32(x%10)
		case 26:
			x, all[i].value = x/26, uint32(x%26)
		default:
			x, all[i].value = x/radix, uint32(x%radix)
		}
	}
}

// mostDigits is how many digits have less than 1<<64 values.
const mostDigits = 19

// digits appends a text whose digits are permuted, and all else stays. It does what symbols does, if the text is ASCII
// without letters, and has not too many digits. Otherwise it appends nothing.
func (p *permuter) digits(dst, text []byte) (_ []byte, is bool) {
	one, is := digitsOf(text)
	if !is {
		return dst, false
	}
	if one.n > 1 {
		one.x = p.number(one.x, one.n)
	}
	return appendWithDigits(dst, text, one.x), true
}

// digitsOf returns the number that the digits of a text make, below 1 if there are none, if digits can permute it.
func digitsOf(text []byte) (one numbered, is bool) {
	one.n = 1
	count := 0
	for _, b := range text {
		switch {
		case isDigit(b):
			one.x, one.n = one.x*10+uint64(b-'0'), one.n*10
			count++
		case b >= utf8.RuneSelf || 'a' <= b|0x20 && b|0x20 <= 'z':
			return numbered{}, false
		}
	}
	return one, count <= mostDigits
}

// appendWithDigits appends a text with the digits of x in place of its own.
func appendWithDigits(dst, text []byte, x uint64) []byte {
	begin := len(dst)
	dst = append(dst, text...)
	for at := len(dst) - 1; at >= begin; at-- {
		if isDigit(dst[at]) {
			x, dst[at] = x/10, '0'+byte(x%10)
		}
	}
	return dst
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
	p.message = append(append(p.message[:0], p.tweak[:]...), byte(round))
	for _, s := range from {
		p.message = binary.LittleEndian.AppendUint32(p.message, s.value)
	}
	seed := p.mac.of(p.message)
	counter := binary.LittleEndian.Uint64(seed)
	for i := range to {
		if i%4 == 0 {
			binary.LittleEndian.PutUint64(seed, counter+uint64(i))
			p.block.Encrypt(p.random[:], seed)
		}
		add := uint64(binary.LittleEndian.Uint32(p.random[i%4*4:]))
		to[i].value = uint32((uint64(to[i].value) + add) % uint64(to[i].radix))
	}
}

// chain has the next part of a long text depend on this one.
func (p *permuter) chain(part []byte) {
	const noRound = 0xff
	p.message = append(append(p.message[:0], p.tweak[:]...), noRound)
	p.message = append(p.message, part...)
	copy(p.tweak[:], p.mac.of(p.message))
}
