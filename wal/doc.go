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
// # Files
//
// A log is a directory of segments, named NUMBER.wal; a file "lock", which the writer holds locked; and possibly an
// unfinished segment, NUMBER.wal.tmp. Do not remove or rename the lock: a writer that has lost it fails at its next
// sync, before it acknowledges entries that another writer might not have seen. SPEC.md beside this file has every
// byte.
//
// # Encryption
//
// With Options.Key, entries are sealed by AES-256-GCM under a key of their segment. Without the key, nobody can read
// entries, or change, exchange, shorten or remove them without an error, except at the end of the log: an attacker who
// can write to the directory can restore an older state of the end, or cut it off where a crash could have. Sizes and
// times of entries are visible.
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
package wal
