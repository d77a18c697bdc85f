package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"culvert/export"
	"culvert/manifest"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// The keys of the notes of a job.
const (
	jobKey      = "job"    // jobNote; replaced with its snapshot
	callKey     = "call"   // jobNote of a job that is about to come back: who holds its snapshot?
	leaseKey    = "lease"  // of the coordinator
	tablePrefix = "table"  // .TABLE: tableNote
	cutsPrefix  = "cuts"   // .PLAN.TABLE.CHUNK: []cut, written once
	recordKeys  = "record" // .PLAN.TABLE.PART: recordNote, written once: the first worker wins
	failureKeys = "failure"
	deadKeys    = "dead"
	sharedKeys  = "shared"  // .WORKER: source.Snapshot
	workerKeys  = "worker"  // .WORKER: WorkerStatus
	lostKey     = "lost"    // the name of a worker that could not join the snapshot of a job without a coordinator
	headKeys    = "head"    // .TERM: how the manifest begins that this coordinator is about to write
	sessionKeys = "session" // .NUMBER: a lease for each connection to the database
)

// jobNote is what all participants have to know.
type jobNote struct {
	Run         string             `json:"run"`      // tells this job from others of the same name
	Settings    json.RawMessage    `json:"settings"` // of the program
	Tables      []string           `json:"tables"`
	Omitted     []string           `json:"omitted,omitempty"`
	Schema      *manifest.Schema   `json:"schema,omitempty"` // whose file is written
	PartSize    int64              `json:"part_size"`
	Sessions    int                `json:"sessions,omitempty"` // at most, over all workers; 0: any number
	Description source.Description `json:"description"`
	Snapshot    source.Snapshot    `json:"snapshot"`
	Held        string             `json:"held,omitempty"` // the token of Coordinator.Held
	Begun       time.Time          `json:"begun"`
}

// held returns the snapshot of Coordinator.Held, whose holder may not be in the queue, and may outlive all who are.
func (n *jobNote) held() []source.Snapshot {
	if n.Held == "" {
		return nil
	}
	held := n.Snapshot
	held.Token = n.Held
	return []source.Snapshot{held}
}

// readRun returns the note of a job, which may be about to come back.
func readRun(ctx context.Context, job *queue.Job) (note jobNote, err error) {
	if err = read(ctx, job, jobKey, &note); errors.Is(err, queue.ErrNotFound) {
		err = read(ctx, job, callKey, &note)
	}
	return note, err
}

// tableNote is the plan of a table. It is written at once, when its chunks are: sizes of tables change, so a table that
// is cut again may be cut elsewhere, and parts of two plans would not fit together.
type tableNote struct {
	Run      string      `json:"run"`      // of the job: a worker of an earlier one has other settings
	Plan     string      `json:"plan"`     // names this plan, so that tasks and records of another one are not mixed in
	Part     source.Part `json:"part"`     // what all parts have in common
	Snapshot string      `json:"snapshot"` // as its description names it
	Parts    int         `json:"parts"`
	Chunks   int         `json:"chunks"`
	Error    string      `json:"error,omitempty"` // why it cannot be exported; then there are no parts

	Definition *source.Definition `json:"definition,omitempty"` // if the source knows it
}

// outline returns what a manifest says of the table.
func (n *tableNote) outline() *export.Outline {
	return &export.Outline{
		Table: n.Part.Table, Columns: n.Part.Columns, Definition: n.Definition,
		Outside: n.Snapshot == manifest.NoSnapshot,
	}
}

// cut is what distinguishes one part of a table.
type cut struct {
	Range source.Range `json:"range"`
	Bytes int64        `json:"bytes,omitempty"`
	Rows  int64        `json:"rows,omitempty"`
}

// part returns the part of a table that a cut stands for.
func (n *tableNote) part(c cut) source.Part {
	p := n.Part
	p.Range, p.Bytes, p.Rows = c.Range, c.Bytes, c.Rows
	return p
}

// recordNote says that a part is written.
type recordNote struct {
	File   manifest.Part `json:"file"`
	Worker string        `json:"worker"`
}

// failureNote says why a worker could not write a part.
type failureNote struct {
	Worker   string `json:"worker"`
	Delivery int    `json:"delivery"`
	Error    string `json:"error"`
}

// bounded returns the text of an error for a note, which may contain a whole value of the database otherwise.
func bounded(err error) string {
	const most = 2 << 10 // bytes
	text := err.Error()
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// taskID names a part of a plan. Table and number count from 0.
type taskID struct {
	plan          string
	table, number int
}

func (id taskID) String() string { return fmt.Sprintf("%s.%d.%d", id.plan, id.table, id.number) }

func parseTaskID(text string) (id taskID, err error) {
	fields := strings.Split(text, ".")
	if len(fields) != 3 {
		return id, fmt.Errorf("workers: %q is not the ID of a task", text)
	}
	id.plan = fields[0]
	if id.table, err = strconv.Atoi(fields[1]); err != nil || id.table < 0 {
		return id, fmt.Errorf("workers: %q is not the ID of a task", text)
	}
	if id.number, err = strconv.Atoi(fields[2]); err != nil || id.number < 0 {
		return id, fmt.Errorf("workers: %q is not the ID of a task", text)
	}
	return id, nil
}

// read reads a note.
func read(ctx context.Context, job *queue.Job, key string, note any) error {
	value, err := job.Get(ctx, key)
	if err != nil {
		return err
	}
	return decode(value, note)
}

func decode(value queue.Value, note any) error {
	if err := json.Unmarshal(value.Data, note); err != nil {
		return fmt.Errorf("workers: the note %s of another version: %w", value.Key, err)
	}
	return nil
}

// encode returns a note as it is stored.
func encode(note any) []byte {
	data, err := json.Marshal(note)
	if err != nil {
		panic(err) // notes have no values that JSON cannot hold
	}
	return data
}

func tableKey(table int) string { return tablePrefix + "." + strconv.Itoa(table) }

func chunkKey(plan string, table, chunk int) string {
	return fmt.Sprintf("%s.%s.%d.%d", cutsPrefix, plan, table, chunk)
}
