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

// directory returns a directory for the log of an example.
func directory() (dir string, remove func()) {
	parent, err := os.MkdirTemp("", "wal-")
	if err != nil {
		panic(err)
	}
	return filepath.Join(parent, "journal"), func() { _ = os.RemoveAll(parent) }
}

// After a crash, either all entries of a group are in the log or none. Entries survive once Append has returned.
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

// Open recovers a log after a crash. Damage is an error that says where it is.
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

// A log never leaves its root, even if others can write to the directory.
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

// A key encrypts the entries, and Observe reports each write.
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

// Append returns when the group is on the disk.
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

// A log makes a store in memory durable: each change is logged before it is made. Once the store is saved elsewhere,
// the entries up to then are cut off. When the program starts, it applies the entries that are left.
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

// Programs with other work to do append without waiting, and wait once for many entries.
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

// Without a sync for each group, Sync makes entries durable.
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

// An iteration begins at any entry.
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

// Tail follows the log until its context ends or the log is closed.
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

// Entries that are no longer needed are cut off the front.
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

// Entries that turn out to be wrong are cut off the end.
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
