// Package fileservice defines what both ends of a file service share: versions, sums, errors, limits and path rules.
// The service lets another machine list, read and write a tree of files:
//
//   - package client is the tree as an [io/fs.FS], with files that can be written at any offset,
//   - package server serves a tree,
//   - package transfer copies files and directories either way.
//
// SPEC.md beside this file has the protocol, and the files of an unfinished transfer.
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
// Two protocols share a port. The bytes of files travel on connections of their own. Everything else is gRPC. Its calls
// are defined by fileservice.proto in this directory, also for clients in other languages, which can read and write
// files by the calls Read and Write. The protocols resemble google.bytestream: a read names its offset, and an
// interrupted write resumes by asking which blocks are committed.
//
// A client has one connection for gRPC, and opens up to Config.Connections others for bytes as they are needed. If the
// server answers within 5 ms, one for each processor is enough, at least two. A request goes to the connection with the
// least to do. If all of them have much to do, a get waits up to a second for one that is being opened: over a long
// line, gets that all went to the first connection would leave the others idle. Requests that are made while another
// goroutine is writing go together in the next write, and the server answers small requests that arrived together in
// one write.
//
// Small files, of at most 64 KiB, travel whole, up to 64 of one directory at a time. A tree of them costs neither a
// round trip nor a disk sync per file.
//
// # Versions
//
// A version is the size of a file, its modification time, and a tag made from other data of the file system. A read
// names the version it wants. The server compares it when it opens the file, and again after it has read each part and
// before it sends it. So all data that arrives belongs to one version, or the call fails with [ErrChanged].
//
// If a part of a file is requested, the server keeps the file open for up to a second, for further reads of that
// version on the same connection. If a directory above the file is renamed meanwhile, these reads still return its
// data.
//
// # Sums
//
// A file consists of blocks of 1 MiB, each with an XXH3-128 sum of its content and number; the sum of a file is made of
// those of its blocks. The sender computes the sum of a block right after it has read the block from the file, and the
// receiver compares it right before it writes the block. So a sum detects faults of memory, drivers and programs at
// both ends, not only those of the connection. It is no cryptographic hash, and need not be one: the connection
// authenticates the sender, which chooses the data in any case. Blocks and small files have sums; reads and writes of
// open files, as in a mount, have none. A client can also ask for the sum of a file, which the server reads for that,
// and compare it with its own file. Package transfer computes the BLAKE3 hash of a file on request.
//
// # Unfinished files
//
// The receiver of a file, a client that pulls or a server that is pushed to, keeps two entries beside it until it is
// complete: NAME.culvert.part, with the data received, and NAME.culvert.journal, a log of package wal that records
// which blocks are durable. No transferred file may have a name with one of these suffixes, in upper or lower case. A
// directory that a pull makes has the suffix .culvert.part until everything in it is durable.
//
// Blocks are written in any order. Those of a file of 64 MiB or more bypass the page cache (O_DIRECT) if the system and
// the file system allow it, and their space is reserved 64 MiB at a time. While the disk is behind with these, others
// go through the page cache, and leave it when they are synced. After 8 MiB, or 200 ms, .part is synced, and then the
// journal records the synced blocks and is synced itself. At most 32 MiB are written but not recorded; a kill loses
// these and the blocks in transit. At the end .part is cut to its size, gets its permissions and time, is synced and
// renamed, the directory is synced, and the journal is removed. A file that is complete before the first sync has no
// journal. A receiver that resumes trusts a journal if it names the same version, its log is sound, and .part is as
// large as it says; otherwise both are started afresh. It reads the blocks that the journal names, and compares them
// with their sums: a block that has other bytes by now, or cannot be read, is sent again. A client that goes on by
// itself after a failure does not read again what it has written or read before.
//
// A transfer that ends leaves both entries for the next one, unless the file has this version under its name by then,
// as after a race: then they are removed, and so they are by a transfer that finds the file present. A client that
// pushes tells the server when it gives up a file (AbandonWrite), also within a second after it was canceled: so the
// server keeps nothing open for it, and removes what belongs to a version that the source has no more. When a writable
// server starts, it removes those of its tree that are sound, that nobody has locked, and that have not changed for a
// week.
//
// Clients that send the same version of a file to one name share the upload. If one of them gives it up, it goes on.
// Each client says for itself whether an existing file may be replaced: when it begins, and again when it finishes.
// While a client sends one version, another one is refused, unless the same client begins it. If the client is gone, or
// has sent nothing for 2 s, the other version replaces its upload.
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
// undoes them. A draft is lost with its client or its server. If Sync was called before, a draft is durable when it is
// published: the server syncs it, renames it, and syncs the directory. A file that was published without Sync may be
// short or missing if the power fails before the system has written it.
//
// If another program changes, renames or removes a file in place while a client has it open, the client's next call
// fails with [ErrChanged]: the client holds parts of the file in memory and would mix the two. The server compares size
// and time before each write and each Sync. It does not notice a change at the very same moment.
//
// A draft or a file in place is identified by 16 random bytes, and any client that knows them can use it. The server
// drops it when its client asks for that, when no call has named it for StallTimeout, and when the server ends. On a
// slow line, the next call may be in transit for longer. So the server keeps it, for at most ten times StallTimeout,
// while one of the connections of its calls exists and the client sends anything. Bytes written in place stay in any
// case, and the client can open the file again. At most 512 can be open; peers share them.
//
// A draft that a killed server has left is recognized by its name, a lock that nobody holds, and the sticky bit. A
// writable server removes such drafts when it starts; so do the next draft of the same file and the removal of its
// directory. A user's file that merely has such a name is hidden, never removed.
//
// Writes to one draft use all connections. A write to a part of 256 KiB to which another is in progress follows it on
// the same connection, on which the server writes in order, so overlapping writes keep their order. Sync and Publish
// wait for the answers to all writes. After any error, every later call of the file fails, and a draft is not
// published.
//
// # What a peer can do
//
// No peer can make the other end read or write outside the tree: each path is checked (see fileservice.proto) and
// resolved by os.Root. Symbolic links are shown, and never followed as the last element of a path; devices, pipes and
// sockets are shown, and never opened.
//
// A server bounds its connections, the handshakes under way, the calls per connection, its memory, and the time for
// which it waits for a client. If there are too many connections, a new one replaces one without calls. Peers share
// these limits: with n active peers, each can use 1/(n+1), over any number of connections, and at least two
// connections; see server.Config. A put of small files opens up to 64 descriptors, and holds a block, so the number of
// blocks limits such puts. A client bounds what it accepts: a response longer than requested, an endless listing, a
// name that leads elsewhere, or a wrong size is an [ErrIntegrity].
//
// Every wait ends if no byte moves for the server's StallTimeout or the client's Timeout. Bytes are counted below
// encryption, because a record of 256 KiB takes half a minute at 64 kbit/s. On Linux a byte has moved when the other
// end has acknowledged it; on other systems, when the system has accepted it. While a connection for bytes exists, the
// server sends a sign of life three times within the client's Timeout, and says how far requests have arrived. So a
// client waits for a slow disk of the server, but not for a server that is gone, or that nothing reaches any more.
//
// # Memory
//
// The memory of both ends is bounded, whatever the other end sends. docs/memory.md lists what it consists of.
package fileservice
