package streams

import (
	"crypto/cipher"

	"culvert/bench/internal/harness"
)

// Layer is one step of the way of a byte, which is run alone.
type Layer struct {
	Name string
	Does string // what becomes of a byte
	Run  func() (harness.Sample, error)
}

// Layered compares layers. The whole way, which is one of them, costs more than the sum of the others.
func Layered(s *harness.Session, name string, layers []Layer) harness.Benchmark {
	b := harness.Benchmark{Name: name}
	s.Say("the layers of %s:", name)
	for _, l := range layers {
		s.Say("  %-8s %s", l.Name, l.Does)
		b.Variants = append(b.Variants, harness.Variant{Key: "impl=" + l.Name, Run: l.Run})
	}
	return b
}

// Layers takes a stream of total bytes apart: TCP alone, what sealing and opening takes, and the whole. Keys of 128
// bits are what crypto/tls agrees on.
func Layers(ids *Identities, total int64) []Layer {
	stream := func(l link) func() (harness.Sample, error) {
		return func() (harness.Sample, error) { return ids.transfer(l, 1, 1<<20, total) }
	}
	return []Layer{
		{"tcp", "two copies, into the kernel and out of it", stream(rawTCPKept)},
		{"seal", "AES-256-GCM, from one buffer into another", sealing(32, total, sealRecord)},
		{"open", "AES-256-GCM, from one buffer into another", sealing(32, total, openRecord)},
		{"seal128", "AES-128-GCM", sealing(16, total, sealRecord)},
		{"open128", "AES-128-GCM", sealing(16, total, openRecord)},
		{"culvert", "tcp, seal and open, in secureconn", stream(ours)},
	}
}

// aeadWork seals a plaintext, or opens a record.
type aeadWork func(aead cipher.AEAD, nonce, plaintext, record []byte) error

func sealRecord(aead cipher.AEAD, nonce, plaintext, record []byte) error {
	aead.Seal(record[:0], nonce, plaintext, nil)
	return nil
}

func openRecord(aead cipher.AEAD, nonce, plaintext, record []byte) error {
	_, err := aead.Open(plaintext[:0], nonce, record, nil)
	return err
}

// sealing repeats work until it has done total bytes.
func sealing(keySize int, total int64, work aeadWork) func() (harness.Sample, error) {
	return func() (harness.Sample, error) {
		aead, err := knownAEAD(keySize)
		if err != nil {
			return nil, err
		}
		const size = 512 << 10
		nonce, plaintext := make([]byte, 12), make([]byte, size)
		record := aead.Seal(make([]byte, 0, size+16), nonce, plaintext, nil)
		return harness.Work{Bytes: total}.Here(func() error {
			for left := total; left > 0; left -= size {
				if err := work(aead, nonce, plaintext, record); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
