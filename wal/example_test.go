package wal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

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

// Entries with a key, a version and a time need no encoding of one's own.
func ExampleLog_AppendEntries() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{SegmentSize: 1 << 20})
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(log.Close()) }()

	created := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	if _, err := log.AppendEntries(ctx,
		wal.Entry{Version: 1, Key: "user/7", Value: []byte("Ada"), Created: created},
		wal.Entry{Version: 2, Key: "user/7", Value: []byte("Ada L."), Created: created.Add(time.Hour)},
	); err != nil {
		panic(err)
	}
	for record, err := range log.Records(ctx, 2) {
		if err != nil {
			panic(err)
		}
		entry, err := record.Entry()
		fmt.Println(entry.Version, entry.Key, string(entry.Value), entry.Created, err)
	}
	// Output:
	// 2 user/7 Ada L. 2026-01-31 13:00:00 +0000 UTC <nil>
	// <nil>
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

// A log can be read while another process appends to it.
func ExampleOpenReader() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(log.Close()) }()
	if _, err := log.Append(ctx, []byte("hello")); err != nil {
		panic(err)
	}
	reader, recovery, err := wal.OpenReader(dir, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(recovery.First, recovery.Last, recovery.Clean)
	for record, err := range reader.Records(ctx, 0) {
		fmt.Printf("%s %v\n", record.Data, err)
	}
	// Output:
	// 1 1 false
	// hello <nil>
	// <nil>
}

// A damaged log is not changed: what is whole goes into a new one.
func ExampleRepair() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		if _, err := log.Append(ctx, []byte(text)); err != nil {
			panic(err)
		}
	}
	if err := log.Close(); err != nil {
		panic(err)
	}
	repaired, err := wal.Repair(ctx, dir, dir+"-repaired", nil)
	fmt.Printf("%+v %v\n", repaired, err)
	// Output:
	// {First:1 Last:3 Damage:<nil>} <nil>
}
