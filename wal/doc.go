// Package wal is a write-ahead log: programs append entries, and entries that it has acknowledged survive a crash.
//
//	log, recovery, err := wal.Open("journal", wal.Options{})
//	lsn, err := log.Append(ctx, []byte("one"), []byte("two")) // both or none, durable when Append returns
//	for record, err := range log.Records(ctx, 0) { … }
//	data, err := log.Read(lsn, nil)
//	err = log.Close()
//
// An entry is a sequence of bytes. The entries of one Append are a group: after a crash, either all of them are in the
// log or none. Each entry has a number, its [LSN]. LSNs begin at 1, or at Options.First, and have no gaps. Goroutines
// that append at the same time share one sync of the disk.
//
// # Guarantees
//
// When Append has returned without an error, its group survives
//
//	Options.Sync    a kill of the process    a crash of the system, a loss of power
//	Each            yes                      yes
//	Interval        yes                      all but the last Options.Interval, and the sync under way then
//	None            yes                      up to the last Sync, or the last full segment
//
// After AppendAsync with Each, nothing is guaranteed until [Ticket.Wait] or [Log.Sync] has returned. With the other
// modes, a kill loses entries of AppendAsync from about the last 10 milliseconds, at most 2 MiB.
//
//   - Groups are complete, in order and without gaps. A crash removes entries only from the end.
//   - [Open] cuts off the torn end of a log that was not closed, and [Recovery] reports how much. Damage elsewhere is
//     never cut off: it is an [ErrCorrupt], in a [SegmentError] that says where. No option changes that; [Repair] and
//     culvert wal repair make a new log of the entries before the damage.
//   - [Open] reads only the end of the log. Damage elsewhere is found when entries are read, for example by culvert wal
//     verify.
//   - After the first failed write or sync, every call returns [ErrFailed]. A failed sync is never repeated: the system
//     may have dropped the data, and would report success the second time. Open the log again; acknowledged entries are
//     still there.
//   - If the disk has no room for a new segment, the log does not fail. Append returns the error, its group is not in
//     the log, and later appends succeed once there is room. Until then, groups that fit into the current segment are
//     appended. [Log.TruncateFront], which makes room, needs at most 8 KiB. After a kill, [Open] needs 8 KiB and the
//     size of the unproven entries; it takes that from space that the last segment had reserved. On a full disk, that
//     is always enough with Interval and None, and with Each for up to a sixteenth of a segment.
//   - A log stays in its directory, even if the directory is renamed. Links that lead out of it are not followed.
//   - Reads return only acknowledged entries, and [Log.Tail] only durable ones.
//
// The package assumes that the disk keeps the data that it has confirmed, and that an interrupted write damages only
// the bytes that were to be written, not other bytes of a sector.
//
// A copy of the directory of a closed log is a log. A file-by-file copy of an open log may lack a record before one
// that it has, which is damage. [Log.Copy] copies an open log up to [Log.Durable]; [Reader.Copy] and culvert wal copy
// copy a log that another process has open.
//
// # Damage and torn ends
//
// A crash may leave any part of the data written since the last sync, and so may a damaged disk. To tell them apart,
// each record carries a watermark: the LSN up to which the log was durable when the record was made. If a later record
// in the segment has a watermark that covers a bad record, the bad one had been durable, and the log is damaged.
// Records since the last sync but one have no such witness. After a recovery or [Log.Close], the header of the segment
// says how far the segment goes.
//
// # Memory
//
// A log has two buffers of up to 1 MiB, or up to 4 MiB after groups of that size; a larger group is in memory while it
// is written. An iteration takes 64 KiB or the size of its largest entry. Open of a log that was not closed takes 2
// MiB, or twice the largest entry. [Log.Read] keeps up to eight segments open and takes 16 KiB for each, or up to 1 MiB
// after large entries.
//
// Each segment takes 2 KiB, and its index 16 bytes for every 4 KiB of the segment, at most 80 KiB. A segment has an
// index once [Log.Read], Records or Tail has searched it for an entry, and if it was the last one of a log that was not
// closed. Nothing else grows with the log.
//
// # Files
//
// A log is a directory of segments, named NUMBER.wal with 16 hexadecimal digits; a file "lock", which the writer holds
// locked; and possibly an unfinished segment, NUMBER.wal.tmp. Numbers are little endian. Do not remove or rename the
// lock: a writer that has lost it fails at its next sync, before it acknowledges entries that another writer might not
// have seen.
//
//	segment       ┌────────────────┬────────────────┬────────┬────────┬─────┬────────┬──────────┐
//	              │ header, slot 0 │ header, slot 1 │ record │ record │  …  │ record │ zeros    │
//	              └────────────────┴────────────────┴────────┴────────┴─────┴────────┴──────────┘
//	              0               4096             8192                              end       size
//
// A header has two slots, so that one is intact if a crash tears the other or the disk loses it. The valid slot with
// the larger generation counts. The header is written when the segment is created or sealed, and when the front of the
// log is cut off: first to the slot of its generation modulo 2, and after a sync to the other slot.
//
//	offset  size
//	   0      8   "CULVERTW"
//	   8      4   version of the format: 2
//	  12      4   flags: 1 sealed, 2 encrypted
//	  16     16   ID of the log: random, the same in all segments
//	  32      8   number of the segment
//	  40      8   generation
//	  48      8   LSN of the first record of the segment
//	  56      8   LSN of the first entry of the log; entries before it have been cut off
//	  64     32   salt: random
//	  96     32   salt of the segment before; zeros if there is none
//	 128      8   size: all records end before it
//	 136      8   key check: identifies the key of the log
//	 144      8   watermark: all entries up to this LSN are durable; the last record, once sealed
//	 152      8   end of the last record, once sealed
//	 160      8   cuts: how often the end of the log was cut off before the segment was created
//	 168     32   HMAC-SHA256 of the bytes before, if encrypted
//	 200          zeros
//	4092      4   CRC-32C of the bytes before
//
// Records begin at multiples of 8.
//
//	offset  size                                            ┌──────────────────────────────┬─────────┐
//	   0      4   CRC-32C                                   │ CRC length flags             │ payload │
//	   4      4   length of the payload                     │     LSN watermark   32 bytes │         │
//	   8      2   flags: 1 last of its group                └──────────────────────────────┴─────────┘
//	  10      6   first bytes of the salt of the segment
//	  16      8   LSN
//	  24      8   watermark: all entries up to this LSN were durable
//	  32          payload, then zeros up to a multiple of 8
//
// The checksum covers the salt of the segment and the record after the checksum. Because of the salt, a record of
// another segment, of another log, or of a former use of the same blocks is never taken for one of this segment.
// Because the head has bytes of the salt, payloads cannot be made up to look like heads, each of which the search for
// the end of a log would have to read. LSNs increase by one from record to record, across segments.
//
// A segment gets its name after its header is synced, so a segment without a header is never the trace of a crash. If
// two segments have the same LSN, the one with the higher number counts: this is how the end of a log is cut off, and
// how a log is recovered. Nothing is appended to a segment of an earlier process. If a log was not closed, Open copies
// the records at its end that no watermark proves durable to a new segment, and syncs it before anybody sees them: they
// may be only in the memory of the system.
//
// Open joins segments at the end of the log into a new one while they have at most 256 KiB of records together, and at
// most half of Options.SegmentSize. So a log that is opened for each entry has few segments.
//
// # Encryption
//
// With Options.Key, payloads are sealed by AES-256-GCM under a key of the segment: HKDF-SHA256 of Options.Key with the
// salt of the segment, and as info "culvert wal records", the ID of the log and the number of the segment. The nonce is
// four zeros and the LSN. An LSN is used once in a segment, and no segment is continued after it was closed. The head
// of a record, without its checksum, is authenticated too. Headers are authenticated under a key with the info "culvert
// wal header". Each header names the salt of the segment before and its last LSN, so segments cannot be changed,
// exchanged, shortened or removed, except at the end of the log: an attacker who can write to the directory can restore
// an older state of the end, or cut it off where a crash could have. Sizes and times of entries are visible.
//
// # Sources
//
// The watermark is the synced offset in the log chunks of Pebble (cockroachdb/pebble#4331). Salts are as in the log of
// SQLite. Never repeating a failed sync is the rule of PostgreSQL since its "fsyncgate" of 2018, and of Rebello et al.,
// "Can Applications Recover from fsync Failures?" (USENIX ATC 2020).
package wal
