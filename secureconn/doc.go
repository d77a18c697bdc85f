// Package secureconn encrypts a connection between two peers that know each other by fingerprint. A [Conn] is a
// [net.Conn], made by [Dial], [Listen], [Client] and [Server] as those of crypto/tls are.
//
//	config := &secureconn.Config{Key: key, Peers: []string{fingerprint}}
//	listener, err := secureconn.Listen("tcp", ":7000", config)
//	conn, err := secureconn.Dial(ctx, "tcp", "example.com:7000", config)
//
// The handshake is TLS 1.3 of crypto/tls, without changes. After it the package uses records of its own, which are
// larger than those of TLS. That takes fewer calls and copies for each byte, and sealing, writing, reading and opening
// run at the same time. Both ends must use this package.
//
// # Peers
//
// A peer is an Ed25519 key, and its fingerprint is the hash of the public key; see [Fingerprint]. Each side presents a
// self-signed certificate and proves that it holds the key. [Config.Peers] or [Config.Authorize] of the other side
// decides about the fingerprint. There are no authorities: names, times and issuers in a certificate mean nothing.
//
// # Handshake
//
//	client                                                        server
//	   │  ClientHello: TLS 1.3, X25519MLKEM768, ALPN culvert-conn/1  │
//	   │────────────────────────────────────────────────────────────▶│
//	   │      ServerHello … Certificate, CertificateVerify, Finished │
//	   │◀────────────────────────────────────────────────────────────│  the client checks the fingerprint
//	   │  Certificate, CertificateVerify, Finished                   │
//	   │────────────────────────────────────────────────────────────▶│  the server checks the fingerprint
//	   │                         TLS application data: the byte 0x01 │
//	   │◀────────────────────────────────────────────────────────────│
//	   │  records, both ways, from the next byte on                  │
//	   │◀═══════════════════════════════════════════════════════════▶│
//
// Neither side accepts another version, key exchange or protocol, and there are no session tickets. The byte tells the
// client that it was accepted; otherwise a client would learn of a refusal only from its first Read. Neither side
// accepts more than 16 KiB from the other before the first record.
//
// The last TLS record and the first record may arrive together. So TLS reads through a buffer that returns at most the
// rest of one TLS record, and what follows the last one stays in the buffer for the record layer.
//
// # Keys
//
// Each direction has a chain of 32-byte secrets. The first comes from the TLS exporter (RFC 8446, section 7.5), with
// both fingerprints, 32 bytes each, as context:
//
//	context = fingerprint of the client ‖ fingerprint of the server
//	label   = "EXPORTER-culvert-conn/1 client" for what the client sends
//	          "EXPORTER-culvert-conn/1 server" for what the server sends
//	S(0)    = TLS-Exporter(label, context, 32)
//	S(n+1)  = HKDF-Expand-SHA-256(S(n), "culvert-conn/1 next", 32)
//	key(n)  = HKDF-Expand-SHA-256(S(n), "culvert-conn/1 key", 32)
//	iv(n)   = HKDF-Expand-SHA-256(S(n), "culvert-conn/1 iv", 12)
//
// The cipher is ChaCha20-Poly1305 if TLS has negotiated it, which it does if one side lacks AES hardware, and
// AES-256-GCM otherwise.
//
// # Records
//
// All numbers are big endian.
//
//	 0        1        2        3        4                                   8
//	┌────────┬────────┬────────┬────────┬────────┬────────┬────────┬────────┐
//	│  type  │    0   │    0   │    0   │              length               │  header, which is also the
//	├────────┴────────┴────────┴────────┴────────┴────────┴────────┴────────┤  additional data
//	│  ciphertext, length − 16 bytes                                        │
//	├───────────────────────────────────────────────────────────────────────┤
//	│  tag, 16 bytes                                                        │
//	└───────────────────────────────────────────────────────────────────────┘
//
//	nonce = iv(n) XOR (0 0 0 0 ‖ sequence, 8 bytes)
//
//	type  name   plaintext            meaning
//	1     DATA   1 to 524,288 bytes   the next bytes of the stream
//	2     REKEY  none                 the records that follow in this direction are under S(n+1)
//	3     CLOSE  none                 the stream of this direction ends here
//
// The sequence counts all records of a direction from 0, across re-keys, and is never sent: a record that was repeated,
// omitted, moved, or sent back to its sender does not open. An invalid header is rejected before anything is allocated
// for it. A record that does not open ends the connection in both directions.
//
// A REKEY is sealed under the old key. The next record is a DATA or CLOSE record. A sender sends a REKEY before the
// record that would exceed 1 GiB under one key, headers and tags included, and before the first record more than 15
// minutes after the key was first used. A receiver accepts at most 64 GiB under one key. Neither side waits for the
// other: each direction continues with its new key at once.
//
// A direction ends with CLOSE, and nothing after it is read. A connection that ends without CLOSE is
// [io.ErrUnexpectedEOF], so cutting it cannot make a part look like the whole.
//
// # Concurrency
//
//	Write ──seal──▶ queue ──write──▶ network ──read──▶ queue ──open──▶ Read
//	└─ caller ─┘    └─ helper ─┘                └─ helper ─┘    └─ caller ─┘
//
// Writes of less than 16 KiB are sent by the caller's goroutine. For larger ones a helper writes while the caller
// seals the next record. From 128 KiB on, up to 512 KiB become two records, one of which another goroutine seals. So
// Write returns when its bytes are sealed, with at most 2 MiB still to be written. A later error is returned by the
// next Write, CloseWrite or Close, and a program that ends without Close may lose what it wrote last. What is written
// while the helper is busy joins the helper's next write.
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
