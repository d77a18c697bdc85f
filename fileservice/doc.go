// Package fileservice serves a tree of files to another machine, which lists, reads and writes it as if it were its
// own, and notices whatever goes wrong on the way. It runs over any net.Listener and any dialer; give it those of
// package secureconn, since it neither encrypts nor asks who is there.
//
//	server, err := fileservice.NewServer(fileservice.ServerConfig{Root: root})
//	err = server.Serve(listener)
//
//	client, err := fileservice.NewClient(fileservice.ClientConfig{Dial: dial})
//	err = fs.WalkDir(client, ".", walk)
//
// A Client is an fs.FS whose regular files are io.ReaderAt. Beneath that are the calls that transfers are made of, such
// as [Client.ReadBlocks] and [Client.WriteBlocks], which take a context and name the version that they are about.
//
// # What travels
//
// The protocol is gRPC, and fileservice.proto in internal/fileservicepb is its definition. It is shaped after
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
//	   │  QueryWriteStatus  path, version                                             │
//	   │─────────────────────────────────────────────────────────────────────────────▶│
//	   │                                            blocks that are committed         │
//	   │◀─────────────────────────────────────────────────────────────────────────────│
//	   │  Write  path, version, first block; data … data, hash of the block …         │
//	   │═════════════════════════════════════════════════════════════════════════════▶│  write, if the hash fits
//	   │  FinishWrite  path, version, root of the tree of hashes                      │
//	   │─────────────────────────────────────────────────────────────────────────────▶│  sync, rename, sync
//
// Data is not copied into messages. A codec of its own writes and reads the two messages that carry it, as Protocol
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
// A file is blocks of 1 MiB, of which the last may be shorter. The hash of a block is SHA-256 of a zero byte and the
// block, and the hash of the file the root of the Merkle tree of RFC 9162, section 2.1.1, over its blocks. The hash of
// a block travels with its last byte, made from what was read: it covers the way from the memory of one end to that of
// the other and beyond what a connection protects. SHA-256 needs no dependency, and there are instructions for it in
// most processors: 1.9 GB/s for one core of a Xeon that has them, where BLAKE3 in Go has 4.
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
// Blocks are written in any order. 16 MiB later, or 200 ms, .part is synced, and after that the journal says what was
// synced, with a sync of its own; at most 64 MiB are ahead of it. At the end .part is cut to its size, gets its
// permissions and time, is synced, gets its name, the directory is synced, and the journal is removed. What comes
// sooner than the first sync has no journal. Whoever goes on believes a journal if it is of the same version, its log
// is sound, and .part is as large as it says; else both are begun afresh. It does not read .part again: what is damaged
// there on the disk in between is not found, for which there are file systems, and age.
//
// # What a peer can do
//
// Whoever is on the other side, nothing outside the tree is read or written: each path is checked (see
// fileservice.proto) and goes through os.Root. Symbolic links are shown and never followed as the last element of a
// path; devices, pipes and sockets are shown and never opened.
//
// A server bounds its connections, those in their handshake, the calls on each, the buffers of all, and the time that a
// client may let it wait. A client bounds what it takes: an answer that is longer than was asked for, a listing without
// an end, a name that leads elsewhere or a size that is not true are an [ErrIntegrity]. Every wait has an end: see
// ServerConfig.StallTimeout and ClientConfig.Timeout.
//
// # Memory
//
// A server has MaxBuffers buffers of 256 KiB for data that is read, 24 MiB, of which one connection gets no more than
// half, and for each connection 32 KiB and what the connection itself needs; 512 KiB more while it sends. One that is
// writable may be sent 2 MiB ahead on each connection. A client may be sent 2 MiB ahead in each of its calls; its data
// goes straight to the slice of the caller.
//
// A transfer has two buffers of 1 MiB for each connection, 64 KiB for each of 48 small files at once, and 33 bytes for
// each block of a file of several blocks that is under way: 34 MB for a TiB. Of a tree it holds 512 files that it has
// found, and the entries of the directories that it lists, 64 MiB at most.
package fileservice
