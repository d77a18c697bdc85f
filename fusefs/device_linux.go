package fusefs

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Requests of the kernel's protocol (linux/fuse.h) that a device must know. The others are for go-fuse.
const (
	opForget      = 2
	opReadlink    = 5
	opRead        = 15
	opRelease     = 18
	opGetxattr    = 22
	opListxattr   = 23
	opReaddir     = 28
	opInterrupt   = 36
	opIoctl       = 39
	opBatchForget = 42
	opReaddirplus = 44
)

const (
	inHeaderSize  = 40
	outHeaderSize = 16

	// maxFixed is more than any answer has besides names and data.
	maxFixed = 512

	// largeRequest is larger than any request without data.
	largeRequest = 16 << 10
)

// device is the connection to the kernel. It waits for requests in the poller of the runtime: for a thread that blocks
// in read(2), the runtime would start another one. The goroutine that receives the bytes of a small read answers it,
// without a copy. Most other requests have goroutines of their own. go-fuse answers those that are not reads.
type device struct {
	m        *mount
	file     *os.File
	conn     syscall.RawConn
	server   *fuse.Server // shares the connection, and notifies the kernel
	nodes    fuse.RawFileSystem
	protocol *fuse.ProtocolServer
	inputs   sync.Pool // of *[]byte, for large requests
	unread   []byte    // tells go-fuse the length of a read; nothing is written to it

	running sync.WaitGroup // a count for each request under way

	mu       sync.Mutex
	requests map[uint64]*pending // under way, by number; nil for those of go-fuse
}

// newDevice takes over a connection after server has answered the first request. It duplicates fd.
func newDevice(m *mount, fd int, server *fuse.Server, nodes fuse.RawFileSystem, options *fuse.MountOptions,
) (*device, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetNonblock(own, true); err != nil {
		return nil, errors.Join(err, syscall.Close(own))
	}
	d := &device{
		m: m, file: os.NewFile(uintptr(own), "/dev/fuse"), server: server, nodes: nodes,
		protocol: fuse.NewProtocolServer(nodes, options), unread: make([]byte, maxRequest),
		requests: map[uint64]*pending{},
	}
	d.inputs.New = func() any {
		buffer := make([]byte, maxRequest+largeRequest)
		return &buffer
	}
	d.conn, err = d.file.SyscallConn()
	first, appendErr := binary.Append(nil, binary.NativeEndian, server.KernelSettings())
	if err = errors.Join(err, appendErr); err == nil {
		// protocol must know what the kernel and server have agreed on.
		_, status := d.protocol.HandleRequest([][]byte{first}, [][]byte{make([]byte, maxFixed)})
		if !status.Ok() {
			err = syscall.Errno(status)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.file.Close())
	}
	return d, nil
}

// serve handles requests until the connection has ended and all of them are over. If it has not ended, but cannot be
// read, abort must end it.
func (d *device) serve(abort func() error) {
	if err := d.receive(); !errors.Is(err, syscall.ENODEV) && !errors.Is(err, syscall.ECONNABORTED) {
		_ = d.m.fail(errors.Join(fmt.Errorf("fusefs: read /dev/fuse: %w", err), abort())) // Wait returns it
	}
	d.interruptAll()
	d.running.Wait()
	d.server.Serve() // it closes its descriptor
	_ = d.file.Close()
}

// receive begins to handle requests until it can read no more.
func (d *device) receive() error {
	input := d.inputs.Get().(*[]byte)
	for {
		n, err := d.file.Read(*input)
		if _, is := errors.AsType[syscall.Errno](err); err != nil && !is {
			n, err = d.readNow(*input, err)
		}
		if errors.Is(err, syscall.ENOENT) {
			continue // a signal has ended the request
		}
		if err != nil {
			return err
		}
		if n <= largeRequest {
			d.accept(bytes.Clone((*input)[:n]))
			continue
		}
		large := input
		input = d.inputs.Get().(*[]byte)
		d.start(func() {
			d.handle((*large)[:n])
			d.inputs.Put(large)
		}, numberOfRequest(*large))
	}
}

// readNow reads without the poller, which has failed with err: it takes the end of a connection for its own error.
func (d *device) readNow(input []byte, err error) (n int, _ error) {
	closed := d.conn.Control(func(fd uintptr) {
		if read, errno := unix.Read(int(fd), input); errno != unix.EAGAIN {
			n, err = max(read, 0), errno
		}
	})
	return n, cmp.Or(closed, err)
}

func numberOfRequest(request []byte) uint64 { return binary.NativeEndian.Uint64(request[8:]) }

func (d *device) accept(request []byte) {
	switch binary.NativeEndian.Uint32(request[4:]) {
	case opForget, opBatchForget:
		d.handle(request)
	case opRelease:
		if d.m.config.ReadWrite {
			d.start(func() { d.handle(request) }, numberOfRequest(request))
		} else {
			d.handle(request) // it waits for nothing if there is nothing to write
		}
	case opInterrupt:
		if !d.interrupt(binary.NativeEndian.Uint64(request[inHeaderSize:])) {
			d.handle(request)
		}
	case opRead:
		d.read(request)
	default:
		d.start(func() { d.handle(request) }, numberOfRequest(request))
	}
}

// start handles a request in another goroutine.
func (d *device) start(handle func(), number uint64) {
	d.add(number, nil)
	go func() {
		defer d.running.Done()
		defer d.take(number)
		handle()
	}()
}

// handle lets go-fuse answer a request.
func (d *device) handle(request []byte) {
	size := maxFixed
	switch binary.NativeEndian.Uint32(request[4:]) {
	case opReadlink:
		size += syscall.PathMax
	case opGetxattr, opListxattr:
		size += int(binary.NativeEndian.Uint32(request[inHeaderSize:]))
	case opReaddir, opReaddirplus:
		size += int(binary.NativeEndian.Uint32(request[inHeaderSize+16:]))
	case opIoctl:
		size += int(binary.NativeEndian.Uint32(request[inHeaderSize+28:]))
	}
	answer := make([]byte, size)
	n, status := d.protocol.HandleRequest([][]byte{request}, [][]byte{answer})
	switch {
	case !status.Ok():
		d.answer(numberOfRequest(request), syscall.Errno(status), nil)
	case n > 0:
		d.write([][]byte{answer[:n]})
	}
}

// read begins to answer a read. It does not wait.
func (d *device) read(request []byte) {
	in := &fuse.ReadIn{}
	in.NodeId = binary.NativeEndian.Uint64(request[16:])
	in.Fh = binary.NativeEndian.Uint64(request[inHeaderSize:])
	in.Offset = binary.NativeEndian.Uint64(request[inHeaderSize+8:])
	in.Size = binary.NativeEndian.Uint32(request[inHeaderSize+16:])
	result, status := d.nodes.Read(nil, in, d.unread[:in.Size])
	if p, is := result.(*pending); is {
		p.begin(d, numberOfRequest(request))
	} else {
		d.answer(numberOfRequest(request), syscall.Errno(status), nil)
	}
}

// answer sends the result of a read to the kernel, or an error.
func (d *device) answer(number uint64, errno syscall.Errno, got *result) {
	message := make([][]byte, 1, 4)
	size := outHeaderSize
	if got != nil {
		defer got.free()
		for _, slice := range got.slices {
			size += len(slice)
		}
		message = append(message, got.slices...)
	}
	header := make([]byte, 0, outHeaderSize)
	header = binary.NativeEndian.AppendUint32(header, uint32(size))
	header = binary.NativeEndian.AppendUint32(header, uint32(-errno))
	message[0] = binary.NativeEndian.AppendUint64(header, number)
	d.write(message)
}

// write sends a message. It fails only if the kernel no longer waits for the message.
func (d *device) write(message [][]byte) {
	_ = d.conn.Control(func(fd uintptr) { _, _ = unix.Writev(int(fd), message) })
}

// add notes a request that is under way.
func (d *device) add(number uint64, p *pending) {
	d.running.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests[number] = p
}

// take notes that a request is over, and reports whether it was under way. If so, the caller counts running down when
// the answer was sent.
func (d *device) take(number uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, was := d.requests[number]
	delete(d.requests, number)
	return was
}

// interrupt passes a signal on, and reports whether it is for a read.
func (d *device) interrupt(number uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.requests[number]
	if p != nil {
		p.interrupt()
	}
	return p != nil
}

// interruptAll interrupts all requests, since no program waits for them any more.
func (d *device) interruptAll() {
	d.mu.Lock()
	numbers := slices.Collect(maps.Keys(d.requests))
	d.mu.Unlock()
	for _, number := range numbers {
		request := make([]byte, inHeaderSize+8)
		binary.NativeEndian.PutUint32(request, uint32(len(request)))
		binary.NativeEndian.PutUint32(request[4:], opInterrupt)
		binary.NativeEndian.PutUint64(request[inHeaderSize:], number)
		d.accept(request)
	}
}
