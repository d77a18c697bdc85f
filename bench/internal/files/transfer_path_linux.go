package files

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"culvert/bench/internal/harness"
)

// The addresses of the ends of a path, in a block for benchmarks (RFC 2544).
const (
	clientAddress = "198.18.0.1"
	serverAddress = "198.18.0.2"
)

// pathQueue is how many bytes are on their way at most, in each direction. Packets beyond them are lost. It is the
// product of 200 ms and 640 MB/s.
const pathQueue = 128 << 20

// Each packet has a header, struct virtio_net_hdr of Linux. TCP gives up to 64 KiB at once to a device that cuts them
// into packets of 1500 bytes, and this one hands them on whole, or its calls would be the limit.
const (
	packetHeader = 10
	packetSize   = packetHeader + 64<<10
)

// path joins two network namespaces. Each has a TUN device, and this program hands each packet on after a delay, so
// that the TCP of the kernel has the path that it would have with the delay of tc-netem(8), also where the kernel does
// not have that. It has no limit of speed but that of this program.
type path struct {
	delay      time.Duration
	namespaces [2]string
	devices    [2]*os.File
}

// newPath makes a path with a delay in each direction. It needs root.
func newPath(s *harness.Session, delay time.Duration) (*path, error) {
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	if os.Getuid() != 0 {
		return nil, fmt.Errorf("network namespaces: %w", os.ErrPermission)
	}
	p := &path{delay: delay}
	s.Paths++
	for i, address := range []string{clientAddress, serverAddress} {
		name := fmt.Sprintf("cv%d-%d-%d", os.Getpid(), s.Paths, i)
		if err := ip(s, "netns", "add", name); err != nil {
			return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		s.Cleanup(func() error { return exec.Command("ip", "netns", "delete", name).Run() })
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
			if err := ip(s, args...); err != nil {
				return nil, err
			}
		}
	}
	var both sync.WaitGroup
	for i := range p.devices {
		both.Go(func() { p.carry(p.devices[i], p.devices[1-i]) })
	}
	s.Cleanup(func() error {
		err := errors.Join(p.devices[0].Close(), p.devices[1].Close())
		both.Wait()
		return err
	})
	return p, nil
}

func ip(s *harness.Session, args ...string) error {
	return s.Run(exec.CommandContext(s.Ctx, "ip", args...))
}

func openTUN(name string) (*os.File, error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w: %w", errors.ErrUnsupported, err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, errors.Join(fmt.Errorf("TUNSETIFF: %w", err), unix.Close(fd))
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4); err != nil {
		return nil, errors.Join(fmt.Errorf("TUNSETOFFLOAD: %w", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// packet is one on its way.
type packet struct {
	due  time.Time
	data []byte
	upTo int64 // bytes of the ring that are free when it has gone
}

// carry hands packets on, until a device is closed.
func (p *path) carry(from, to *os.File) {
	ring := make([]byte, pathQueue)
	way := make(chan packet, pathQueue/1500)
	var begun int64        // bytes of the ring that were ever used
	var ended atomic.Int64 // of these, those that are free again
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
			ended.Store(next.upTo)
		}
	})
	overflow := make([]byte, packetSize)
	for {
		place := begun % pathQueue
		if pathQueue-place < packetSize {
			begun += pathQueue - place
			place = 0
		}
		buffer, hasRoom := overflow, begun+packetSize-ended.Load() <= pathQueue
		if hasRoom {
			buffer = ring[place : place+packetSize]
		}
		n, err := from.Read(buffer)
		if err != nil {
			break
		}
		if !hasRoom {
			continue
		}
		select {
		case way <- packet{time.Now().Add(p.delay), buffer[:n], begun + int64(n)}:
			begun += int64(n)
		default:
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
