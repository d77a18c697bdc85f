package workers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"culvert/place"
	"culvert/workers/internal/queue"
)

// CheckHolders changes how often holders check that their session lives, until the test ends.
func CheckHolders(t *testing.T, every time.Duration) {
	before := checkEvery
	checkEvery = every
	t.Cleanup(func() { checkEvery = before })
}

// LimitParts changes the most parts of an export, until the test ends.
func LimitParts(t *testing.T, most int) {
	before := maxParts
	maxParts = most
	t.Cleanup(func() { maxParts = before })
}

// Holds reports whether the queue has a shared snapshot.
func Holds(ctx context.Context, q *Queue, secret []byte, name, snapshot string) bool {
	job, err := q.Job(ctx, name, secret)
	if err == nil {
		_, err = job.Get(ctx, sharedKeys+"."+snapshot)
	}
	return err == nil
}

// PartsInJournal returns the files of the parts that the journal of a job has.
func PartsInJournal(ctx context.Context, from place.Place, secret []byte, job string) (files []string, err error) {
	sealer, err := queue.NewSealer(secret, job, "journal")
	if err != nil {
		return nil, err
	}
	segments, _, err := listJournal(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, name := range segments {
		entries, err := readSegment(ctx, from, sealer, name)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !strings.HasPrefix(entry.Key, recordKeys+".") {
				continue
			}
			var record recordNote
			if err := decode(queue.Value{Key: entry.Key, Data: entry.Note}, &record); err != nil {
				return nil, err
			}
			files = append(files, record.File.File)
		}
	}
	return files, nil
}

// SharedSnapshots returns the names of those who have noted a shared snapshot.
func SharedSnapshots(ctx context.Context, q *Queue, secret []byte, name string) (names []string, err error) {
	job, err := q.Job(ctx, name, secret)
	if err != nil {
		return nil, err
	}
	err = job.List(ctx, sharedKeys, func(v queue.Value) error {
		names = append(names, strings.TrimPrefix(v.Key, sharedKeys+"."))
		return nil
	})
	return names, err
}

// TakeLease takes the lease of a coordinator that lives.
func TakeLease(ctx context.Context, q *Queue, secret []byte, name string) error {
	job, err := q.Job(ctx, name, secret)
	if err != nil {
		return err
	}
	for {
		lease, err := job.Get(ctx, leaseKey)
		if err != nil {
			return err
		}
		_, err = job.Update(ctx, leaseKey, nil, lease.Revision)
		if !errors.Is(err, queue.ErrReplaced) { // it was renewed meanwhile
			return err
		}
	}
}
