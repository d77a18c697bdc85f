// Package cipherio encrypts streams with a bare stream cipher, which is not authenticated: prefer package agefile.
//
// Anyone who can modify the output of a bare stream cipher can flip bits of the plaintext or cut it short, and no
// reader notices. A checksum inside, such as that of gzip, does not help: it can be adjusted without the key. Package
// [culvert/agefile] detects both. This package is for existing formats, and for programs that must keep writing or
// reading them.
//
// [StreamWriter] and [StreamReader] replace [cipher.StreamWriter] and [cipher.StreamReader]. They have the same fields
// and methods, so only the package name changes, and values convert from one to the other:
//
//	w := cipher.StreamWriter{S: cipher.NewCTR(block, iv), W: file}   // before
//	w := cipherio.StreamWriter{S: cipher.NewCTR(block, iv), W: file} // after
//
// # Differences
//
// The original allocates a slice of the length of its argument in each Write, because an [io.Writer] must not modify
// its argument. Under compress/gzip, which writes about 240 bytes at a time, that is 170,000 allocations for 40 MB.
// Here a Write borrows a buffer from a pool. So
//
//   - A Write of more than 64 KiB calls the underlying Write once for each 64 KiB and once for the rest. A smaller one,
//     even an empty one, calls it exactly once, as the original always does.
//   - The underlying writer must not keep or modify the slice after its Write has returned. That is the rule of
//     io.Writer, but the original forgives writers that break it. A writer that collects slices, or sends them to
//     another goroutine, must copy them, or it corrupts its own output.
//   - Once the pool has a buffer, no Write allocates.
//
// Results and errors are those of the original: up to 64 KiB even with writers that break their contract.
//
// # Memory
//
// All writers share a [sync.Pool] of buffers, about one for each core, or for each concurrent Write if those are more.
// The garbage collector frees unused ones.
//
// A buffer has 64 KiB, or 4 KiB for a Write of at most that. Larger buffers are not faster: from 8 KiB on, a cipher
// takes the same time per byte. The buffers of [io.Copy] and the blocks of most formats fit into 64 KiB, so they reach
// the underlying writer in one call, which may be a system call. Writes of gzip and of a default bufio.Writer fit into
// 4 KiB.
//
// A buffer is not cleared: after a Write it holds ciphertext if the writer encrypts, and plaintext if it decrypts. The
// slice that the underlying writer gets has no other bytes, neither in its length nor in its capacity.
//
// # An envelope
//
// A file for the owner of an RSA key, with a new AES key for each file, often looks like this:
//
//	┌─────────────────────┬──────────┬─────────────────────────┐
//	│ AES key, 32 bytes,  │ IV       │ AES-256-CTR of          │
//	│ by RSA-OAEP-SHA256  │          │ gzip of                 │
//	│                     │          │ rows as CSV             │
//	│ size of the modulus │ 16 bytes │ up to the end           │
//	└─────────────────────┴──────────┴─────────────────────────┘
//
// The example of the package writes and reads one. Nothing in it is authenticated: not the rows, not where they end,
// and not that key, IV and rows belong together. Use it only for data from a trusted source on a trusted disk.
package cipherio
