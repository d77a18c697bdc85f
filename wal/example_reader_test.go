package wal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"culvert/wal"
)

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

// Refresh finds entries that were appended since.
func ExampleReader_Refresh() {
	dir, remove := directory()
	defer remove()
	ctx := context.Background()
	log, _, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(log.Close()) }()
	reader, recovery, err := wal.OpenReader(dir, nil)
	if err != nil {
		panic(err)
	}
	next := recovery.First
	for _, text := range []string{"one", "two"} {
		if _, err := log.Append(ctx, []byte(text)); err != nil {
			panic(err)
		}
		if err := reader.Refresh(); err != nil {
			panic(err)
		}
		for record, err := range reader.Records(ctx, next) {
			if err != nil {
				panic(err)
			}
			fmt.Printf("%d %s\n", record.LSN, record.Data)
			next = record.LSN + 1
		}
	}
	// Output:
	// 1 one
	// 2 two
	// <nil>
}

// Segments lists the files of a log and the entries in them.
func ExampleReader_Segments() {
	dir, remove := directory()
	defer remove()
	log, _, err := wal.Open(dir, wal.Options{SegmentSize: 12 << 10})
	if err != nil {
		panic(err)
	}
	for range 2 {
		if _, err := log.Append(context.Background(), make([]byte, 3000)); err != nil {
			panic(err)
		}
	}
	if err := log.Close(); err != nil {
		panic(err)
	}
	reader, _, err := wal.OpenReader(dir, nil)
	if err != nil {
		panic(err)
	}
	for _, s := range reader.Segments() {
		fmt.Println(filepath.Base(s.Path), s.First, s.Last, s.Sealed)
	}
	// Output:
	// 0000000000000001.wal 1 1 false
	// 0000000000000002.wal 2 2 true
}

// Repair copies the entries before the damage into a new log.
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
	segment := filepath.Join(dir, "0000000000000001.wal")
	b, err := os.ReadFile(segment)
	if err != nil {
		panic(err)
	}
	b[bytes.Index(b, []byte("three"))] ^= 1 // the disk fails
	if err := os.WriteFile(segment, b, 0o600); err != nil {
		panic(err)
	}
	repaired, err := wal.Repair(ctx, dir, dir+"-repaired", nil)
	fmt.Println(repaired.First, repaired.Last, err)
	fmt.Println("damaged:", errors.Is(repaired.Damage, wal.ErrCorrupt))
	// Output:
	// 1 2 <nil>
	// damaged: true
}

// Read reads one entry into memory of the caller.
func ExampleLog_Read() {
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
	var data []byte
	for _, lsn := range []wal.LSN{2, 1} {
		data, err = log.Read(lsn, data[:0])
		fmt.Printf("%s %v\n", data, err)
	}
	_, err = log.Read(4, nil)
	fmt.Println(errors.Is(err, wal.ErrRange))
	fmt.Println(log.Close())
	// Output:
	// two <nil>
	// one <nil>
	// true
	// <nil>
}

// The oldest segments are removed while the log takes more than 64 KiB.
func ExampleLog_Segments() {
	dir, remove := directory()
	defer remove()
	log, _, err := wal.Open(dir, wal.Options{SegmentSize: 16 << 10})
	if err != nil {
		panic(err)
	}
	for range 100 {
		if _, err := log.Append(context.Background(), make([]byte, 2000)); err != nil {
			panic(err)
		}
	}
	fmt.Println(log.First(), log.Bytes())
	for _, s := range log.Segments() {
		if log.Bytes() > 64<<10 && s.Last < log.Last() {
			if err := log.TruncateFront(s.Last + 1); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println(log.First(), log.Bytes())
	fmt.Println(log.Close())
	// Output:
	// 1 408000
	// 85 65280
	// <nil>
}

// A reader never leaves its root, even if others can write to the directory.
func ExampleOpenReaderInRoot() {
	dir, remove := directory()
	defer remove()
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		panic(err)
	}
	defer func() { fmt.Println(root.Close()) }()
	log, _, err := wal.OpenInRoot(root, "journal", wal.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := log.Append(context.Background(), []byte("hello")); err != nil {
		panic(err)
	}
	fmt.Println(log.Close())
	reader, recovery, err := wal.OpenReaderInRoot(root, "journal", nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(recovery.Last, len(reader.Segments()))
	// Output:
	// <nil>
	// 1 1
	// <nil>
}

// A member of a cluster that has received a snapshot up to entry 1000 begins its log after that.
func ExampleOptions_first() {
	dir, remove := directory()
	defer remove()
	log, _, err := wal.Open(dir, wal.Options{First: 1001})
	if err != nil {
		panic(err)
	}
	fmt.Println(log.Append(context.Background(), []byte("next")))
	fmt.Println(log.Close())
	// Output:
	// 1001 <nil>
	// <nil>
}
