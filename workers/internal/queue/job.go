package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"culvert/internal/lazyregexp"
)

const (
	streamPrefix = "CULVERT_"
	bucketPrefix = "culvert-"
	consumerName = "workers"
)

// names are the valid names of jobs. They are part of those of streams and buckets.
var names = lazyregexp.New(`^[a-z0-9-]{1,64}$`)

// Job is a set of tasks and of notes about them. Its methods may be called concurrently. They return [ErrNoJob] once
// the job is removed.
type Job struct {
	Name string

	q        *Queue
	sealer   *Sealer
	tasks    jetstream.Stream
	consumer jetstream.Consumer
	values   jetstream.KeyValue
}

// Create makes a job, or opens it if it exists. The name has lower-case letters, digits and hyphens, at most 64.
func (q *Queue) Create(ctx context.Context, name string, secret []byte) (*Job, error) {
	j, err := q.job(name, secret)
	if err != nil {
		return nil, err
	}
	err = q.again(ctx, func(ctx context.Context) error {
		// The bucket is made last: a job without one is not complete.
		if j.tasks, err = q.stream.CreateStream(ctx, q.streamConfig(name)); err != nil {
			if j.tasks, err = existing(ctx, q, name, err); err != nil {
				return err
			}
		}
		if j.consumer, err = j.tasks.CreateConsumer(ctx, q.consumerConfig()); err != nil {
			if !errors.Is(err, jetstream.ErrConsumerExists) {
				return err
			}
			if j.consumer, err = j.tasks.Consumer(ctx, consumerName); err != nil {
				return err
			}
		}
		j.values, err = q.stream.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: bucketPrefix + name, Replicas: q.config.Replicas, Storage: jetstream.FileStorage,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			j.values, err = q.stream.KeyValue(ctx, bucketPrefix+name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("queue: job %s: %w", name, err)
	}
	return j, nil
}

// existing returns the stream of a job that another one has made with other settings, such as AckWait.
func existing(ctx context.Context, q *Queue, name string, err error) (jetstream.Stream, error) {
	if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil, err
	}
	return q.stream.Stream(ctx, streamPrefix+name)
}

func (q *Queue) streamConfig(name string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: streamPrefix + name, Subjects: []string{subjectPrefix + name + ".>"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: q.config.Replicas,
	}
}

func (q *Queue) consumerConfig() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: consumerName, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: q.config.AckWait, MaxDeliver: q.config.MaxDeliver, MaxAckPending: -1, MaxWaiting: 1 << 14,
	}
}

// Job opens a job. The error is [ErrNoJob] if it does not exist, or not completely.
func (q *Queue) Job(ctx context.Context, name string, secret []byte) (*Job, error) {
	j, err := q.job(name, secret)
	if err != nil {
		return nil, err
	}
	err = q.again(ctx, func(ctx context.Context) error {
		if j.values, err = q.stream.KeyValue(ctx, bucketPrefix+name); err != nil {
			return err
		}
		if j.tasks, err = q.stream.Stream(ctx, streamPrefix+name); err != nil {
			return err
		}
		j.consumer, err = j.tasks.Consumer(ctx, consumerName)
		return err
	})
	if isMissing(err) {
		return nil, ErrNoJob
	}
	return j, err
}

func isMissing(err error) bool {
	return errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) ||
		errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, nats.ErrStreamNotFound) ||
		errors.Is(err, nats.ErrConsumerNotFound)
}

func (q *Queue) job(name string, secret []byte) (*Job, error) {
	if !names.MatchString(name) {
		return nil, fmt.Errorf("queue: %q cannot be the name of a job", name)
	}
	sealer, err := NewSealer(secret, name, "queue")
	return &Job{Name: name, q: q, sealer: sealer}, err
}

// Jobs returns the names of all jobs, in order. This client may lack the secrets of some.
func (q *Queue) Jobs(ctx context.Context) (all []string, err error) {
	err = q.again(ctx, func(ctx context.Context) error {
		all = nil
		list := q.stream.KeyValueStoreNames(ctx)
		for bucket := range list.Name() {
			if name, ours := strings.CutPrefix(bucket, bucketPrefix); ours && names.MatchString(name) {
				all = append(all, name)
			}
		}
		return list.Error()
	})
	slices.Sort(all)
	return all, err
}

// Remove removes a job. It is not an error if there is none.
func (q *Queue) Remove(ctx context.Context, name string) error {
	return q.again(ctx, func(ctx context.Context) error {
		err := q.stream.DeleteKeyValue(ctx, bucketPrefix+name)
		if err != nil && !isMissing(err) {
			return err
		}
		if err = q.stream.DeleteStream(ctx, streamPrefix+name); isMissing(err) {
			return nil
		}
		return err
	})
}

// again is Queue.again. If nobody answers, it finds out whether the job still exists.
func (j *Job) again(ctx context.Context, f func(context.Context) error) error {
	err := j.q.again(ctx, func(ctx context.Context) error {
		err := f(ctx)
		if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) ||
			errors.Is(err, jetstream.ErrConsumerDeleted) {
			if _, missing := j.q.stream.Stream(ctx, "KV_"+bucketPrefix+j.Name); isMissing(missing) {
				return ErrNoJob
			}
		}
		return err
	})
	if isMissing(err) {
		return ErrNoJob
	}
	return err
}
