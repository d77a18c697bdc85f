// Package cipherio encrypts streams with a bare stream cipher, which is not authenticated: prefer package agefile.
//
// Whoever can change the output of a bare stream cipher changes the plaintext, bit by bit, and nobody notices: not the
// reader, and not the checksum of a gzip stream inside, which takes no key to adjust. Whoever can cut it short does so
// as quietly. [culvert/agefile] has neither fault. This package is for formats that are as they are, and for programs
// that must go on writing or reading them.
//
// [StreamWriter] and [StreamReader] take the place of [cipher.StreamWriter] and [cipher.StreamReader]: they have the
// same fields and methods, so that only the package before their names changes, and values convert from one to the
// other. Streams, modes and ciphers remain those of [crypto/cipher].
//
//	w := cipher.StreamWriter{S: cipher.NewCTR(block, iv), W: file}   // before
//	w := cipherio.StreamWriter{S: cipher.NewCTR(block, iv), W: file} // after
//
// # What is different
//
// The original allocates a slice as long as its argument in each Write, since an [io.Writer] must not change what it is
// given. Under compress/gzip, which writes about 240 bytes at a time, these are 170,000 allocations for 40 MB. Here a
// Write borrows a scratch from a pool and returns it. A program sees that in three ways:
//
//   - A Write of more than 64 KiB makes several of the writer below: one for each 64 KiB, and one for the rest. Up to
//     that size it makes exactly one, also for no bytes, as the original always does.
//   - What the writer below is given is borrowed. It must not keep the slice, nor write to it, once its Write has
//     returned. That is the rule of io.Writer, but the original forgives those who break it. A writer that collects
//     slices, or sends them to another goroutine, must copy them; otherwise it corrupts its own output.
//   - Nothing is allocated in a Write of any size, once there is a scratch.
//
// Results and errors are those of the original. Up to 64 KiB that holds for writers that break their contract too.
//
// # Memory
//
// Scratches are kept in a [sync.Pool] that all writers share: about one for each core, or for each Write that runs at
// the same time if those are more. The garbage collector takes those that are not used. How many writes and writers
// there are, and of how many sizes, makes no difference.
//
// A scratch has 64 KiB, or 4 KiB for Writes of no more than that. Larger ones would not be faster: from 8 KiB on, a
// cipher takes as long for pieces as for the whole. 64 KiB is enough for the buffers of [io.Copy] and [bufio] and the
// blocks of most formats to reach the writer below in one piece, where each may cost a system call. 4 KiB is enough for
// gzip and for a bufio.Writer as it comes, and keeps what small writes take small.
//
// A scratch is not cleared. What stays in it until the next Write, or other use of its memory, overwrites it is
// ciphertext if the writer encrypts, and plaintext if it decrypts. The writer below is given no more of it than its own
// bytes, neither in length nor in capacity.
//
// # An envelope of this kind
//
// A file that is made for the owner of an RSA key, by wrapping a new AES key for each, often looks like this:
//
//	┌─────────────────────┬──────────┬─────────────────────────┐
//	│ AES key, 32 bytes,  │ IV       │ AES-256-CTR of          │
//	│ by RSA-OAEP-SHA256  │          │ gzip of                 │
//	│                     │          │ rows as CSV             │
//	│ size of the modulus │ 16 bytes │ up to the end           │
//	└─────────────────────┴──────────┴─────────────────────────┘
//
// The example of the package writes and reads one. No part of it is authenticated: neither the rows, nor that the key,
// the IV and the rows belong together, nor where the file ends. Take it for the data of a friend, on a disk of one's
// own.
package cipherio
