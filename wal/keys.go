package wal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const keySize = 32 // of [Options.Key]

// segmentKeys are the keys of one segment.
type segmentKeys struct {
	aead   cipher.AEAD
	header []byte
	nonce  nonce // of seal, here to avoid an allocation
}

// nonce is four zeros and an LSN.
type nonce [12]byte

func (n *nonce) set(lsn LSN) []byte {
	binary.LittleEndian.PutUint64(n[4:], uint64(lsn))
	return n[:]
}

// deriveKeys derives the keys of a segment, which depend on its salt.
func deriveKeys(master []byte, h *header) (*segmentKeys, error) {
	derive := func(purpose string) ([]byte, error) {
		info := binary.LittleEndian.AppendUint64([]byte("culvert wal "+purpose+string(h.log[:])), h.number)
		return hkdf.Key(sha256.New, master, h.salt[:], string(info), keySize)
	}
	key, err := derive("records")
	if err != nil {
		return nil, err
	}
	k := &segmentKeys{}
	if k.header, err = derive("header"); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	k.aead, err = cipher.NewGCM(block)
	return k, err
}

// keyCheck returns bytes that differ between keys, and reveal nothing else about them.
func keyCheck(master []byte, log [16]byte) (check [8]byte, err error) {
	b, err := hkdf.Key(sha256.New, master, log[:], "culvert wal key check", len(check))
	copy(check[:], b)
	return check, err
}

// seal encrypts a payload in place and writes the tag to the bytes behind it, which must exist. It must not be called
// concurrently.
func (k *segmentKeys) seal(payload []byte, lsn LSN, head []byte) {
	k.aead.Seal(payload[:0], k.nonce.set(lsn), payload, head)
}

// mac authenticates a header.
func (k *segmentKeys) mac(b []byte) []byte {
	h := hmac.New(sha256.New, k.header)
	_, _ = h.Write(b) // never fails
	return h.Sum(nil)
}

func checkKey(key []byte) error {
	if key != nil && len(key) != keySize {
		return fmt.Errorf("wal: %w: it has %d bytes and needs %d", ErrKey, len(key), keySize)
	}
	return nil
}
