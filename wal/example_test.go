package wal_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"culvert/wal"
)

// directory gives a place for the log of an example.
func directory() (dir string, remove func()) {
	parent, err := os.MkdirTemp("", "wal-")
	if err != nil {
		panic(err)
	}
	return filepath.Join(parent, "journal"), func() { _ = os.RemoveAll(parent) }
}

// A group is there as a whole, or not at all, and survives what comes once Append has returned.
func Example() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()

	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	lsn, err := log.Append(ctx, []byte("debit 100"), []byte("credit 100"))
	fmt.Println(lsn, err)
	fmt.Println(log.Close())

	log, recovery, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%+v\n", recovery)
	for record, err := range log.Records(ctx, 0) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d %s\n", record.LSN, record.Data)
	}
	fmt.Println(log.Close())
	// Output:
	// 2 <nil>
	// <nil>
	// {First:1 Last:2 Clean:true Torn:0 Unproven:0 Scanned:0}
	// 1 debit 100
	// 2 credit 100
	// <nil>
}

// What a crash has left is recovered by itself; damage is an error that says where it is.
func ExampleOpen() {
	dir, remove := directory()
	defer remove()
	log, recovery, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
	var damage *wal.SegmentError
	switch {
	case errors.As(err, &damage):
		fmt.Println("damaged:", damage.Segment, damage.Offset, damage.LSN)
		return
	case err != nil:
		panic(err)
	case !recovery.Clean:
		fmt.Println("bytes that were cut off:", recovery.Torn)
	}
	_, _, err = wal.Open(dir, wal.Options{})
	fmt.Println("a second one is locked out:", errors.Is(err, wal.ErrLocked))
	fmt.Println(log.Close())
	// Output:
	// a second one is locked out: true
	// <nil>
}

// A log in a directory that others can write to, too, stays inside it.
func ExampleOpenInRoot() {
	dir, remove := directory()
	defer remove()
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(root.Close()) }()
	log, _, err := wal.OpenInRoot(root, filepath.Base(dir), wal.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(log.Append(context.Background(), []byte("hello")))
	fmt.Println(log.Close())
	_, _, err = wal.OpenInRoot(root, "../elsewhere", wal.Options{})
	fmt.Println("outside:", err != nil)
	// Output:
	// 1 <nil>
	// <nil>
	// outside: true
	// <nil>
}

// The entries are encrypted with a key, and what was written to the disk is told.
func ExampleOptions() {
	dir, remove := directory()
	defer remove()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	log, _, err := wal.Open(dir, wal.Options{
		Key: key,
		Observe: func(f wal.Flush) {
			fmt.Println("entries:", f.Entries, "synced:", f.Sync > 0, "durable:", f.Durable)
		},
	})
	if err != nil {
		panic(err)
	}
	if _, err := log.Append(context.Background(), []byte("secret")); err != nil {
		panic(err)
	}
	if err := log.Close(); err != nil {
		panic(err)
	}
	_, _, err = wal.Open(dir, wal.Options{})
	fmt.Println("it opens with the key only:", errors.Is(err, wal.ErrKey))
	// Output:
	// entries: 1 synced: true durable: 1
	// it opens with the key only: true
}

// All of a group is there after a crash, or nothing of it. When Append returns, it is on the disk.
func ExampleLog_Append() {
	dir, remove := directory()
	defer remove()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	lsn, err := log.Append(context.Background(), []byte("debit 100"), []byte("credit 100"))
	fmt.Println(lsn, err, log.Durable())
	fmt.Println(log.Close())
	// Output:
	// 2 <nil> 2
	// <nil>
}

// A store that is in memory survives by a log: what is to happen is logged first, then done. When the store was saved
// elsewhere up to an entry, what is before that is cut off; what is behind is done again when the program begins.
func Example_store() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	begin := func(store map[string]string) *wal.Log {
		log, recovery, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
		if err != nil {
			panic(err)
		}
		fmt.Println("done again: LSN", recovery.First, "to", recovery.Last)
		for record, err := range log.Records(ctx, 0) {
			if err != nil {
				panic(err)
			}
			key, value, _ := strings.Cut(string(record.Data), "=")
			store[key] = value
		}
		return log
	}
	store := map[string]string{}
	log := begin(store)
	for _, change := range []string{"color=red", "size=4", "color=blue"} {
		if _, err := log.Append(ctx, []byte(change)); err != nil {
			panic(err)
		}
		key, value, _ := strings.Cut(change, "=")
		store[key] = value
	}
	saved, upTo := maps.Clone(store), log.Last() // to a file, in earnest
	fmt.Println(log.TruncateFront(upTo + 1))
	if _, err := log.Append(ctx, []byte("size=5")); err != nil {
		panic(err)
	}
	fmt.Println(log.Close())

	log = begin(saved)
	fmt.Println(saved, log.Close())
	// Output:
	// done again: LSN 1 to 0
	// <nil>
	// <nil>
	// done again: LSN 4 to 4
	// map[color:blue size:5] <nil>
}

// Who has other work to do appends without waiting, and waits once for many.
func ExampleLog_AppendAsync() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(log.Close()) }()

	var last wal.Ticket
	for i := range 1000 {
		if last, err = log.AppendAsync(ctx, fmt.Append(nil, i)); err != nil {
			panic(err)
		}
	}
	fmt.Println(last.LSN(), last.Wait(ctx), log.Durable())
	// Output:
	// 1000 <nil> 1000
	// <nil>
}

// Without a sync for each group, one comes when it is asked for.
func ExampleLog_Sync() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{Sync: wal.None})
	if err != nil {
		panic(err)
	}
	for i := range 3 {
		if _, err := log.Append(ctx, fmt.Append(nil, i)); err != nil {
			panic(err)
		}
	}
	fmt.Println(log.Durable())
	fmt.Println(log.Sync(ctx), log.Durable())
	fmt.Println(log.Close())
	// Output:
	// 0
	// <nil> 3
	// <nil>
}

// Reading begins at any entry.
func ExampleLog_Records() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := log.Append(ctx, []byte("one"), []byte("two"), []byte("three")); err != nil {
		panic(err)
	}
	for record, err := range log.Records(ctx, 2) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d %s %v\n", record.LSN, record.Data, record.Last)
	}
	fmt.Println(log.Close())
	// Output:
	// 2 two false
	// 3 three true
	// <nil>
}

// A reader follows the log, until its context ends or the log is closed.
func ExampleLog_Tail() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for record, err := range log.Tail(ctx, 1) {
			if errors.Is(err, wal.ErrClosed) {
				fmt.Println("closed")
				return
			}
			fmt.Printf("%d %s\n", record.LSN, record.Data)
			if record.LSN == 2 {
				go func() { _ = log.Close() }()
			}
		}
	}()
	for _, text := range []string{"one", "two"} {
		if _, err := log.Append(ctx, []byte(text)); err != nil {
			panic(err)
		}
	}
	<-done
	// Output:
	// 1 one
	// 2 two
	// closed
}

// What has been dealt with is cut off the front.
func ExampleLog_TruncateFront() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(log.Close()) }()
	for _, text := range []string{"one", "two", "three"} {
		if _, err := log.Append(ctx, []byte(text)); err != nil {
			panic(err)
		}
	}
	fmt.Println(log.TruncateFront(3), log.First(), log.Last())
	fmt.Println(log.TruncateFront(4), log.First(), log.Last()) // now it is empty
	fmt.Println(log.TruncateFront(5))
	// Output:
	// <nil> 3 3
	// <nil> 4 3
	// wal: beyond the end of the log: LSN 4, and the last is 3
	// <nil>
}

// What turns out to be wrong is cut off the end.
func ExampleLog_TruncateBack() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := log.Append(ctx, []byte("one"), []byte("two"), []byte("three")); err != nil {
		panic(err)
	}
	fmt.Println(log.TruncateBack(1), log.Last())
	fmt.Println(log.Append(ctx, []byte("new two")))
	fmt.Println(log.Close())
	// Output:
	// <nil> 1
	// 2 <nil>
	// <nil>
}
