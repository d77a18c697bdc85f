// Package queue keeps the tasks and the notes of distributed exports in NATS JetStream: in a server within this
// process, or in one that a URL names. Both are used in the same way.
//
//	q, err := queue.Open(ctx, queue.Config{URL: "nats://queue.example"})
//	job, err := q.Create(ctx, "nightly", secret)
//	err = job.Put(ctx, tasks)      // the coordinator, as often as it likes
//	task, err := job.Next(ctx)     // a worker
//	err = job.Create(ctx, "record."+task.ID, record)
//	task.Done()
//
// # What is kept where
//
// Each [Job] has a stream and a key-value store, which NATS calls a bucket:
//
//	CULVERT_nightly      subjects culvert.nightly.ID   one message for each task that is not done
//	KV_culvert-nightly   keys such as record.ID        notes: each written once, or replaced
//
// The stream has the retention of a work queue: a task vanishes when a worker has acknowledged it. Its subject is the
// ID of the task, and a task is accepted only if its subject has no message. So putting a task again does nothing while
// it is in the queue, however long that takes. The identifiers of messages by which JetStream detects duplicates are
// not used: they are forgotten after a time, and take memory until then.
//
// # What is lost
//
// Nothing in the queue is needed to tell whether an export is right. A server that forgets or repeats messages costs
// work. Tasks may be delivered more than once, and even after they were done. The data of a server within this process
// are lost with the process, so it does not sync them. Others should sync each write (sync_interval: always), and in a
// cluster keep three replicas.
//
// # Sealed
//
// Names of jobs, subjects and keys are not sealed. So whoever reads the data of the NATS server learns the names of
// jobs and workers, how many tasks there are, and when they are done. Whoever changes the data can also withhold or
// repeat messages. Values and messages are sealed with AES-256-GCM and a random nonce, by a key for each job:
//
//	key  = HKDF-SHA-256(secret, salt = name of the job, info = "culvert/v1 queue", 32 bytes)
//	data = nonce ‖ AES-256-GCM(key, nonce, plaintext, additional data = subject or key)
//
// So a message that is changed, or stored under another name or in another job, is not opened. An older value of the
// same key is opened: only values that are written once are proof against that.
//
// # Outages
//
// A call waits while the server cannot be reached, restarts, or elects a leader, until its context ends. Calls that
// have sent something twice find out whether the first attempt has succeeded. A NATS server whose disk is full does not
// answer either, until it is restarted with room. One within this process cannot be, so calls fail with the error of
// the disk, such as [syscall.ENOSPC].
//
// # Liveness
//
// A live process replaces a value of the queue again and again ([Job.Acquire], [Pulse]). Other processes consider it
// dead after [Looks] consecutive looks, [Config.Heartbeat] apart, that have seen the same revision. No clocks are
// compared, and during an outage of the server, in which no process can look, none is considered dead.
package queue
