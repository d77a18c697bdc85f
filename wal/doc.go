// Package wal is a write-ahead log: entries are appended to it, and what it has acknowledged is there after a crash.
//
//	log, recovery, err := wal.Open("journal", wal.Options{})
//	lsn, err := log.Append(ctx, []byte("one"), []byte("two")) // both or none, durable when Append returns
//	for record, err := range log.Records(ctx, 0) { … }
//	err = log.Close()
//
// An entry is any bytes; [Entry] is one ready made, with a version, a key, a value and a time. The entries of one
// Append are a group: after a crash all of them are there, or none. Each has a number, its [LSN]; they begin at 1 and
// have no gaps. Goroutines that append at the same time share one sync of the disk.
//
// # What is promised
//
// When Append has returned without an error, its group survives
//
//	Options.Sync    a kill of the process    a crash of the system, a loss of power
//	Each            yes                      yes
//	Interval        yes                      all but the last Options.Interval, and the sync under way then
//	None            yes                      up to the last Sync, or the last full segment
//
// and when AppendAsync has, with Each, nothing is promised until [Ticket.Wait] or [Log.Sync] has returned; with the
// other two, a kill loses what was appended in the last 10 milliseconds or so, at most 2 MiB of it.
//
//   - Groups are whole, in their order, and without gaps: what a crash takes away, it takes from the end.
//   - What the end of the log has lost in a crash is cut off without asking, and [Recovery] tells how much. Damage
//     elsewhere is an error, [ErrCorrupt] in a [SegmentError] with the place, and is never cut off. There is no option
//     to do so; culvert wal repair makes a new log of what is before it.
//   - [Open] reads no more than it needs to find the end of the log. Damage elsewhere is found by who reads there:
//     [Log.Records], or culvert wal verify, which reads everything.
//   - After the first write or sync that fails, the log is dead: every call gives [ErrFailed]. A sync that failed is
//     never tried again, since the system may have dropped what it could not write and would call the second one a
//     success. Open the log again: what had been acknowledged is there.
//   - A disk that has no room for a new segment is no such failure. The Append that needed it returns the error,
//     nothing of its group is in the log, and the log goes on once there is room: groups that fit into the segment
//     that there is are appended meanwhile. [Log.TruncateFront], which makes room, needs 8 KiB at most. [Open] of a log
//     that was not closed needs 8 KiB and the size of the entries that it finds unproven. It takes that from what the
//     last segment had reserved, which is enough on a full disk; with Each, if they are not more than a sixteenth of a
//     segment.
//   - A log holds its directory open. If that is renamed, the log goes on in it, under whatever name, and touches
//     nothing of what gets the old one. Links that lead out of the directory are not followed.
//   - Records that a read gives were acknowledged; those of [Log.Tail] are durable.
//
// What is assumed: that the disk keeps what it has confirmed, and that a write which a crash interrupts damages nothing
// but the bytes that it was to write (not those beside them in a sector).
//
// A copy of the directory of a closed log is a log. If the files of an open log are copied one after the other, the
// copy may miss a record before one that it has, which is damage. [Log.Copy] copies an open log up to [Log.Durable];
// [Reader.Copy] and culvert wal copy do that for a log that another process has open.
//
// # What damage can be told from a torn end
//
// A crash leaves any part of what was written since the last sync. So does damage of the disk. To tell them apart, each
// record carries the watermark: the LSN up to which the log was durable when the record was made. Behind a bad record,
// the rest of the segment is searched for a good one whose watermark covers it; then it had been durable, and its loss
// is damage. The records since the last sync but one have no such witness. What a recovery or [Log.Close] has left has:
// the header of the segment says how far it goes.
//
// # Memory
//
// A log holds two buffers of up to 1 MiB, or of up to 4 MiB once there were groups of such a size; a larger group is
// held while it is written. A read holds 64 KiB or its largest entry, and Open of a log that was not closed some 2 MiB,
// or its largest entry twice. For each segment there are 2 KiB at most; nothing else grows with the log.
//
// # The files
//
// The log is a directory of segments, NUMBER.wal with 16 hexadecimal digits; a file "lock", which the writer holds
// locked; and perhaps a segment on its way, NUMBER.wal.tmp. All numbers are little endian. The lock must not be removed
// or renamed: a writer that has lost it so, or with the whole directory, fails at its next sync, before it acknowledges
// anything that another writer might not have seen.
//
//	segment       ┌────────────────┬────────────────┬────────┬────────┬─────┬────────┬──────────┐
//	              │ header, slot 0 │ header, slot 1 │ record │ record │  …  │ record │ zeros    │
//	              └────────────────┴────────────────┴────────┴────────┴─────┴────────┴──────────┘
//	              0               4096             8192                              end       size
//
// A header is 4096 bytes. There are two, so that one is whole when a crash tears the other, or the disk loses it: the
// valid one with the larger generation counts. It is written when the segment is created, when the front of the log is
// cut off, and when the segment is sealed: to the slot of its generation modulo 2, and to the other one after a sync.
//
//	offset  size
//	   0      8   "CULVERTW"
//	   8      4   version of the format: 1
//	  12      4   flags: 1 sealed, 2 encrypted
//	  16     16   ID of the log: random, the same in all segments
//	  32      8   number of the segment
//	  40      8   generation
//	  48      8   LSN of the first record of the segment
//	  56      8   LSN of the first entry of the log: what is before it has been cut off
//	  64     32   salt: random
//	  96     32   salt of the segment before; zeros if there is none
//	 128      8   size: no record ends behind it
//	 136      8   key check: says which key the log is encrypted with
//	 144      8   watermark: all up to this LSN is durable; the last record, once sealed
//	 152      8   end of the last record, once sealed
//	 160     32   HMAC-SHA256 of what is before, if encrypted
//	 192          zeros
//	4092      4   CRC-32C of what is before
//
// A record begins at a multiple of 8, and so does what follows it.
//
//	offset  size                                            ┌──────────────────────────────┬─────────┐
//	   0      4   CRC-32C                                   │ CRC length kind flags        │ payload │
//	   4      4   length of the payload                     │     LSN watermark   32 bytes │         │
//	   8      1   kind: 1 any bytes, 2 an Entry             └──────────────────────────────┴─────────┘
//	   9      1   flags: 1 last of its group
//	  10      6   first bytes of the salt of the segment
//	  16      8   LSN
//	  24      8   watermark: all up to this LSN was durable
//	  32          payload, then zeros up to a multiple of 8
//
// The checksum is over the salt of the segment and all of the record behind the checksum itself. With the salt, no
// record of another segment, of another log, or of an earlier life of the same blocks is taken for one of this segment;
// and with its first bytes in the head, whoever makes up payloads cannot make them look like records, each of which
// would have to be read when the end of a log is searched. LSNs go up by one from record to record and from segment to
// segment.
//
// A segment gets its name when its header is synced, so a segment without a header is never the trace of a crash. Where
// two segments have the same LSN, the one with the higher number is right: that is how the end of a log is cut off, and
// how it is recovered. Nothing is appended to a segment that was there when the log was opened. The records of an
// unclean end that no watermark proves durable are copied to a new segment and synced before anybody sees them, since
// they may be in the memory of the system only.
//
// # Encryption
//
// With Options.Key, payloads are sealed by AES-256-GCM under a key of the segment, HKDF-SHA256 of Options.Key with the
// salt of the segment, and "culvert wal records", the ID of the log and the number of the segment as info. The nonce is
// four zeros and the LSN; an LSN is used once in a segment, and no segment is continued after it was closed. The header
// of the record without its checksum is authenticated, too. Headers of segments are authenticated by a key with the
// info "culvert wal header" in place of the other. Each names the salt of the segment before it and where that one
// ended, so that no segment can be changed, exchanged, shortened or taken out, but for those at the end of the log:
// whoever can write to the directory can put back an older state of the end, or cut it off where a crash could have.
// Sizes and times of entries can be seen.
//
// # Where it is from
//
// The watermark is the synced offset in the log chunks of Pebble (cockroachdb/pebble#4331), the salts are those of the
// log of SQLite, the rule not to try a sync again is that of PostgreSQL since its "fsyncgate" of 2018 and of Rebello
// and others, "Can Applications Recover from fsync Failures?" (USENIX ATC 2020).
package wal
