package mask

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

// cmac is AES-CMAC (RFC 4493, NIST SP 800-38B) with a key of its own for one purpose, such as a rule: a pseudorandom
// function of texts of any length, of which values for one purpose say nothing of those for another. It takes a third
// of the time of HMAC-SHA-256. The implementation of the standard library is internal.
type cmac struct {
	block        cipher.Block
	whole, short [aes.BlockSize]byte // the subkeys of the last block: if it has 16 bytes, and if it has fewer
	sum          [aes.BlockSize]byte
}

const aesKeySize = 16 // of AES-128

func newCMAC(k *Key, purpose string) *cmac { return cmacOf(k.cipher(purpose)) }

func cmacOf(block cipher.Block) *cmac {
	m := &cmac{block: block}
	m.block.Encrypt(m.whole[:], m.whole[:])
	double(&m.whole)
	m.short = m.whole
	double(&m.short)
	return m
}

// cipher returns AES-128 with a key for a purpose.
func (k *Key) cipher(purpose string) cipher.Block {
	secret := k.derive(purpose)
	block, err := aes.NewCipher(secret[:aesKeySize])
	if err != nil {
		panic(err) // the key has a right size
	}
	return block
}

// of returns 16 pseudorandom bytes for a text, which are valid until the next call.
func (m *cmac) of(text []byte) []byte {
	sum := m.sum[:]
	clear(sum)
	for len(text) > aes.BlockSize {
		subtle.XORBytes(sum, sum, text[:aes.BlockSize])
		m.block.Encrypt(sum, sum)
		text = text[aes.BlockSize:]
	}
	last := &m.whole
	if len(text) < aes.BlockSize {
		sum[len(text)] ^= 0x80
		last = &m.short
	}
	subtle.XORBytes(sum, sum, text)
	subtle.XORBytes(sum, sum, last[:])
	m.block.Encrypt(sum, sum)
	return sum
}

// double multiplies a block by x in the field of 2^128 elements: RFC 4493, section 2.3.
func double(block *[aes.BlockSize]byte) {
	carry := byte(0)
	for i := len(block) - 1; i >= 0; i-- {
		block[i], carry = block[i]<<1|carry, block[i]>>7
	}
	block[len(block)-1] ^= carry * 0x87
}
