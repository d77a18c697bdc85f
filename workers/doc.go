// Package workers exports tables by many processes, on one machine or on many, in one snapshot of the database.
//
//	          Coordinator                         queue                            Worker (any number)
//	┌─────────────────────────────┐   ┌───────────────────────────┐   ┌──────────────────────────────────────┐
//	│ take a snapshot             │──▶│ job, shared snapshots     │──▶│ join the snapshot, share it again    │
//	│ cut the tables into parts   │──▶│ plan of each table, tasks │──▶│ take a task, write the part as a file│
//	│ wait                        │◀──│ records, failures         │◀──│ record it: the first one wins        │
//	│ remove files without record,│   └───────────────────────────┘   └──────────────────────────────────────┘
//	│ write the manifest          │            NATS JetStream                  files ──▶ place.Place
//	└─────────────────────────────┘
//
// A [Coordinator] and each [Worker] have a connection to the queue, to the database, and to the place. Rows go from the
// database through a worker to the place. The queue has neither rows nor credentials.
//
// # What may fail
//
// What is in the place counts; the queue only schedules work. What the queue loses or repeats costs work, never rows.
//
//	what happens                what follows
//	a worker is killed          its part is given to another one after AckWait, 30 s
//	a worker is stopped,        the same; when it goes on, it finds that its part is recorded, and removes its file
//	or cut off
//	the coordinator is killed   the workers go on; the next one takes over after 6 heartbeats, 6 s, and joins any
//	                            shared snapshot
//	all are killed              the next coordinator goes on if a Holder holds the snapshot, or the database proves
//	                            that nothing has changed. If not, it fails with a LostError; or, with Mixed, exports
//	                            unfinished tables in a new snapshot, and the manifest says that it is not consistent
//	none follows                workers leave the job when its snapshot is lost, or some time after its last part
//	the queue is killed         all wait until it is back
//	its disk is full            the same, with a notice; NATS has to be restarted with room. If it is within the
//	                            process, the export ends, and Resume goes on
//	the queue loses everything  the coordinator, or the next one with Resume, puts the job there again
//	a part fails                it is given to other workers; after MaxDeliver, the table has failed
//	the place is full           workers end; when there is room, others go on
//	a worker cannot write to    its session ends at the third error in a row; others write the parts
//	the place
//	a job of the same name      workers of the earlier job give its tasks back, and end
//	begins again
//	the queue loses a task      the coordinator puts it again
//	the queue loses a record    the part is written again, under another name
//	the place loses a part      the part is written again, before the manifest is; not if it is lost a second time
//	the place does not remove   segments of the journal, or files without a record, are left, with a notice
//
// A snapshot lives as long as any session that has shared it. Each session of a worker shares the snapshot that it has
// joined, and notes its token: it is a shared snapshot. So the coordinator and all workers except one may fail. A
// [Holder] does nothing else, so that all of them may fail.
//
// All must reach the same running server: a snapshot means nothing to another one, nor after a restart. A session that
// reaches another server, or a connection pooler in transaction mode, is refused. A restart of the database ends all
// sessions, and with them the snapshot. After that, the database cannot prove that nothing has changed.
//
// # Journal
//
// The coordinator writes what the queue knows to the place as well: the job, the plans of its tables, the records of
// parts that are written, and the shared snapshots. If the queue does not know the job, a coordinator with Resume
// copies these notes back into it, except records whose files are missing or have another size, and shared snapshots,
// whose sessions may have ended: it tries each shared snapshot itself. Then it goes on as if the queue had kept the
// notes. So a queue within a process may lose its data when the process ends.
//
//	.culvert/RUN-TERM-NUMBER    such as .culvert/019ab2c4d5e6f708-0001-000001
//
// RUN tells the job from others of its name, TERM counts its coordinators, and NUMBER the segments of each. A segment
// has lines of JSON, each an object with the key and the note of the queue, and is sealed as those are, with "journal"
// in place of "queue" and its name in place of the subject. A place has no files that grow. So the newest segment is
// written again, longer each time, until it has 128 KiB. It is written a heartbeat after a note if the queue is within
// the process. Otherwise it is written after a hundredth of the time since the coordinator began, which is at least
// five heartbeats and at most a minute, so most parts cost no request. If the queue is lost too, parts that were
// recorded after the last write are written again. A process that is killed with its queue loses no more than the
// parts under way and the work of a heartbeat. A new coordinator writes all that it knows, and removes the segments of
// earlier ones.
//
// The same files serve directories, servers and buckets. They are not a log of package wal, which needs files that
// grow, and which a coordinator that hangs would keep locked.
//
// The journal is removed when the manifest is written. Without a manifest, it means that the export can go on, so a
// Coordinator with neither Resume nor Overwrite fails with [ErrUnfinished]. With a manifest, it means nothing. If two
// coordinators with different queues write to one place, the one that began first fails before it removes or lists
// anything. So does one whose journal an export without workers has removed, by Overwrite.
//
// A job begins in an empty place, unless Overwrite is set, and goes on only where its journal is, or the manifest that
// one of its coordinators has written. Otherwise it fails with [ErrOccupied], and leaves everything as it is. The
// manifest names the run.
//
// # Files
//
// A worker writes a part under the first free name: orders/000001.csv.zst.age, orders/000001-2.csv.zst.age, and so on.
// Nobody replaces a file. The manifest lists the one that was recorded first, and the coordinator removes the others
// before it writes the manifest. A worker that comes second removes its own file if the file is encrypted. An
// unencrypted file is left, since the next export may have written an equal one under that name. A file that the
// manifest does not list may also remain if a worker is killed after the manifest was written, before it removes its
// file; or if the queue goes away at the moment at which it records the part.
//
// # Trust
//
// All participants share a secret. Messages and notes are sealed with a key made of it, so only who has the secret can
// read ranges, which may contain values of the primary key, or say where files go and to whom they are encrypted.
//
//	who is malicious  can                                               cannot
//	the NATS server   see the names of jobs and workers; see the        read or change ranges, recipients or records;
//	                  number, time and size of messages; withhold or    have the manifest list a part twice, or leave
//	                  repeat them, so that the export takes long,       one out; have parts of a job written with the
//	                  never ends, or does work twice                    settings of an earlier one
//	the place         remove files, put back an older export or         read rows, ranges or the journal; change a
//	                  journal; learn sizes, times and the names of      file unnoticed: verifying finds that
//	                  tables
//	a worker          read what its database user may read; write       hide wrong rows: comparing the manifest with
//	                  wrong rows or sums, put tasks for the others      the database finds them
//
// Nothing protects the participants from each other: a worker has credentials of the database and of the place, so a
// signature of the coordinator would keep nothing from it.
package workers
