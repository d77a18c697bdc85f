// Package fileservice defines what the two ends of a file service share: versions, hashes, errors, limits and path
// rules. The service lets another machine list, read and write a tree of files, and detects whatever goes wrong on the
// way:
//
//   - package client is the tree as an [io/fs.FS], with files that can be written at any offset,
//   - package server serves a tree,
//   - package transfer copies files and directories either way.
//
// It runs over any net.Listener and any dialer. It neither encrypts nor authenticates, so use those of package
// secureconn:
//
//	s, err := server.New(server.Config{Root: root})
//	err = s.Serve(listener)
//
//	c, err := client.New(client.Config{Dial: dial})
//	err = fs.WalkDir(c, ".", walk)
//
// # Protocol
//
// The protocol is gRPC, and fileservice.proto in this directory defines it, for other languages too. It is modelled on
// google.bytestream: a read names its offset, and before an interrupted write continues, the client asks what the
// server has committed.
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
// Small files, of at most 64 KiB, are sent whole, up to 64 of one directory in a call. So a tree of them needs neither
// a round trip nor a sync of the disk for each file.
//
// Concurrent reads of up to 64 KiB share messages of ReadPieces, a call that lasts 200 ms, or until nothing has been
// read for 50 ms. While eight requests are under way, each on its own stream, further reads wait and go together in the
// next request. If the server is far away, so that no answer has taken less than 5 ms, 64 requests are under way.
//
// Data is not copied into messages. A codec in this module writes and reads the messages that carry data, in the format
// of Protocol Buffers: the server passes to gRPC the buffer into which it has read the file, and the client copies from
// the frames into the caller's slice. Any client of gRPC can talk to this server.
//
// # Versions
//
// A version is the size of a file, the time of its last change, and a tag of other facts that the file system knows. A
// read names a version. The server compares it when it opens the file, and again after it has read each part and before
// it sends the part. So all bytes that arrive are of one version, or the call fails with ErrChanged.
//
// # Hashes
//
// A file is divided into blocks of 1 MiB, of which the last may be shorter. The hash of a file is BLAKE3
// (https://github.com/BLAKE3-team/BLAKE3-specs), as b3sum prints it. BLAKE3 is a tree over chunks of 1 KiB, and a block
// is a subtree. The hash of a block is the chaining value of the subtree's root, or the hash of the file if it has only
// one block. It depends on the position of the block, and the hashes of all blocks make the hash of the file:
//
//	              file                            root, with the flag ROOT
//	        ┌──────┴───────┐
//	   ┌────┴────┐         │                      chaining values
//	block 0   block 1   block 2                   1 MiB, 1 MiB and the rest
//	┌──┴──┐
//	…     …                                       chunks of 1 KiB
//
// The server computes the hash of a block from the bytes that it has read, and sends it with the last byte. So the hash
// protects the way from the memory of one end to the memory of the other, which is more than a connection protects. One
// core of a Xeon with AVX-512 hashes 5.3 GB/s; with SHA-256 and its instructions it hashes 1.9 GB/s.
//
// # Unfinished files
//
// While a file arrives, at a client that pulls or at a server that receives a push, two names exist beside it. No
// transferred file may have a name with these endings, in upper or lower case:
//
//	NAME.culvert.part      the blocks that have arrived, each in its place; the receiver holds a lock on it
//	NAME.culvert.journal   a directory with a log of package wal, which records the blocks that are on the disk
//
// If NAME is longer than 239 bytes, it is replaced by its first 150 bytes, a dot, and the hash of NAME in hexadecimal.
// All numbers in the log are little endian. Its entries are
//
//	first       "culvert1"   size, 8   modified, 8   tag, 8     the version of the source
//	others      first block, 8   hash, 32   hash, 32   …        consecutive blocks that are durable
//
// Blocks are written in any order, into space that is reserved 64 MiB at a time. Blocks of a file of at least 64 MiB
// bypass the page cache (O_DIRECT) if the system and the file system support it. After 8 MiB or 200 ms, .part is
// synced; then the journal records the synced blocks, with a sync of its own. At most 32 MiB are not yet in the
// journal. A kill loses these, and the blocks that are still arriving. At the end .part is truncated to its size, gets
// its permissions and time, is synced and renamed; then the directory is synced and the journal removed. A file that is
// complete before the first sync has no journal.
//
// A later transfer continues if the journal is of the same version, its log is intact, and .part is at least as large
// as the journal says. Otherwise it begins again. It does not read .part, so it does not detect damage on the disk
// since then; file systems and age do.
//
// Clients that send the same version of a file to one name share the upload. Each of them says when it begins, and
// again when it finishes, whether it may replace an existing file.
//
// # Drafts, and files in place
//
// Programs write to an open file at any offset and for any time. A file that is new or truncated is a draft on the
// server, NAME.RANDOM.culvert.draft in the directory of the future file. Listings do not show it, and no path may name
// it. It gets its name when it is published, so readers see either the old content or all of the new. An existing file,
// and a published one, is written in place: nothing is copied, the file keeps its owner, its permissions and its other
// names, and others see writes as they arrive. It loses the setuid and setgid bits, as after a write by an ordinary
// user.
//
// After Sync, the content and the name of a file in place survive a loss of power and whatever happens to client and
// server. A draft is lost with its client or its server. Its content is durable after Sync, and its name once it is
// published after a Sync. Without Sync, a published file is being written to the disk; if the power fails before that
// is done, the file may be short or missing.
//
// If another program changes or replaces a file in place while a client has it open, the client's next call fails with
// ErrChanged: the client has parts of the file in memory and would mix the two. The server compares size and time
// before each write and each Sync. It does not detect a change at exactly the same time.
//
// A draft, or an open file in place, has a name of 16 random bytes, and every client that knows the name can use it.
// The server drops it if a client asks for that, if no call has named it for StallTimeout, and when the server ends.
// While the connection of its last call exists and receives anything, the server keeps it, since on a slow line the
// next call may be on its way. Bytes written in place are never lost by this, and the client opens the file again.
// There are at most 512 drafts and open files, which peers share.
//
// The file of a draft is locked and has the sticky bit, which has no other meaning for files. These marks and the name
// identify drafts that a killed server has left. They are removed by the next writable server when it starts, by the
// next draft of the same file, and when their directory is removed. A user's file that merely has such a name is hidden
// but never removed.
//
// Writes to one draft use up to four streams, on as many connections. Each part of 1 MiB of the file has its own
// stream, so overlapping writes keep their order. A stream reports errors at its end, for which Sync and Publish wait.
// Streams without traffic end after some seconds and are begun again when needed. If any of them fails, every later
// call of the file fails, and a draft is not published.
//
// # What a peer can do
//
// No peer can read or write outside the tree: each path is checked (see fileservice.proto) and resolved by os.Root.
// Symbolic links are shown, but never followed as the last element of a path. Devices, pipes and sockets are shown, but
// never opened.
//
// A server bounds its connections and handshakes, the calls on each connection, the buffers, and how long a client may
// delay it. If there are too many connections, a new one takes the place of one without calls. Peers share all of this:
// while n peers are at work, each can have 1/(n+1), over any number of connections; see server.Config. Each call that
// brings small files holds up to 64 descriptors, and peers share MaxBuffers/4 such calls. A client bounds what it
// accepts: longer answers than it asked for, endless listings, names that lead elsewhere, and wrong sizes are an
// ErrIntegrity.
//
// Every wait ends if no byte moves for StallTimeout of the server or Timeout of the client. Bytes are counted below the
// encryption, since a record of 256 KiB takes half a minute at 64 kbit/s. On Linux a byte has moved when the other end
// has acknowledged it; on other systems, when the operating system has accepted it.
//
// # Memory
//
// A server has MaxBuffers buffers of 256 KiB for data that it sends, 24 MiB, and as much for data that it receives.
// Each connection takes 32 KiB, another 512 KiB while it sends, and the memory of the underlying connection. If all
// buffers are in use, a new peer gets one more. In each call of a connection, of which there are at most MaxCalls, a
// client may send 64 KiB ahead, or 3 MiB to a writable server, including an incomplete block; an honest client does so
// in one or two calls. A client may receive 3 MiB ahead in each of its calls, or 1 MiB from a near server. Data is
// copied straight into the caller's slice. Open files hold at most 16 MiB of content that came with Open, and files
// being written 8 MiB of waiting data, and 256 KiB in each stream.
//
// A draft takes two descriptors of the server, and one of the buffers of uploads, of 1 MiB, while data is written.
//
// A transfer has 8 buffers of 1 MiB, or one for each connection if there are more; 256 KiB for each of 8 calls for
// small files; and 33 bytes for each block of a large file under way, which is 34 MB for 1 TiB. For a tree it holds 512
// files that it has found, and at most 64 MiB of directory entries. A directory with more entries is processed in
// parts, in the order of the names, and listed again for each part. A million names of 20 bytes take five parts.
package fileservice
