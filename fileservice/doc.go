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
// writable may be sent 2 MiB ahead on each connection. A client may be sent 8 MiB ahead on each of its connections; its
// data goes straight to the slice of the caller.
package fileservice
