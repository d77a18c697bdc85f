package client

import (
	"errors"

	"culvert/fileservice"
	"culvert/fileservice/internal/exchange"
)

// leastPart is the least size of a part, in bytes.
const leastPart = 4 << 10

// parts is how far a request has come. If its connection ends, what was moved is kept, and if nothing was, the rest
// follows in parts that become smaller. So a file is moved even if no connection lasts for a block of it.
type parts struct {
	moved int  // bytes
	size  int  // most bytes of the next one
	any   bool // something was moved since a connection has ended
	again bool // it has begun again
}

// isDivisible reports whether the request can be made in parts.
func (r *request) isDivisible() bool {
	switch r.whole.Kind {
	case exchange.Get, exchange.GetDraft:
		return !r.whole.Any
	case exchange.PutBlock:
		return true
	default:
		return false
	}
}

// note notes the end of a part, and reports whether bytes were moved.
func (r *request) note(err error) (any bool) {
	if !r.isDivisible() {
		return false
	}
	moved := r.N
	if r.Kind.IsPut() && err == nil {
		moved = len(r.Data)
	}
	r.parts.moved += moved
	r.parts.any = r.parts.any || moved > 0
	if isEnd(err) {
		switch {
		case r.parts.any:
		case r.parts.size > exchange.MaxInline:
			r.parts.size = exchange.MaxInline // which arrives as one record of package secureconn
		default:
			r.parts.size = max(r.parts.size/4, leastPart)
		}
		r.parts.any = false
	}
	return moved > 0
}

// isComplete reports whether no part follows the one that has succeeded. A get may be answered by less.
func (r *request) isComplete() bool {
	return !r.isDivisible() || r.N < r.Length || r.parts.moved == r.whole.Length+len(r.whole.Data)
}

// isForgotten reports whether a server has no longer the parts before this one, and if so, begins again.
func (r *request) isForgotten(err error) bool {
	if r.parts.again || r.Kind != exchange.PutBlock || r.parts.moved == 0 || !errors.Is(err, fileservice.ErrRefused) {
		return false
	}
	r.parts.moved, r.parts.again = 0, true
	return true
}

// continues makes the call the next part.
func (r *request) continues() {
	call := exchange.Call{Request: r.whole.Request, Data: r.whole.Data, Into: r.whole.Into, Done: r.whole.Done}
	if r.isDivisible() {
		from := r.parts.moved
		to := min(from+r.parts.size, call.Length+len(call.Data))
		call.Offset += int64(from)
		if call.Kind.IsPut() {
			call.Sum = fileservice.SumBlock(call.Data[:to], r.whole.Offset/fileservice.BlockSize)
			call.Data = call.Data[from:to]
		} else {
			call.Summed = call.Summed && to == call.Length // the sum of a block up to the end of a part
			call.Length, call.Into = to-from, call.Into[from:to]
		}
	}
	r.Call = call
}

// join makes the call the whole again. No part is in progress.
func (r *request) join() {
	if r.isDivisible() {
		n, head := r.parts.moved, r.Head
		r.Call = r.whole
		r.N, r.Head = n, head
	}
}
