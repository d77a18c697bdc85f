package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The addresses of the ends of a path, in a block for benchmarks (RFC 2544).
const (
	clientAddress = "198.18.0.1"
	serverAddress = "198.18.0.2"
)

// pathQueue is how many packets are on their way at most, in each direction. Those beyond it are lost. They are 96 MB,
// the product of 200 ms and 480 MB/s.
const pathQueue = 64 << 10

// path joins two network namespaces. Each has a TUN device with the usual 1500 bytes to a packet, and this program
// hands each packet on after a delay, so that the TCP of the kernel has the path that it would have with the delay of
// tc-netem(8), also where the kernel does not have that. It has no limit of speed but that of this program, and loses
// nothing.
type path struct {
	delay      time.Duration
	namespaces [2]string
	devices    [2]*os.File
}

// newPath makes a path with a delay in each direction. It needs root.
func (s *session) newPath(delay time.Duration) (*path, error) {
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("network namespaces: %w", os.ErrPermission)
	}
	p := &path{delay: delay}
	for i, address := range []string{clientAddress, serverAddress} {
		name := fmt.Sprintf("cv%d-%d-%d", os.Getpid(), delay.Milliseconds(), i)
		if err := s.ip("netns", "add", name); err != nil {
			return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		s.cleanup(func() error { return exec.Command("ip", "netns", "delete", name).Run() })
		device, err := openTUN(name)
		if err != nil {
			return nil, err
		}
		p.namespaces[i], p.devices[i] = name, device
		for _, args := range [][]string{
			{"link", "set", name, "netns", name},
			{"-n", name, "link", "set", "lo", "up"},
			{"-n", name, "link", "set", name, "mtu", "1500", "txqueuelen", "10000", "up"},
			{"-n", name, "address", "add", address + "/24", "dev", name},
		} {
			if err := s.ip(args...); err != nil {
				return nil, err
			}
		}
	}
	var both sync.WaitGroup
	both.Go(func() { p.carry(p.devices[0], p.devices[1]) })
	both.Go(func() { p.carry(p.devices[1], p.devices[0]) })
	s.cleanup(func() error {
		err := errors.Join(p.devices[0].Close(), p.devices[1].Close())
		both.Wait()
		return err
	})
	return p, nil
}

func (s *session) ip(args ...string) error { return s.run(exec.CommandContext(s.ctx, "ip", args...)) }

func openTUN(name string) (*os.File, error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w: %w", errors.ErrUnsupported, err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, errors.Join(fmt.Errorf("TUNSETIFF: %w", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// packet is one on its way.
type packet struct {
	due  time.Time
	data []byte
}

// carry hands packets on, until a device is closed.
func (p *path) carry(from, to *os.File) {
	pool := sync.Pool{New: func() any { return new([2048]byte) }}
	way := make(chan packet, pathQueue)
	var writer sync.WaitGroup
	writer.Go(func() {
		timer := time.NewTimer(0)
		<-timer.C
		for next := range way {
			if wait := time.Until(next.due); wait > 0 {
				timer.Reset(wait)
				<-timer.C
			}
			_, _ = to.Write(next.data) // a device that is closed or down loses packets, as paths do
			pool.Put((*[2048]byte)(next.data[:2048]))
		}
	})
	for {
		buffer := pool.Get().(*[2048]byte)
		n, err := from.Read(buffer[:])
		if err != nil {
			break
		}
		select {
		case way <- packet{time.Now().Add(p.delay), buffer[:n]}:
		default:
			pool.Put(buffer)
		}
	}
	close(way)
	writer.Wait()
}

// client has a command run at one end, or where this program runs if there is no path.
func (p *path) client(cmd *exec.Cmd) *exec.Cmd { return p.at(0, cmd) }

// server has a command run at the other end.
func (p *path) server(cmd *exec.Cmd) *exec.Cmd { return p.at(1, cmd) }

// at runs a command in a namespace. The program ip becomes the command, with the same process id.
func (p *path) at(end int, cmd *exec.Cmd) *exec.Cmd {
	if p == nil {
		return cmd
	}
	program, err := exec.LookPath("ip")
	if err != nil {
		cmd.Err = err
		return cmd
	}
	cmd.Args = append([]string{program, "netns", "exec", p.namespaces[end], cmd.Path}, cmd.Args[1:]...)
	cmd.Path = program
	return cmd
}
