package workers

// Event is something that happens to a job, for programs that watch it.
type Event struct {
	Event    EventKind `json:"event"`
	Snapshot string    `json:"snapshot,omitempty"` // of EventResumed: how the export goes on
	Worker   string    `json:"worker,omitempty"`
	Table    string    `json:"table,omitempty"`
	Part     int       `json:"part,omitempty"`    // of the table, from 1
	Attempt  int       `json:"attempt,omitempty"` // at the part, from 1
	Reason   string    `json:"reason,omitempty"`  // of a failure
}

// EventKind says what has happened.
type EventKind string

// What happens to a job. When a coordinator goes on with one, it also tells of failures that were before.
const (
	EventResumed      EventKind = "resumed"       // the coordinator goes on with the job, in a Snapshot
	EventWorkerJoined EventKind = "worker_joined" // or it is heard of again
	EventWorkerSilent EventKind = "worker_silent" // it is dead, or cut off
	EventWorkerFailed EventKind = "worker_failed" // it could not write a part, and says why
	EventWorkerEnded  EventKind = "worker_ended"
	EventPartFailed   EventKind = "part_failed" // it is tried again, unless that was the last attempt
	EventTableFailed  EventKind = "table_failed"
)

// How an export goes on (Snapshot of an [Event]).
const (
	snapshotJoined    = "joined"    // that of the job, which somebody holds
	snapshotHeld      = "held"      // the same, by Held
	snapshotUnchanged = "unchanged" // a new one, which is proven to be the same
	snapshotNew       = "new"       // a new one for tables that were not complete
	snapshotUnneeded  = "unneeded"  // all parts are written
)

func (c *Coordinator) happened(e Event) {
	if c.Event != nil {
		c.Event(e)
	}
}

// joined tells of what is new in the status of a worker.
func (w *watch) joined(name string, now WorkerStatus) {
	before, known := w.states[name]
	if !known {
		w.c.happened(Event{Event: EventWorkerJoined, Worker: name})
	}
	if now.Failure != "" && now.Failure != before.Failure {
		w.c.happened(Event{Event: EventWorkerFailed, Worker: name, Reason: now.Failure})
	}
}

// partFailed tells of an attempt at a part that has failed.
func (w *watch) partFailed(task string, failure failureNote) {
	id, err := parseTaskID(task)
	if err != nil || !w.has(id) {
		return // of a plan that was replaced
	}
	w.c.happened(Event{
		Event: EventPartFailed, Worker: failure.Worker, Table: w.operation.note.Tables[id.table], Part: id.number + 1,
		Attempt: failure.Delivery, Reason: failure.Error,
	})
}

// fail notes why a table cannot be exported.
func (o *operation) fail(table int, err error) {
	o.tables[table].failed = err
	o.c.happened(Event{Event: EventTableFailed, Table: o.note.Tables[table], Reason: err.Error()})
}
