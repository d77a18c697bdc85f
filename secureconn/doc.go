// Package secureconn encrypts a connection between two peers that know each other by fingerprint. A [Conn] is a
// [net.Conn], made by [Dial], [Listen], [Client] and [Server] as those of crypto/tls are.
//
//	config := &secureconn.Config{Key: key, Peers: []string{fingerprint}}
//	listener, err := secureconn.Listen("tcp", ":7000", config)
//	conn, err := secureconn.Dial(ctx, "tcp", "example.com:7000", config)
//
// The handshake is TLS 1.3 of crypto/tls, without changes. After it the package uses records of its own, which are
// larger than those of TLS. That takes fewer calls and copies for each byte, and sealing, writing, reading and opening
// run at the same time. Both ends must use this package. SPEC.md beside this file has every byte that they send.
//
// # Peers
//
// A peer is an Ed25519 key, and its fingerprint is the hash of the public key; see [Fingerprint]. Each side presents a
// self-signed certificate and proves that it holds the key. [Config.Peers] or [Config.Authorize] of the other side
// decides about the fingerprint. There are no authorities: names, times and issuers in a certificate mean nothing.
//
// # What a connection guarantees
//
// Neither side accepts another version, key exchange or protocol than those of this package, nor more than 16 KiB from
// the other before it is accepted. A client learns of a refusal in the handshake, not from its first Read.
//
// All bytes are encrypted and authenticated under keys of the connection, which are replaced before 1 GiB and after 15
// minutes. A record that was repeated, omitted, moved or changed on the way is an [ErrRecord], and ends the connection
// in both directions. A direction ends when its sender has closed it. A connection that ends otherwise is
// [io.ErrUnexpectedEOF], so cutting it cannot make a part look like the whole.
//
// # Concurrency
//
//	Write ──seal──▶ queue ──write──▶ network ──read──▶ queue ──open──▶ Read
//	└─ caller ─┘    └─ helper ─┘                └─ helper ─┘    └─ caller ─┘
//
// Writes of less than 16 KiB are sent by the caller's goroutine. For larger ones a helper writes while the caller seals
// the next record. From 128 KiB on, up to 512 KiB become two records, one of which another goroutine seals. So Write
// returns when its bytes are sealed, with at most 2 MiB still to be written. A later error is returned by the next
// Write, CloseWrite or Close, and a program that ends without Close may lose what it wrote last. What is written while
// the helper is busy joins the helper's next write.
//
// If 32 KiB arrive at once, a helper reads ahead. It waits for more if nothing has arrived, and ends when less arrives.
// Read opens records directly into its argument if they fit, one of them in another goroutine if there are several.
// Otherwise it opens them in place and copies. [Conn.WriteTo] passes on what was opened in place, and [Conn.ReadFrom]
// seals in place what it reads.
//
// All methods of a Conn may be called concurrently. Read and WriteTo take turns, and so do Write, ReadFrom,
// WriteBuffers and CloseWrite. Close and the deadlines wait for none of them. Close waits at most 30 seconds for the
// peer to take what is left. Every call that fails after it returns net.ErrClosed.
//
// # Memory
//
// An idle connection has a buffer of 8 KiB and at most one goroutine. A busy one takes its buffers from the free lists
// of package bytebuf and returns each when it is empty: at most 4 of 640 KiB for sending, and 6 for receiving, of 320
// KiB, or of 640 KiB if the peer sends the longest records. That is at most 6.3 MiB, whatever the peer does. All
// connections together have no bound, because a slow peer would then take the buffers of the others: a program that
// accepts connections must limit their number.
package secureconn
