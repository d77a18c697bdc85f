// Package fileservice defines what the two ends of a file service share: versions, hashes, errors, limits and path rules.
// The service lets another machine list, read and write a tree of files, and detects whatever goes wrong on the way:
//
//   - package client is the tree as an [io/fs.FS], with files that can be written at any offset,
//   - package server serves a tree,
//   - package transfer copies files and directories either way.
//
// It runs over any net.Listener and any dialer. It neither encrypts nor authenticates, so use those of package secureconn:
//
//	s, err := server.New(server.Config{Root: root})
//	err = s.Serve(listener)
//
//	c, err := client.New(client.Config{Dial: dial})
//	err = fs.WalkDir(c, ".", walk)
//
// # What travels
//
// The protocol is gRPC. fileservice.proto in this directory defines it, also for other languages. It is shaped after
// google.bytestream: a read names its offset, and a write that was broken off begins with the question what is
// committed.
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
// Small files, of at most 64 KiB, go whole, up to 64 of one directory in a call: a tree of them does not wait for a
// round trip, nor for a sync of the disk, with each.
//
// Ranges of up to 64 KiB that several goroutines read at once share messages of ReadPieces, a call that goes on for
// 200 ms, or until nothing was read for 50 ms: those that are asked for while eight requests are under way, each on a
// stream of its own, go together in the next one. Where the server is far away, so that no answer has taken less than
// 5 ms, 64 are under way.
//
// Data is not copied into messages. A codec of its own writes and reads the messages that carry it, as Protocol
// Buffers have them: the server hands gRPC the buffer that it has read the file into, and the client copies out of the
// frames into the slice that its caller gave. So any other client of gRPC can speak with this server.
//
// # Versions
//
// A version is the size of a file, when it was last changed, and a tag of what else the file system knows of it. A read
// names the version it wants. The server compares it when it opens the file, and again after each part that it has read
// and before it sends that part; so what arrives is all of one version, or the call ends with [ErrChanged].
//
// # Hashes
//
// A file is blocks of 1 MiB, of which the last may be shorter. The hash of a file is BLAKE3
// (https://github.com/BLAKE3-team/BLAKE3-specs), as b3sum prints it. That is a tree over chunks of 1 KiB, in which a
// block is a subtree: the hash of a block is the chaining value of the root of that subtree, or the hash of the file if
// there is only one block. It depends on the place of the block, and those of all blocks give the hash of the file:
//
//	              file                            root, with the flag ROOT
//	        ┌──────┴───────┐
//	   ┌────┴────┐         │                      chaining values
//	block 0   block 1   block 2                   1 MiB, 1 MiB and the rest
//	┌──┴──┐
//	…     …                                       chunks of 1 KiB
//
// The hash of a block travels with its last byte, made from what was read: it covers the way from the memory of one end
// to that of the other and beyond what a connection protects. One core of a Xeon with AVX-512 hashes 5.3 GB/s, where
// SHA-256 with its instructions has 1.9.
//
// # Unfinished files
//
// Whoever receives a file, a client that pulls or a server that is pushed to, has two names beside it until it is
// complete. No file that is transferred may end with one of them, in whatever case:
//
//	NAME.culvert.part      what has come, each block in its place; whoever receives holds a lock on it
//	NAME.culvert.journal   a directory with a log of package wal, which says what of it is on the disk
//
// Of a NAME of more than 239 bytes they have the first 150, a dot, and the hash of NAME in hexadecimal. The entries of
// the log, in which all numbers are little endian, are
//
//	first       "culvert1"   size, 8   modified, 8   tag, 8     the version of the source
//	others      first block, 8   hash, 32   hash, 32   …        consecutive blocks that are durable
//
// Blocks are written in any order; those of a file of 64 MiB or more go past the page cache, where the system and the
// file system can do that (O_DIRECT), to space that is reserved 64 MiB at a time. 8 MiB later, or 200 ms, .part is
// synced, and after that the journal says what was synced, with a sync of its own; at most 32 MiB are ahead of it,
// which is what a kill costs, with the blocks that are on their way. At the end .part is cut to its size, gets its
// permissions and time, is synced, gets its name, the directory is synced, and the journal is removed. What comes
// sooner than the first sync has no journal. Whoever goes on believes a journal if it is of the same version, its log
// is sound, and .part is as large as it says; else both are begun afresh. It does not read .part again: what is damaged
// there on the disk in between is not found, for which there are file systems, and age.
//
// Clients that send the same version of a file to one name share the upload. Whether a file of that name may be
// replaced is not a matter of the upload but of each client: it says so when it begins, and the one that finishes says
// it again.
//
// # Drafts, and files in place
//
// A program writes into an open file at any offset and over any time. A file that is new, or gets all of its content
// anew, is a draft on the server: NAME.RANDOM.culvert.draft, beside the file that it is to become. No listing shows it,
// and no path may name it. It gets its name when it is published, so that a reader sees the old content or all of the
// new. An existing file, and a published one, is written in place: nothing is copied, the file keeps its owner, its
// permissions and its other names, and others see what is written as it arrives. It loses the setuid and setgid bits,
// as if anybody but the superuser had written to it.
//
// After Sync, the content and the name of a file in place survive a loss of power; nothing that happens to client or
// server takes them back. A draft is lost with its client or its server. Its content is durable after Sync, and
// its name when it is published, in the order above. A file that was published without Sync is on its way to the disk,
// and may be short, or not there, if the power fails before it has arrived.
//
// If somebody else changes a file in place, or takes its name from it, while a client has it open, the next call of
// that client fails with [ErrChanged]: it has parts of the file in memory, and would mix the two. The server compares
// size and time before each write and each Sync. A change at the very same moment is not noticed.
//
// A draft, or an open file in place, is named by 16 random bytes, and belongs to every client that knows them. The
// server drops it when its client asks for that, when no call has named it for StallTimeout, and when the server ends.
// It stays while the connection of its last call exists and the client sends anything, since on a slow line the next
// call may be on its way. Bytes that were written in place stay in any case, and the client opens the file again. There
// are at most 512, which peers share.
//
// The file of a draft is locked, and has the sticky bit, which means nothing for files. By both and by its name, a
// draft is known that a killed server has left behind. The next server removes it when it starts, if it is writable; so
// does the next draft of the same file, and the removal of its directory. A file of a user that merely has such a name
// is hidden, and never removed.
//
// The writes to one draft take up to four streams, on as many connections. Each part of 1 MiB of the file has its
// stream, so that writes that overlap keep their order. Their errors come with the end of a stream, for which Sync and
// Publish wait; streams in which nothing moves are ended after some seconds, and begun again. Whatever goes wrong with
// one of them, every later call of the file fails, and a draft is not published.
//
// # What a peer can do
//
// Whoever is on the other side, nothing outside the tree is read or written: each path is checked (see
// fileservice.proto) and goes through os.Root. Symbolic links are shown and never followed as the last element of a
// path; devices, pipes and sockets are shown and never opened.
//
// A server bounds its connections, those in their handshake, the calls on each, the buffers of all, and the time that a
// client may let it wait; a new connection takes the place of one without calls. Peers share all of that: with n at
// work, each can have 1/(n+1), over however many connections; see server.Config. A client bounds what it takes: an
// answer that is longer than was asked for, a listing without an end, a name that leads elsewhere or a size that is not
// true are an [ErrIntegrity]. Each call that brings small files holds up to 64 descriptors, and peers share as many
// such calls as a quarter of MaxBuffers.
//
// Every wait has an end: see StallTimeout of the server and Timeout of the client. It ends when no byte moves. Bytes are
// counted below encryption, since a record of 256 KiB takes half a minute at 64 kbit/s. On Linux a byte has moved when
// the other end has acknowledged it; on other systems, when the system has taken it.
//
// # Memory
//
// A server has MaxBuffers buffers of 256 KiB for data that is read, 24 MiB, as much for data that is written, and for
// each connection 32 KiB and what the connection itself needs; 512 KiB more while it sends. A peer that comes when all
// are taken has one more. It may be sent 64 KiB ahead in each call of a connection, of which there are MaxCalls, and 3
// MiB if it is writable, a block that is not complete included: an honest client does so in a call or two. A client may
// be sent 3 MiB ahead in each of its calls, or 1 MiB where the server is near; its data goes straight to the slice of
// the caller. The files that it has open have at most 16 MiB of what came when they were opened, and those that it
// writes 8 MiB that wait for more, and 256 KiB in each stream.
//
// A draft has two descriptors of the server, and a buffer of 1 MiB only while something is written: one of those that
// uploads have.
//
// A transfer has 8 buffers of 1 MiB, or one for each connection if those are more, 256 KiB for each of 8 calls for
// small files, and 33 bytes for each block of a file of several blocks that is under way: 34 MB for a TiB. Of a tree it
// holds 512 files that it has found, and the entries of the directories that it lists, 64 MiB at most: a part of a
// directory, in the order of the names, for which it is listed anew if there are more. A million names of 20 bytes come
// in five parts.
package fileservice
