// Package fileservice defines what both ends of a file service share: versions, hashes, errors, limits and path rules.
// The service lets another machine list, read and write a tree of files, and detects any fault on the way:
//
//   - package client is the tree as an [io/fs.FS], with files that can be written at any offset,
//   - package server serves a tree,
//   - package transfer copies files and directories either way.
//
// It runs over any net.Listener and any dialer. It neither encrypts nor authenticates; package secureconn does:
//
//	s, err := server.New(server.Config{Root: root})
//	err = s.Serve(listener)
//
//	c, err := client.New(client.Config{Dial: dial})
//	err = fs.WalkDir(c, ".", walk)
//
// # What travels
//
// The protocol is gRPC. fileservice.proto in this directory defines it, also for other languages. It resembles
// google.bytestream: a read names its offset, and an interrupted write resumes by asking which blocks are committed.
//
//	client                                                                         server
//	   │  Stat  path                                                                  │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  lstat
//	   │                                                Entry  name, mode, version    │
//	   │◀─────────────────────────────────────────────────────────────────────────────│
//	   │  Read  path, version, offset, length, hashes                                 │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  open, is it that version?
//	   │                                            256 KiB  data                     │  read, is it still?
//	   │◀═════════════════════════════════════════════════════════════════════════════│
//	   │                                            256 KiB  data, hash of the block  │  read, is it still?
//	   │◀═════════════════════════════════════════════════════════════════════════════│
//	   │  ReadFiles  directory; name, version; name, version; …                       │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  open each, read it
//	   │                         256 KiB  data of small files, hash or error of each  │  is it still that version?
//	   │◀═════════════════════════════════════════════════════════════════════════════│
//	   │  QueryWriteStatus  path, version                                             │
//	   │─────────────────────────────────────────────────────────────────────────────▶│
//	   │                                            blocks that are committed         │
//	   │◀─────────────────────────────────────────────────────────────────────────────│
//	   │  Write  path, version, first block; data … data, hash of the block …         │
//	   │═════════════════════════════════════════════════════════════════════════════▶│  write, if the hash fits
//	   │  FinishWrite  path, version, hash of the file                                │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  sync, rename, sync
//	   │  WriteFiles  directory; data of small files; name, version, hash of each …   │
//	   │═════════════════════════════════════════════════════════════════════════════▶│  write, sync, name, sync
//	   │                                                                error of each │
//	   │◀─────────────────────────────────────────────────────────────────────────────│
//	   │  Open  path                                                                  │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  open, is there little in it?
//	   │                                    Entry, and up to 64 KiB  all of its data  │
//	   │◀─────────────────────────────────────────────────────────────────────────────│
//	   │  OpenDraft  path                                                             │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  another file beside it,
//	   │  WriteDraft  draft; offset, data; offset, data …                             │  or the file itself
//	   │═════════════════════════════════════════════════════════════════════════════▶│  write
//	   │  PublishDraft  draft, path                                                   │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  sync?, rename, sync?
//	   │  SyncDraft  draft                                                            │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  sync
//
// Small files, of at most 64 KiB, travel whole, up to 64 of one directory per call. A tree of them costs neither a
// round trip nor a disk sync per file.
//
// Ranges of up to 64 KiB that several goroutines read at once share messages of ReadPieces. The call ends after 200 ms,
// or after 50 ms without a read. Up to eight requests are under way, each on its own stream; ranges that are asked for
// meanwhile go together in the next request. If no answer has taken less than 5 ms, the server is far away, and up to
// 64 requests are under way.
//
// Data is not copied into messages. A codec of this module reads and writes the messages that carry data, in the
// encoding of Protocol Buffers: the server passes gRPC the buffer it read the file into, and the client copies from the
// frames into its caller's slice. Any other gRPC client can therefore use this server.
//
// # Versions
//
// A version is the size of a file, its modification time, and a tag made from other data of the file system. A read
// names the version it wants. The server compares it when it opens the file, and again after it has read each part and
// before it sends it. So all data that arrives belongs to one version, or the call fails with [ErrChanged].
//
// # Hashes
//
// A file consists of blocks of 1 MiB; the last one may be shorter. The hash of a file is BLAKE3
// (https://github.com/BLAKE3-team/BLAKE3-specs), as b3sum prints it. BLAKE3 is a tree over chunks of 1 KiB, in which a
// block is a subtree. The hash of a block is the chaining value of that subtree's root, or the hash of the file if it
// has only one block. It depends on the block's position, and the hashes of all blocks determine the hash of the file:
//
//	              file                            root, with the flag ROOT
//	        ┌──────┴───────┐
//	   ┌────┴────┐         │                      chaining values
//	block 0   block 1   block 2                   1 MiB, 1 MiB and the rest
//	┌──┴──┐
//	…     …                                       chunks of 1 KiB
//
// The hash of a block travels with its last byte and is computed from the data that was read. It protects the data from
// memory to memory, which is more than a connection protects. One core of a Xeon with AVX-512 hashes 5.3 GB/s; SHA-256
// with its instructions reaches 1.9 GB/s.
//
// # Unfinished files
//
// The receiver of a file, a client that pulls or a server that is pushed to, keeps two entries beside it until it is
// complete. No transferred file may have a name with one of these suffixes, in upper or lower case:
//
//	NAME.culvert.part      the data received, each block in its place; the receiver holds a lock on it
//	NAME.culvert.journal   a directory with a log of package wal that records which blocks are durable
//
// If NAME is longer than 239 bytes, they use its first 150 bytes, a dot, and the hash of NAME in hexadecimal. The log
// has these entries, with all numbers little endian:
//
//	first       "culvert1"   size, 8   modified, 8   tag, 8     the version of the source
//	others      first block, 8   hash, 32   hash, 32   …        consecutive blocks that are durable
//
// Blocks are written in any order. Those of a file of 64 MiB or more bypass the page cache (O_DIRECT) if the system and
// the file system allow it, and their space is reserved 64 MiB at a time. After 8 MiB, or 200 ms, .part is synced, and
// then the journal records the synced blocks and is synced itself. At most 32 MiB are written but not recorded; a kill
// loses these and the blocks in transit. At the end .part is cut to its size, gets its permissions and time, is synced
// and renamed, the directory is synced, and the journal is removed. A file that is complete before the first sync has
// no journal. A receiver that resumes trusts a journal if it names the same version, its log is sound, and .part is as
// large as it says; otherwise both are started afresh. It does not read .part again: damage on the disk in the meantime
// is left to the file system, and to age.
//
// Clients that send the same version of a file to one name share the upload. Each client says for itself whether an
// existing file may be replaced: when it begins, and again when it finishes.
//
// # Drafts, and files in place
//
// A program can write into an open file at any offset and over any time. A file that is new, or gets all of its content
// anew, is a draft on the server, NAME.RANDOM.culvert.draft in the same directory. No listing shows it, and no path may
// name it. It gets its name when it is published, so readers see either the old content or all of the new. An existing
// or published file is written in place: nothing is copied, the file keeps its owner, permissions and other names, and
// readers see writes as they arrive. It loses the setuid and setgid bits, as after a write by an unprivileged user.
//
// After Sync, the content and name of a file in place survive a power failure, and no later failure of client or server
// undoes them. A draft is lost with its client or its server. Its content is durable after Sync, and its name when it
// is published, in the order above. A file that was published without Sync may be short or missing if the power fails
// before the system has written it.
//
// If another program changes, renames or removes a file in place while a client has it open, the client's next call
// fails with [ErrChanged]: the client holds parts of the file in memory and would mix the two. The server compares size
// and time before each write and each Sync. It does not notice a change at the very same moment.
//
// A draft or a file in place is identified by 16 random bytes, and any client that knows them can use it. The server
// drops it when its client asks for that, when no call has named it for StallTimeout, and when the server ends. It is
// kept while the connection of its last call exists and the client sends anything, because on a slow line the next call
// may be in transit. Bytes written in place stay in any case, and the client opens the file again. At most 512 can be
// open; peers share them.
//
// The file of a draft is locked and has the sticky bit, which has no meaning for files. These and the name identify a
// draft that a killed server has left. A writable server removes such drafts when it starts; so do the next draft of
// the same file and the removal of its directory. A user's file that merely has such a name is hidden, never removed.
//
// Writes to one draft use up to four streams, on as many connections. Each part of 1 MiB of the file has its stream, so
// overlapping writes keep their order. Errors arrive at the end of a stream, for which Sync and Publish wait. A stream
// in which nothing moves is ended after some seconds and started again. After any error, every later call of the file
// fails, and a draft is not published.
//
// # What a peer can do
//
// No peer can make the other end read or write outside the tree: each path is checked (see fileservice.proto) and
// resolved by os.Root. Symbolic links are shown, and never followed as the last element of a path; devices, pipes and
// sockets are shown, and never opened.
//
// A server bounds its connections, the handshakes under way, the calls per connection, its buffers, and the time it
// waits for a client. A new connection replaces one without calls. Peers share these limits: with n active peers, each
// can use 1/(n+1), over any number of connections; see server.Config. A client bounds what it accepts: a response
// longer than requested, an endless listing, a name that leads elsewhere, or a wrong size is an [ErrIntegrity]. Each
// call that writes small files holds up to 64 descriptors; peers share as many such calls as a quarter of MaxBuffers.
//
// Every wait ends if no byte moves for the server's StallTimeout or the client's Timeout. Bytes are counted below
// encryption, because a record of 256 KiB takes half a minute at 64 kbit/s. On Linux a byte has moved when the other
// end has acknowledged it; on other systems, when the system has accepted it.
//
// # Memory
//
// A server has MaxBuffers buffers of 256 KiB (24 MiB) for data to send, as much for data received, and per connection
// 32 KiB and what the connection itself needs; 512 KiB more while it sends. If all are taken, a new peer gets one more.
// Clients can send 64 KiB ahead in each of the MaxCalls calls of a connection, or 3 MiB if the server is writable,
// including an incomplete block; an honest client does so in one or two calls. A server can send a client 3 MiB ahead
// in each call, or 1 MiB if it is near; the data goes straight to the caller's slice. A client's open files hold at
// most 16 MiB of content that came when they were opened; files being written hold 8 MiB that wait, and 256 KiB in each
// stream.
//
// A draft has two descriptors of the server, and one of the 1 MiB buffers for uploads only while data is written.
//
// A transfer has 8 buffers of 1 MiB, or one per connection if those are more, 256 KiB for each of 8 calls for small
// files, and 33 bytes for each block of a file of several blocks that is under way: 34 MB for a TiB. Of a tree it holds
// 512 files that it has found, and at most 64 MiB of entries of the directories that it lists. A larger directory is
// read in parts, in the order of the names, and listed anew for each: a million names of 20 bytes take five parts.
package fileservice
