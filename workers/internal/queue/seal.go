package queue

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// MinSecret is the least number of bytes of the secret of a job.
const MinSecret = 16

// ErrSealed marks errors of data that the secret does not open: it belongs to another job key, or was changed.
var ErrSealed = errors.New("queue: not sealed with this job key")

// Sealer seals what belongs to one job. It may be used concurrently.
type Sealer struct{ aead cipher.AEAD }

// NewSealer makes a key of its own for each job and purpose, so that the number of its messages stays far below the 2³²
// for which random nonces of 96 bits are safe.
func NewSealer(secret []byte, job, purpose string) (*Sealer, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("queue: the secret has %d bytes, and needs at least %d", len(secret), MinSecret)
	}
	key, err := hkdf.Key(sha256.New, secret, []byte(job), "culvert/v1 "+purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &Sealer{aead}, err
}

// Seal seals what is to be stored under a name.
func (s *Sealer) Seal(name string, plaintext []byte) []byte {
	return s.aead.Seal(nil, nil, plaintext, []byte(name))
}

// Open returns what was sealed for a name. The error wraps [ErrSealed].
func (s *Sealer) Open(name string, data []byte) ([]byte, error) {
	plaintext, err := s.aead.Open(nil, nil, data, []byte(name))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrSealed, name)
	}
	return plaintext, nil
}
