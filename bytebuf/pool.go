package bytebuf

import (
	"context"
	"fmt"
	"slices"
)

// Class is one size of a [Pool]'s Buffers, and their number.
type Class struct {
	Size  int // bytes, 1 to 1 GiB
	Count int // at least 1
}

// Pool lends a limited number of Buffers of fixed sizes. It allocates them on demand, at most the sum of Size × Count
// over its classes. The Buffer that was used last is lent first.
//
// A Pool bounds the memory of concurrent work: Get waits until a Buffer is free. To reduce garbage, [Buffer.Free] is
// enough.
//
// Use [NewPool] to make a Pool. It is safe for concurrent use.
type Pool struct {
	classes []*class // by size
}

// NewPool returns a Pool with the given classes. It panics if there are none, if a Size or Count is out of range, or if
// two classes have the same Size.
func NewPool(classes ...Class) *Pool {
	if len(classes) == 0 {
		panic("bytebuf.NewPool: no classes")
	}
	p := new(Pool)
	for _, c := range classes {
		if c.Size < 1 || c.Size > 1<<maxShift || c.Count < 1 {
			panic("bytebuf.NewPool: size or count of a class out of range")
		}
		p.classes = append(p.classes, &class{size: c.Size, lent: make(chan struct{}, c.Count)})
	}
	slices.SortFunc(p.classes, func(a, b *class) int { return a.size - b.size })
	for i, c := range p.classes[1:] {
		if c.size == p.classes[i].size {
			panic("bytebuf.NewPool: two classes of the same size")
		}
	}
	return p
}

// Get lends an empty Buffer of the smallest size that holds n bytes. [Buffer.Available] is exactly that size. If all
// Buffers of that size are lent, Get waits until one is free or ctx is done, and then returns the context's cause. The
// error is [ErrTooLarge] if n exceeds the largest size. Get panics if n is negative. The borrower must call
// [Buffer.Free] or [Pool.Put].
//
// A borrowed Buffer may grow beyond its size. It then uses memory that the Pool neither counts nor keeps.
func (p *Pool) Get(ctx context.Context, n int) (*Buffer, error) {
	c, err := p.classFor(n)
	if err != nil {
		return nil, err
	}
	if ctx.Err() == nil {
		select {
		case c.lent <- struct{}{}:
			return c.lend(), nil
		case <-ctx.Done():
		}
	}
	return nil, fmt.Errorf("bytebuf: waiting for a buffer of %d bytes: %w", c.size, context.Cause(ctx))
}

// TryGet is Get without waiting. It returns nil if all Buffers of that size are lent or n exceeds the largest size.
func (p *Pool) TryGet(n int) *Buffer {
	c, err := p.classFor(n)
	if err != nil {
		return nil
	}
	select {
	case c.lent <- struct{}{}:
		return c.lend()
	default:
		return nil
	}
}

// Put returns a lent Buffer to the Pool, as [Buffer.Free] does. It returns false for other Buffers.
//
// A Buffer must not be returned twice, since it may already have another borrower. If it has none, the second call does
// nothing. With the build tag bytebufdebug, the second call panics.
func (p *Pool) Put(b *Buffer) bool {
	if b == nil || b.loan == nil || !slices.Contains(p.classes, b.loan.class) {
		return false
	}
	b.Free()
	return true
}

func (p *Pool) classFor(n int) (*class, error) {
	if n < 0 {
		panic("bytebuf.Pool: negative count")
	}
	for _, c := range p.classes {
		if n <= c.size {
			return c, nil
		}
	}
	if len(p.classes) == 0 {
		panic("bytebuf.Pool: not made by NewPool")
	}
	return nil, &sizeError{n, p.classes[len(p.classes)-1].size}
}

// sizeError is an [ErrTooLarge] of a Pool.
type sizeError struct{ asked, largest int }

func (e *sizeError) Error() string {
	return fmt.Sprintf("bytebuf: %d bytes from a pool whose buffers have at most %d", e.asked, e.largest)
}

func (e *sizeError) Is(target error) bool { return target == ErrTooLarge }
