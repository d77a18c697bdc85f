package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"culvert/internal/lazyregexp"
)

const subjectPrefix = "culvert."

// MaxData is the most bytes that a value may have. A NATS server accepts messages of 1 MiB by default.
const MaxData = 512 << 10

// overhead is what a message may have beside a value: its seal and its headers.
const overhead = 4 << 10

// ids are the valid IDs of tasks, and keys of values.
var ids = lazyregexp.New(`^[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)*$`)

// Task is a task that this worker has been given, among perhaps others.
type Task struct {
	ID string

	// Delivery counts how often the task was given to a worker, from 1. Last: it will not be any more.
	Delivery int
	Last     bool

	job     *Job
	message jetstream.Msg
}

// maxPending bounds the tasks that are on their way to the server.
const maxPending = 256

// Put puts tasks into the queue. It skips those that are in it. If it fails, some may be in the queue, and the caller
// may put all of them again.
func (j *Job) Put(ctx context.Context, tasks iter.Seq[string]) error {
	var batch []*nats.Msg
	for id := range tasks {
		if !ids.MatchString(id) {
			return fmt.Errorf("queue: %q cannot be the ID of a task", id)
		}
		subject := subjectPrefix + j.Name + "." + id
		batch = append(batch, &nats.Msg{Subject: subject, Data: j.sealer.Seal(subject, nil)})
		if len(batch) == maxPending {
			if err := j.putBatch(ctx, batch); err != nil {
				return err
			}
			batch = nil
		}
	}
	return j.putBatch(ctx, batch)
}

// putBatch sends messages at once, and those without an answer again.
func (j *Job) putBatch(ctx context.Context, batch []*nats.Msg) error {
	return j.again(ctx, func(ctx context.Context) error {
		sent := make([]jetstream.PubAckFuture, 0, len(batch))
		for _, message := range batch {
			again := &nats.Msg{Subject: message.Subject, Data: message.Data} // the call fills in headers
			future, err := j.q.stream.PublishMsgAsync(again, jetstream.WithExpectLastSequencePerSubject(0))
			if err != nil {
				return err
			}
			sent = append(sent, future)
		}
		var failed error
		rest := batch[:0:0]
		for i, future := range sent {
			var err error
			select {
			case <-future.Ok():
				continue
			case err = <-future.Err():
			case <-ctx.Done():
				err = ctx.Err()
			}
			if !isConflict(err) {
				failed = err
				rest = append(rest, batch[i])
			}
		}
		batch = rest
		return failed
	})
}

// Next waits for a task. The error is [ErrNoJob] if the job is removed.
//
// The worker must call Extend again and again while it makes progress, and then Done, Return or Bury. If it is silent
// for AckWait, the task is given to another worker.
func (j *Job) Next(ctx context.Context) (*Task, error) {
	for {
		var message jetstream.Msg
		err := j.again(ctx, func(ctx context.Context) (err error) {
			message, err = j.fetch(ctx)
			return err
		})
		switch {
		case message == nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case message == nil && err != nil:
			return nil, err
		case message == nil:
			continue
		}
		task, err := j.open(message)
		switch {
		case err == nil && ctx.Err() != nil:
			task.Return(0) // for others
			return nil, ctx.Err()
		case err == nil:
			return task, nil
		}
		// A message that nobody can open would come back to each worker in turn.
		(&Task{job: j, message: message}).Bury()
		j.q.config.Notice("a message of the queue was thrown away: " + err.Error())
	}
}

// fetch returns a message, or nil if there is none until ctx ends. A worker that is killed meanwhile may be given a
// task in vain.
func (j *Job) fetch(ctx context.Context) (jetstream.Msg, error) {
	batch, err := j.consumer.Fetch(1, jetstream.FetchContext(ctx))
	if errors.Is(err, jetstream.ErrInvalidOption) {
		return nil, nil // there is no time left
	}
	if err != nil {
		return nil, err
	}
	message, ok := <-batch.Messages() // closed at the latest when ctx ends
	switch {
	case ok:
		return message, nil
	case ctx.Err() != nil:
		return nil, nil
	}
	return nil, batch.Error()
}

func (j *Job) open(message jetstream.Msg) (*Task, error) {
	meta, err := message.Metadata()
	if err != nil {
		return nil, err
	}
	if _, err := j.sealer.Open(message.Subject(), message.Data()); err != nil {
		return nil, err
	}
	delivery := int(min(meta.NumDelivered, 1<<30))
	return &Task{
		ID: strings.TrimPrefix(message.Subject(), subjectPrefix+j.Name+"."), Delivery: delivery,
		Last: delivery >= j.consumer.CachedInfo().Config.MaxDeliver, job: j, message: message,
	}, nil
}

// AckWait is how long a task may be silent before another worker gets it.
func (j *Job) AckWait() time.Duration { return j.consumer.CachedInfo().Config.AckWait }

// What a worker says of a task is not answered: after a restart, a server ignores what it is told of tasks that it has
// forgotten to have delivered. If it is lost, the task is given to a worker again, who finds that it is done.

// Extend says that the task makes progress.
func (t *Task) Extend() { t.say(t.message.InProgress()) }

// Done removes the task from the queue, even if it was given to others meanwhile.
func (t *Task) Done() { t.say(t.message.Ack()) }

// Return gives the task back, for another worker, after a delay. If it was the last time, the task leaves the queue
// instead, and may be put again: it would stay there, and be given to nobody.
func (t *Task) Return(delay time.Duration) {
	if t.Last {
		t.Bury()
		return
	}
	t.say(t.message.NakWithDelay(delay))
}

// Bury removes the task from the queue though it is not done: no worker can do it.
func (t *Task) Bury() { t.say(t.message.Term()) }

func (t *Task) say(err error) {
	if err != nil && !passes(err) && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		t.job.q.config.Notice("task " + t.ID + ": " + err.Error())
	}
}

// Backlog counts the tasks of a job.
type Backlog struct {
	Waiting int // for a worker
	Running int // with a worker, or returned and not yet given to another
}

// Backlog returns the counts. They are approximate while workers take tasks.
func (j *Job) Backlog(ctx context.Context) (b Backlog, err error) {
	err = j.again(ctx, func(ctx context.Context) error {
		consumer, err := j.consumer.Info(ctx)
		if err != nil {
			return err
		}
		b.Waiting, b.Running = int(min(consumer.NumPending, 1<<31)), consumer.NumAckPending
		return nil
	})
	return b, err
}

// Drop removes all tasks whose IDs begin with a prefix and a period, also those that workers have.
func (j *Job) Drop(ctx context.Context, prefix string) error {
	return j.again(ctx, func(ctx context.Context) error {
		return j.tasks.Purge(ctx, jetstream.WithPurgeSubject(subjectPrefix+j.Name+"."+prefix+".>"))
	})
}

// Queued returns the IDs of all tasks that are in the queue, in order: waiting, running or abandoned.
func (j *Job) Queued(ctx context.Context) (all []string, err error) {
	prefix := subjectPrefix + j.Name + "."
	err = j.again(ctx, func(ctx context.Context) error {
		info, err := j.tasks.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
		if err != nil {
			return err
		}
		all = all[:0]
		for subject := range info.State.Subjects {
			all = append(all, strings.TrimPrefix(subject, prefix))
		}
		return nil
	})
	slices.Sort(all)
	return all, err
}
