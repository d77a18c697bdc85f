// Package exchange moves the bytes of files over connections of their own, beside the one of gRPC. A client asks for
// ranges of files (get) and sends data (put); everything else is gRPC's.
//
// SPEC.md of package fileservice has the messages, byte by byte. A connection begins with a preface of 16 bytes, so
// that it can share a port and a handshake with HTTP/2. Requests and answers have ids, so answers come in any order.
//
// # Flow
//
// There is no flow control except TCP's: a client asks only for as much as it has memory for. A server that has too
// many requests waiting reads no further.
//
// The goroutine that reads the connection answers gets of at most 64 KiB itself. If several have arrived, their answers
// go together in one write. A second goroutine executes large gets and the puts to drafts in their order, so the writes
// that a connection carries to a draft are executed in order. Other puts have goroutines of their own, so that small
// files share the syncs of the disk; a connection has at most four puts under way. Small gets whose data must come from
// the disk have goroutines of their own, too.
//
// A server sends ALIVE while it has nothing else to send, so a client can tell a slow disk from a dead server, and a
// busy server from one that its requests do not reach. Before a server ends a connection in order, it says BYE, so the
// client can repeat even requests that must not be executed twice.
package exchange
