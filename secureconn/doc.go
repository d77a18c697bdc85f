// Package secureconn encrypts a connection between two peers that know each other by fingerprint. A [Conn] is a
// [net.Conn], made by [Dial], [Listen], [Client] and [Server] as those of crypto/tls are.
//
//	config := &secureconn.Config{Key: key, Peers: []string{fingerprint}}
//	listener, err := secureconn.Listen("tcp", ":7000", config)
//	conn, err := secureconn.Dial(ctx, "tcp", "example.com:7000", config)
//
// The handshake is TLS 1.3 of crypto/tls and nothing else. Then the package takes the connection over with records of
// its own, which are larger than those of TLS: fewer calls and fewer copies for each byte, and sealing, writing,
// reading and opening at the same time. Both ends must be this package.
//
// # Who is there
//
// A peer is an Ed25519 key, and its fingerprint is the hash of the public half; see [Fingerprint]. Each side shows a
// self-signed certificate for its key, proves that it holds it, and is refused if the other does not list it in
// [Config.Peers]. Names, times and issuers in a certificate mean nothing, and there are no authorities.
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
// Neither side takes another version, another key exchange or another protocol, and there are no session tickets. The
// byte tells the client that it was accepted. Without it a client would learn of a refusal when it reads, if it reads.
// Neither side takes more than 16 KiB from the other up to there.
//
// The last TLS record and the first record may come in one segment. So TLS reads through a buffer that never gives it
// more than the rest of one TLS record; what is behind the last one stays there, and is where the record layer begins.
//
// # Keys
//
// Each direction has a chain of secrets of 32 bytes. The first comes from the exporter of TLS (RFC 8446, section 7.5),
// bound to both fingerprints, here as the 32 bytes of the hashes:
//
//	context = fingerprint of the client ‖ fingerprint of the server
//	label   = "EXPORTER-culvert-conn/1 client" for what the client sends
//	          "EXPORTER-culvert-conn/1 server" for what the server sends
//	S(0)    = TLS-Exporter(label, context, 32)
//	S(n+1)  = HKDF-Expand-SHA-256(S(n), "culvert-conn/1 next", 32)
//	key(n)  = HKDF-Expand-SHA-256(S(n), "culvert-conn/1 key", 32)
//	iv(n)   = HKDF-Expand-SHA-256(S(n), "culvert-conn/1 iv", 12)
//
// The cipher is ChaCha20-Poly1305 if TLS has agreed on it, which it does where one side lacks the hardware for AES, and
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
// The sequence counts all records of a direction from 0, through re-keys too, and never travels: a record that was
// repeated, left out, moved, or sent back to its sender does not open. A header that is not as above is refused before
// anything is allocated for it, and a record that does not open ends the connection in both directions.
//
// A REKEY is sealed under the old key; a DATA or CLOSE record comes next, not another REKEY. A sender sends one before
// the record that would take what is under the key beyond 1 GiB, headers and tags included, and before the first
// record that comes more than 15 minutes after the key was taken into use. A receiver refuses more than 64 GiB under
// one key. Neither waits for the other: each direction goes on with its new key at once.
//
// A direction ends with CLOSE. Nothing after it is read. A connection that ends without it is [io.ErrUnexpectedEOF], so
// that nobody who cuts it can make a part look like the whole.
//
// # What happens where
//
//	Write ──seal──▶ queue ──write──▶ network ──read──▶ queue ──open──▶ Read
//	└─ caller ─┘    └─ helper ─┘                └─ helper ─┘    └─ caller ─┘
//
// Small writes go out in the goroutine of the caller. Those of 16 KiB or more are written by a helper while the caller
// seals the next record. Of 128 KiB or more, up to 512 KiB become two records, and another goroutine seals one of them.
// So Write returns when its bytes are sealed, with at most 2 MiB that are still to be written, as a kernel returns when
// it has copied them: an error that comes later is that of the next Write, CloseWrite or Close, and a program that ends
// without Close may lose what it wrote last. What is written while the helper is at work is added to what it writes
// next.
//
// What comes in bulk, 32 KiB at once, is read ahead by a helper. It waits for more when nothing has come, and ends when
// less comes. Read opens records straight into the slice it was given if they fit, one of them in another goroutine if
// there are more, and else in place, to hand them out piece by piece. [Conn.WriteTo] hands out what was opened in
// place, and [Conn.ReadFrom] seals in place what it reads.
//
// # Memory
//
// An idle connection has a buffer of 8 KiB, and one goroutine at most. A busy one takes its buffers from the free lists
// of package bytebuf, and gives each back when it is empty: at most 4 of 640 KiB to send, and 6 to receive, of 320 KiB,
// or of 640 KiB if the peer sends the longest records there may be. That is 6.3 MiB in all, whatever the peer does and
// whoever does not read. There is no bound over all connections, because one whose peer is slow would take the buffers
// of the others: who accepts connections bounds their number.
//
// # Sharing
//
// All methods of a Conn may be called at once. Calls of Read and WriteTo take turns, and so do Write, ReadFrom,
// WriteBuffers and CloseWrite. Close and the deadlines wait for none of them. Close waits for the peer, at most 30
// seconds, to take what is left; every call that fails from then on returns net.ErrClosed.
package secureconn
