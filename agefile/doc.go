// Package agefile reads and writes age v1 files on all cores.
//
// The format is exactly that of [filippo.io/age], and files can be exchanged with every age tool. The header,
// recipients and identities are age's own: X25519, post-quantum, passphrase, SSH and plugins. This package handles the
// payload, which age seals and opens on one core, and wraps the key of a file for X25519, in half of age's time.
//
//   - [NewWriter] encrypts a stream.
//   - [NewReader] decrypts a stream.
//   - [NewReaderAt] decrypts any part of a file, without the parts before it.
//
// # The file
//
// The format is specified at https://c2sp.org/age. A file is
//
//	┌──────────────────────┬──────────┬───────────────┬───────────────┬─── ─ ─ ─┬──────────────────┐
//	│ header (text)        │ nonce    │ chunk 0       │ chunk 1       │         │ last chunk       │
//	│ a stanza a recipient │ 16 bytes │ 64 KiB + 16 B │ 64 KiB + 16 B │         │ 0…64 KiB + 16 B  │
//	└──────────────────────┴──────────┴───────────────┴───────────────┴─── ─ ─ ─┴──────────────────┘
//
// The header holds the file key, wrapped for each recipient, and ends with a MAC under that key. The payload key is
// HKDF-SHA256(file key, salt = nonce, info = "payload"). ChaCha20-Poly1305 seals each chunk under the payload key and
// the nonce
//
//	┌──────────────────────────────┬──────┐
//	│ chunk number, big endian     │ last │
//	│ 11 bytes                     │ 0, 1 │
//	└──────────────────────────────┴──────┘
//
// so chunks cannot be moved, repeated or removed, nor the file truncated, without detection. The last chunk may be
// short; it is empty only if the payload is empty. The construction is STREAM by Hoang, Reyhanitabar, Rogaway and Vizár
// (https://eprint.iacr.org/2015/189).
//
// # Parallelism and memory
//
// Chunks depend on each other only through their number. They travel in spans of 16, about 1 MiB, through a
// [culvert/internal/ordered] queue: a producer fills spans, workers seal or open them, and a consumer takes them in
// order. A payload smaller than a span starts no goroutine.
//
// A Writer or Reader holds two spans for each worker, which is 2.5 MiB × [Config.Workers], for files of any size. It
// does not allocate for each chunk.
//
// Workers read files, sections and memory themselves, with ReadAt. They do so only if the source is an *os.File,
// *io.SectionReader, *bytes.Reader or *strings.Reader, whose Read and ReadAt are known to return the same bytes, or if
// [Config.ReadAt] permits it.
//
// # One key, one file
//
// Two chunks that are sealed under the same key and number reveal their plaintext. Therefore a [Writer] makes only one
// file and has no method to begin another. As a second line of defense, it checks before each write that a span
// continues the numbers, is full unless it is the last one, and does not follow the last one. If a fault in this
// package broke these rules, the Writer would fail and not write the span.
//
// # What a reader may rely on
//
// Plaintext is released in order, and only after its chunk has been authenticated. If a chunk is damaged, all chunks
// before it are released, followed by an error that wraps [ErrCorrupt]. Until io.EOF, a caller has seen only a prefix
// of the file, which an attacker may have chosen.
//
// age does not authenticate the sender: anyone who has the recipient's public key can make a file.
package agefile
