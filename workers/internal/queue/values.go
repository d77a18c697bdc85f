package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Value is what is noted under a key.
type Value struct {
	Key      string
	Data     []byte
	Revision uint64 // changes whenever the value does

	// Written is when, by the clock of the server. Only times of one server can be compared.
	Written time.Time
}

// Now returns the time by the clock of the server, for comparisons with Value.Written.
func (j *Job) Now(ctx context.Context) (now time.Time, err error) {
	err = j.again(ctx, func(ctx context.Context) error {
		info, err := j.tasks.Info(ctx)
		if err == nil {
			now = info.TimeStamp
		}
		return err
	})
	return now, err
}

// Create notes a value that is never changed. The first one wins: if there is another value, the error is [ErrExists].
func (j *Job) Create(ctx context.Context, key string, data []byte) error {
	_, err := j.Update(ctx, key, data, 0)
	if errors.Is(err, ErrReplaced) {
		return ErrExists
	}
	return err
}

// Update replaces a value if it has this revision, and returns the new one. Revision 0 means that there is no value
// yet. If there is another value, the error is [ErrReplaced], and this one was not stored. With other errors, it may
// have been stored; but an [ErrNoJob] that is not an [ErrUncertain] means that it was not.
func (j *Job) Update(ctx context.Context, key string, data []byte, revision uint64) (now uint64, err error) {
	sealed, err := j.sealed(key, data)
	if err != nil {
		return 0, err
	}
	uncertain := false
	err = j.again(ctx, func(ctx context.Context) error {
		if revision == 0 {
			now, err = j.values.Create(ctx, key, sealed)
		} else {
			now, err = j.values.Update(ctx, key, sealed, revision)
		}
		switch {
		case err == nil:
			return nil
		case !isConflict(err) && !errors.Is(err, jetstream.ErrKeyExists):
			uncertain = uncertain || !isRefused(err)
			return err
		}
		// The attempt before this one may have succeeded without an answer.
		entry, getErr := j.values.Get(ctx, key)
		switch {
		case errors.Is(getErr, jetstream.ErrKeyNotFound) && revision == 0:
			return fmt.Errorf("%w: a value is there and is not", jetstream.ErrNoStreamResponse)
		case errors.Is(getErr, jetstream.ErrKeyNotFound):
			return ErrReplaced
		case getErr != nil:
			return getErr
		case bytes.Equal(entry.Value(), sealed):
			now = entry.Revision()
			return nil
		}
		return ErrReplaced
	})
	if errors.Is(err, ErrNoJob) && uncertain {
		err = errors.Join(err, ErrUncertain)
	}
	return now, err
}

// Set notes a value, whatever there was.
func (j *Job) Set(ctx context.Context, key string, data []byte) error {
	sealed, err := j.sealed(key, data)
	if err != nil {
		return err
	}
	return j.again(ctx, func(ctx context.Context) error {
		_, err := j.values.Put(ctx, key, sealed)
		return err
	})
}

func (j *Job) sealed(key string, data []byte) ([]byte, error) {
	if !ids.MatchString(key) {
		return nil, fmt.Errorf("queue: %q cannot be a key", key)
	}
	if len(data) > MaxData {
		return nil, fmt.Errorf("%w: %s has %d bytes", ErrTooLarge, key, len(data))
	}
	return j.sealer.Seal(key, data), nil
}

// Get returns a value. The error is [ErrNotFound] if there is none.
func (j *Job) Get(ctx context.Context, key string) (v Value, err error) {
	err = j.again(ctx, func(ctx context.Context) error {
		entry, err := j.values.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		v, err = j.openValue(entry)
		return err
	})
	return v, err
}

func (j *Job) openValue(entry jetstream.KeyValueEntry) (Value, error) {
	data, err := j.sealer.Open(entry.Key(), entry.Value())
	return Value{Key: entry.Key(), Data: data, Revision: entry.Revision(), Written: entry.Created()}, err
}

// Delete removes a value of this revision. If it was replaced meanwhile, the error is [ErrReplaced].
func (j *Job) Delete(ctx context.Context, key string, revision uint64) error {
	return j.again(ctx, func(ctx context.Context) error {
		err := j.values.Delete(ctx, key, jetstream.LastRevision(revision))
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return err
		}
		if _, getErr := j.values.Get(ctx, key); errors.Is(getErr, jetstream.ErrKeyNotFound) {
			return nil // an earlier attempt has done it
		}
		return ErrReplaced
	})
}

// List calls each for all values whose keys begin with prefix and a dot.
func (j *Job) List(ctx context.Context, prefix string, each func(Value) error) error {
	return j.watch(ctx, []string{prefix}, false, each)
}

// Watch calls each for all values whose keys begin with one of the prefixes and a dot, and for each change of them,
// until ctx ends, or each returns an error. A value may be passed more than once, and intermediate values may be left
// out.
func (j *Job) Watch(ctx context.Context, prefixes []string, each func(Value) error) error {
	return j.watch(ctx, prefixes, true, each)
}

// watch begins again after the last value that it has passed if the server stops sending.
func (j *Job) watch(ctx context.Context, prefixes []string, follow bool, each func(Value) error) error {
	var after uint64
	var failed error // of each, or of a value that cannot be opened
	for {
		err := j.again(ctx, func(try context.Context) error {
			options := []jetstream.WatchOpt{jetstream.IgnoreDeletes()}
			if after > 0 {
				options = append(options, jetstream.ResumeFromRevision(after+1))
			}
			keys := make([]string, len(prefixes)) // the call changes them
			for i, prefix := range prefixes {
				keys[i] = prefix + ".>"
			}
			lost := j.q.link.Load().Done() // before the server is asked
			w, err := j.values.WatchFiltered(ctx, keys, options...)
			if err != nil {
				return err
			}
			var ended bool
			after, ended, failed = j.pass(ctx, lost, w, after, follow, each)
			err = w.Stop()
			go discard(w)
			if err != nil && !passes(err) && ctx.Err() == nil && !ended {
				return err
			}
			if !ended && failed == nil && ctx.Err() == nil {
				return jetstream.ErrNoHeartbeat // begin again
			}
			return nil
		})
		if err == nil {
			err = failed
		}
		if err != nil || !follow {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// discard takes what a watcher that was stopped still sends, until the subscription has ended. The client waits for
// ever to send more values than its channel has room for.
func discard(w jetstream.KeyWatcher) {
	for range w.Updates() {
	}
}

// pass passes on values. ended: the initial ones were passed, and no others are wanted.
func (j *Job) pass(
	ctx context.Context, lost <-chan struct{}, w jetstream.KeyWatcher, after uint64, follow bool,
	each func(Value) error,
) (last uint64, ended bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return after, false, ctx.Err()
		case <-lost:
			return after, false, nil
		case entry, ok := <-w.Updates():
			switch {
			case !ok:
				return after, false, nil
			case entry == nil && !follow:
				return after, true, nil
			case entry == nil:
				continue
			}
			value, err := j.openValue(entry)
			if err == nil {
				err = each(value)
			}
			if err != nil {
				return after, false, err
			}
			after = max(after, entry.Revision())
		}
	}
}
