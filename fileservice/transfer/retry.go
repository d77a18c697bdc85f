package transfer

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"syscall"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/internal/grace"
	"culvert/place"
)

// The limits on new attempts.
const (
	maxAfresh   = 5 // changes of a file during its transfer
	maxRefusals = 5 // refusals of a file, without blocks moved in between
)

// The bounds of the wait between attempts to reach the server.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 30 * time.Second
)

// settle counts a file that is done, or queues it again. It returns an error that ends the transfer.
func (t *transfer) settle(it *item, err error) error {
	switch {
	case err == nil:
		t.count(it, Event{Kind: FileDone, Resumed: it.resumed, Verified: it.verified, Hash: it.hash}, func(r *Result) {
			r.Files++
			if it.verified {
				r.Verified++
			}
			r.countTime(it.mover.small().Version.ModTime())
			r.Resumed += it.resumed
			if r.Hash = it.hash; r.Files > 1 {
				r.Hash = Hash{}
			}
		})
	case errors.Is(err, errPresent):
		t.progress.bytesDone.Add(it.size)
		t.count(it, Event{Kind: FilePresent}, func(r *Result) { r.Present++ })
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case isFatal(err): // before the rest: a full disk of a server is also a refusal
		t.fault(it, err)
		if t.isForAll(path.Dir(it.name), err) {
			return err
		}
	case errors.Is(err, place.ErrChanged) && it.afresh < maxAfresh:
		return t.beginAfresh(it, err)
	case errors.Is(err, place.ErrUnreachable):
		it.failures++
		if !t.mayRetry(err, it.failures) {
			return err
		}
		t.again(it)
	case errors.Is(err, fileservice.ErrRefused) && t.mayBeForgotten(it):
		it.refusals++
		_ = grace.Wait(t.ctx, firstWait<<it.refusals)
		t.again(it)
	default:
		t.fault(it, err)
	}
	return nil
}

// mayBeForgotten reports whether to retry after a refusal. The server may still hold the transfer of the file's former
// version, may have lost it by a restart, or another client may be about to finish it.
func (t *transfer) mayBeForgotten(it *item) bool {
	begun := it.begun && (t.config.Retry != nil || it.size > fileservice.SmallFileSize)
	return it.refusals < maxRefusals && (it.afresh > 0 || it.refusals > 0 || begun)
}

// isFatal reports whether every other file would meet the same error, or every other one of that file system. A file
// that cannot be read is one of many.
func isFatal(err error) bool {
	is := func(fatal error) bool { return errors.Is(err, fatal) }
	ofSystem := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO}
	return !is(errOtherSum) && (is(place.ErrIntegrity) || is(client.ErrClosed)) ||
		isWriting(err) && slices.ContainsFunc(ofSystem, is)
}

// isForAll notes a fatal error in a directory, and reports whether it ends the transfer.
func (t *transfer) isForAll(dir string, err error) bool {
	return t.tree == nil || !isWriting(err) || t.written.fail(dir, err)
}

// beginAfresh starts over with the new version of a file.
func (t *transfer) beginAfresh(it *item, err error) error {
	it.afresh++
	t.report(Event{Kind: FileChanged, Name: it.name, Size: it.size, Err: err})
	var size int64
	err = t.try(func() (err error) {
		size, err = it.mover.refresh(t.ctx)
		return err
	})
	if err != nil {
		return t.settle(it, err)
	}
	t.progress.bytes.Add(size - it.size)
	it.size, it.resumed = size, 0
	t.again(it)
	return nil
}

func (t *transfer) again(items ...*item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, it := range items {
		it.err, it.begun = nil, false
	}
	t.queue = append(t.queue, items...)
	t.changed.Broadcast()
}

// try repeats call until it reaches the server, or mayRetry returns false.
func (t *transfer) try(call func() error) error {
	for failures := 1; ; failures++ {
		err := call()
		if !errors.Is(err, place.ErrUnreachable) || !t.mayRetry(err, failures) {
			return err
		}
	}
}

// mayRetry asks Config.Retry whether to go on, and waits.
func (t *transfer) mayRetry(err error, failures int) bool {
	if t.config.Retry == nil || t.ctx.Err() != nil || isFatal(err) {
		return false
	}
	wait := min(firstWait<<min(failures-1, 20), maxWait)
	wait -= time.Duration(rand.Int64N(int64(wait) / 4)) // spreads the attempts
	t.asking.Lock()
	again := t.config.Retry(err)
	reports := again && time.Since(t.notified) >= wait
	if reports {
		t.notified = time.Now()
	}
	t.asking.Unlock()
	if reports {
		t.report(Event{Kind: Waiting, Err: err, Wait: wait})
	}
	if again {
		_ = grace.Wait(t.ctx, wait)
	}
	return again
}

// worse returns the more telling error of two calls for a file. If one met a full disk, for example, that is why the
// server refused the other.
func worse(first, second error) error {
	if first == nil || second == errPresent || isFatal(second) && !isFatal(first) && first != errPresent {
		return second
	}
	return first
}
