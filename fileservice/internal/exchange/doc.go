// Package exchange moves the bytes of files over connections of their own, beside the one of gRPC. A client asks for
// ranges of files (get) and sends data (put); everything else is gRPC's.
//
// The client first sends 16 bytes. HTTP/2 begins with another preface of that length, so both kinds of connections
// share a port and a handshake:
//
//	"culvert-data/1\r\n"
//
// Messages follow, both ways. The client sends HELLO first. If the server ends the connection instead of answering, it
// has refused it. All numbers are big endian.
//
//	 0         4      5       6         8         12        16
//	┌─────────┬──────┬───────┬─────────┬─────────┬─────────┬─────────┬─────────┐
//	│   id    │ kind │ flags │  head   │  data   │ length  │  head   │  data   │
//	└─────────┴──────┴───────┴─────────┴─────────┴─────────┴─────────┴─────────┘
//	  4 bytes   1      1       2         4         4
//	                           size of   size of             the head and the data
//	                           the head  the data
//
// # Requests
//
// The client chooses the id, which no other request in progress has.
//
//	kind  name       length             data              what it does
//	1     HELLO      milliseconds       none              says how long the client waits for a silent server
//	2     CANCEL     0                  none              lets the request of that id end early
//	3     GET        bytes to read      none              reads a range of a file in the tree
//	4     GET DRAFT  bytes to read      none              reads a range of a draft
//	5     PUT BLOCK  0                  the block         writes a block of an upload, or a part of one
//	6     PUT DRAFT  0                  what to write     writes to a draft
//	7     PUT FILES  0                  their contents    writes small files of one directory
//
// A client reads and writes at most 1 MiB by a request. HELLO is answered by ALIVE, and CANCEL is not answered. They
// have no head. The head of any other request is:
//
//	 0         8         16        24        32       48
//	┌─────────┬─────────┬─────────┬─────────┬────────┬──────────────────────────────────────────────────┐
//	│ offset  │ size    │ time    │ tag     │ sum    │ target: a path, the ID of a draft, or SmallFiles │
//	└─────────┴─────────┴─────────┴─────────┴────────┴──────────────────────────────────────────────────┘
//	           └── version of the file ────┘ of the data
//
// The time of a version is in Unix nanoseconds. The sum is that of a block from its beginning to the end of the data.
// So a block can come in parts over several connections, and the sum of the last part is that of the block. A server
// refuses a part of a put if it does not have those before.
//
// Only gets have flags. With ANY (1), a GET accepts every version; its answer has the entry of the file, and data only
// if the whole file fits. With SUM (2), the answer has the sum. Entry and SmallFiles are messages of fileservice.proto.
//
// # Answers
//
// The id is that of the request, or 0. Flags and length are 0, except in ALIVE.
//
//	kind  name    head                     data
//	1     MORE    none                     the next bytes; at most 256 KiB
//	2     END     depends on the request   the last bytes; at most 256 KiB
//	3     FAILED  a google.rpc.Status      none
//	4     ALIVE   none                     none; belongs to no request
//	5     BYE     none                     none; the server ends the connection
//
// The answer to a request is any number of MORE, and then one END or FAILED. Answers may be mixed with those to other
// requests, and come in any order. All data of an answer is no longer than the length of its request. The head of an
// END has the sum, if SUM asked for it, and then the Entry for ANY, or the SmallFileResults of PUT FILES.
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
// A server sends ALIVE at least three times within the time that HELLO named, unless it is sending something else. So a
// client can tell a slow disk from a dead server. The one that answers HELLO says nothing else. In the others, the
// id is that of the last request that the server has received, the length counts the bytes that it has received, modulo
// 2^31, and the flag LISTENING (1) says that it waits for more. So a client can also tell a busy server from one that
// its requests do not reach.
//
// A server that ends a connection in order, because it stops or the connection is idle, answers what it has read and
// then says BYE. So the client knows that nothing else was executed, and can repeat even requests that must not be
// executed twice.
package exchange
