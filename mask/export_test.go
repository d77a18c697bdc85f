package mask

import (
	"crypto/aes"
	"time"

	"culvert/source"
)

// NewMasker is for tests of a single column.
func NewMasker(key *Key, columns []source.Column, rules []Rule) (*Masker, error) {
	return newMasker(key, nil, columns, rules)
}

// CMAC computes the CMAC of a text, for tests with a known key.
func CMAC(key [aesKeySize]byte, text []byte) []byte {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err)
	}
	return cmacOf(block).of(text)
}

// ParseAnswers is for the fuzz test of what programs answer.
var ParseAnswers = parseAnswers

// SetTimes sets how long programs may take.
func (p *Programs) SetTimes(answer, end time.Duration) {
	for _, one := range p.all {
		one.answerTime, one.endTime = answer, end
	}
}
