package secureconn

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// The names in SPEC.md, which are part of the format.
const (
	protocol    = "culvert-conn/1"
	labelClient = "EXPORTER-culvert-conn/1 client"
	labelServer = "EXPORTER-culvert-conn/1 server"
	infoNext    = "culvert-conn/1 next"
	infoKey     = "culvert-conn/1 key"
	infoIV      = "culvert-conn/1 iv"
)

const (
	secretSize = sha256.Size
	keySize    = 32 // of AES-256 and of ChaCha20
	nonceSize  = 12
)

// The limits of one key. RFC 8446, section 5.5, lets AES-GCM seal 2^24.5 records of 16 KiB, or 362 GiB, with an
// attacker's advantage of 2^-57.
const (
	rekeyBytes = 1 << 30
	rekeyAge   = 15 * time.Minute
	maxBytes   = 64 << 30 // for a receiver
)

// newAEAD returns the cipher for a TLS cipher suite.
func newAEAD(suite uint16) func(key []byte) (cipher.AEAD, error) {
	if suite == tls.TLS_CHACHA20_POLY1305_SHA256 {
		return chacha20poly1305.New
	}
	return func(key []byte) (cipher.AEAD, error) {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		return cipher.NewGCM(block)
	}
}

// direction has the keys and counters of one direction. Its methods must not be called concurrently.
type direction struct {
	newAEAD  func(key []byte) (cipher.AEAD, error)
	secret   []byte // S(n)
	aead     cipher.AEAD
	iv       [nonceSize]byte
	work     work      // of seal and open, so that it is not allocated for each record
	sequence uint64    // of the next record
	under    int64     // bytes under the key
	since    time.Time // when the key was first used
	fresh    bool      // the last record was a REKEY

	limit int64 // bytes under one key
	age   time.Duration

	bytes, records, rekeys atomic.Int64 // for Stats
}

// start derives the key from a secret.
func (d *direction) start(secret []byte) error {
	key, err := hkdf.Expand(sha256.New, secret, infoKey, keySize)
	if err != nil {
		return err
	}
	iv, err := hkdf.Expand(sha256.New, secret, infoIV, nonceSize)
	if err != nil {
		return err
	}
	d.aead, err = d.newAEAD(key)
	clear(key)
	if err != nil {
		return err
	}
	d.secret, d.iv = secret, [nonceSize]byte(iv)
	d.under, d.since = 0, time.Now()
	return nil
}

// next replaces the secret by the next one. The old secret is overwritten, and its cipher left to the garbage
// collector.
func (d *direction) next() error {
	secret, err := hkdf.Expand(sha256.New, d.secret, infoNext, secretSize)
	if err != nil {
		return err
	}
	clear(d.secret)
	d.rekeys.Add(1)
	d.fresh = true
	return d.start(secret)
}

// forget drops the keys, so that no record can be sealed or opened.
func (d *direction) forget() {
	clear(d.secret)
	d.aead = nil
}

// number sets the key and the nonce of the next record, which has n bytes with its header and tag.
func (d *direction) number(w *work, n int) error {
	if d.aead == nil {
		return errEnded
	}
	if d.sequence == 1<<64-1 {
		return errSequence
	}
	w.aead, w.nonce, w.sequence = d.aead, d.iv, d.sequence
	last := w.nonce[nonceSize-8:]
	binary.BigEndian.PutUint64(last, binary.BigEndian.Uint64(last)^d.sequence)
	d.sequence++
	d.under += int64(n)
	d.records.Add(1)
	return nil
}

// isDue reports whether a record of n bytes needs the next key.
func (d *direction) isDue(n int) bool {
	return d.under+int64(n) > d.limit || time.Since(d.since) > d.age
}
