package bytebuf

import (
	"context"
	"fmt"
	"slices"
)

// Class is a size of the Buffers of a [Pool] and how many of them there are.
type Class struct {
	Size  int // bytes, 1 to 1 GiB
	Count int // at least 1
}

// Pool lends Buffers of fixed sizes, never more of them at a time than it was made for. It holds at most the sum of
// Size × Count over its classes, and less as long as less has been lent at a time. Buffers that were used last are lent
// first.
//
// A Pool is for work that has to stay within a bound: who asks for more waits until others are done. Programs that only
// want to spare the collector need none; see [Buffer.Free].
//
// A Pool is made by [NewPool]. All its methods may be called at once.
type Pool struct {
	classes []*class // by size
}

// NewPool makes a Pool. It panics if a Size or Count is out of range, if two classes have the same Size, or if there is
// no class.
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

// Get lends an empty Buffer of the smallest size that has room for n bytes, with [Buffer.Available] of just that size.
// If all of that size are lent it waits until one is freed, or until ctx is done; then the error is the cause of that.
// It fails with [ErrTooLarge] if n is more than the largest size, and panics if n is negative. The borrower ends with
// [Buffer.Free] or [Pool.Put].
//
// A borrowed Buffer may be written beyond its size. It then has memory of its own like any other, which the Pool does
// not count and does not take.
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

// TryGet is Get without waiting: it gives nil if all Buffers of that size are lent, or if n is more than the largest.
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

// Put takes a Buffer back that the Pool has lent, as [Buffer.Free] does. It refuses others and gives false.
//
// To give a Buffer back twice is a fault, since it may be somebody else's already. If it is not, the second time does
// nothing. With the build tag bytebufdebug the second time panics in any case.
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
