package place_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing/fstest"

	"culvert/place"
)

// memory is a place in memory, for one goroutine.
type memory struct{ fstest.MapFS }

func (m memory) Create(ctx context.Context, name string) (place.File, error) {
	return &memoryFile{ctx: ctx, in: m, name: name}, nil
}

func (m memory) Replace(ctx context.Context, name string) (place.File, error) {
	return &memoryFile{ctx: ctx, in: m, name: name, replace: true}, nil
}

func (m memory) Remove(_ context.Context, name string) error {
	delete(m.MapFS, name)
	return nil
}

type memoryFile struct {
	bytes.Buffer
	ctx     context.Context
	in      memory
	name    string
	replace bool
	closed  bool
}

func (f *memoryFile) Commit() error {
	if f.closed {
		return &fs.PathError{Op: "commit", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	if err := context.Cause(f.ctx); err != nil {
		return err
	}
	if f.in.MapFS[f.name] != nil && !f.replace {
		return &fs.PathError{Op: "commit", Path: f.name, Err: fs.ErrExist}
	}
	f.in.MapFS[f.name] = &fstest.MapFile{Data: f.Bytes()}
	return nil
}

func (f *memoryFile) Discard() error {
	f.closed = true
	return nil
}

// A file appears when it is complete, and replaces no other unless that is asked for.
func Example() {
	ctx := context.Background()
	p := memory{fstest.MapFS{}}
	write := func(create func(context.Context, string) (place.File, error), text string) (err error) {
		f, err := create(ctx, "2026/greeting.txt")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Discard()) }()
		if _, err := f.Write([]byte(text)); err != nil {
			return err
		}
		return f.Commit()
	}
	fmt.Println(write(p.Create, "hello"))
	fmt.Println(write(p.Create, "good bye"))
	fmt.Println(write(p.Replace, "good morning"))
	text, err := fs.ReadFile(p, "2026/greeting.txt")
	fmt.Println(string(text), err)
	// Output:
	// <nil>
	// commit 2026/greeting.txt: file already exists
	// <nil>
	// good morning <nil>
}

// A part of a place is a place.
func ExampleSub() {
	p := memory{fstest.MapFS{}}
	year, err := place.Sub(p, "2026")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := year.Create(context.Background(), "orders.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Commit())
	_, err = fs.Stat(p, "2026/orders.csv")
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

// summed is an open file whose place keeps a checksum of it.
type summed struct{ fs.File }

func (summed) Sum() (place.Sum, error) {
	return place.Sum{Algorithm: place.CRC32C, Value: []byte{0x35, 0x3d, 0xd8, 0xbe}}, nil
}

// What was read is compared with the checksum that the place keeps.
func ExampleSumOf() {
	p := memory{fstest.MapFS{"greeting.txt": {Data: []byte("hello\n")}}}
	opened, err := p.Open("greeting.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	f := summed{opened}
	defer func() { _ = f.Close() }() // it was only read
	sum, err := place.SumOf(f)
	if err != nil || sum.Algorithm == "" || sum.Parts != nil {
		fmt.Println("not verified", err)
		return
	}
	hash := sum.Algorithm.New()
	if _, err := io.Copy(hash, f); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bytes.Equal(hash.Sum(nil), sum.Value))
	// Output: true
}
