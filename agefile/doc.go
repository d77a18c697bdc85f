// Package agefile reads and writes age v1 files on all cores.
//
// The files are those of [filippo.io/age], byte for byte: every age tool opens what this package writes, and it opens
// what they write. Recipients and identities are age's own, with all their kinds: X25519, post-quantum, passphrase,
// SSH, plugins. So is the header. Only the payload, which age seals and opens on one core, is handled here.
//
// Choose by the interface at hand:
//
//   - [NewWriter] encrypts what is written to it,
//   - [NewReader] decrypts a stream,
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
// The header holds the file key, wrapped for each recipient, and ends with a MAC under it. The payload key is
// HKDF-SHA256(file key, salt = nonce, info = "payload"). Each chunk is sealed by ChaCha20-Poly1305 under that key and
// the nonce
//
//	┌──────────────────────────────┬──────┐
//	│ chunk number, big endian     │ last │
//	│ 11 bytes                     │ 0, 1 │
//	└──────────────────────────────┴──────┘
//
// so that no chunk can be moved, repeated or left out, and no file can be cut short, without notice. The last chunk may
// be short; it is empty only if the whole payload is. The construction is STREAM of
// Hoang, Reyhanitabar, Rogaway and Vizár (https://eprint.iacr.org/2015/189).
//
// # How it is made parallel
//
// Chunks depend on each other only through their number. They travel in spans of 16, about 1 MiB, through a
// [culvert/internal/ordered] queue: a producer fills spans, workers seal or open them in place, and a consumer takes
// them in order. A payload of less than one span starts no goroutine.
//
// A writer or reader holds two spans a worker, so 2.5 MiB × [Config.Workers], whatever the size of the file. Nothing is
// allocated per chunk.
//
// The workers themselves read a file, a section of one, or memory, with ReadAt. They do so only if the ReadAt of the
// source is known to return what its Read returns: with *os.File, *io.SectionReader, *bytes.Reader and *strings.Reader.
// With other types, also types that embed these, they do so if [Config.ReadAt] permits it.
//
// # One key, one file
//
// A [Writer] makes one file, under one key, and a [Reader] reads one. No method begins another file with the same
// Writer: chunks of two files that were sealed under the same key and number would give their plaintext away. Before a
// span is written, the Writer checks that its numbers follow the numbers of the span before it, that it is full unless
// it is the last one, and that no span before it was marked as the last. If a fault in this package broke that, the
// Writer would fail, and the span would not leave memory.
//
// # What a reader may rely on
//
// Plaintext is released strictly in order and only after its chunk has been authenticated. All chunks before a damaged
// one are released, then comes an error that wraps [ErrCorrupt], and nothing after it. A caller that acts on the
// first bytes before it has seen io.EOF acts on a prefix that an attacker may have chosen to cut there.
//
// age does not say who wrote a file: anyone who has the recipient's public key can make one.
package agefile
