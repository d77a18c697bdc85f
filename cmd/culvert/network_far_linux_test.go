package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culvert/internal/testkit"
)

// TestNetworkFar breaks transfers off that go over long paths, on which one packet of a hundred is lost.
func TestNetworkFar(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for number, c := range []struct {
		delay time.Duration // of a round trip
		bytes int
	}{
		{time.Millisecond, 60e6},
		{24 * time.Millisecond, 60e6},
		{200 * time.Millisecond, 24e6},
	} {
		t.Run(c.delay.String(), func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			var ends [2]*os.File
			for i, name := range []string{n.here, n.there} {
				device := fmt.Sprintf("culverttun%d%d", number, i)
				ends[i] = openTUN(t, device)
				n.ip(t, "link set %s name cable netns %s", device, name)
			}
			n.raise(t)
			var both sync.WaitGroup
			for i := range ends {
				both.Go(func() { carry(ends[i], ends[1-i], c.delay/2, rand.New(rand.NewPCG(uint64(i), 1))) })
			}
			t.Cleanup(func() {
				if err := errors.Join(ends[0].Close(), ends[1].Close()); err != nil {
					t.Error(err)
				}
				both.Wait()
			})
			n.run(t, "testdata/networkfar", fmt.Sprint("BYTES=", c.bytes), fmt.Sprint("PART=", c.bytes/3))
		})
	}
}

// openTUN makes a network device of that name, whose packets come out of the file.
func openTUN(t *testing.T, device string) *os.File {
	t.Helper()
	request, err := unix.NewIfreq(device)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		testkit.Missing(t, "/dev/net/tun", "modprobe tun")
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		t.Fatal(errors.Join(err, unix.Close(fd)))
	}
	return os.NewFile(uintptr(fd), "tun")
}

// carry hands packets on after a delay, all but one of a hundred, until a device is closed.
func carry(from, to *os.File, delay time.Duration, chance *rand.Rand) {
	type packet struct {
		due  time.Time
		data []byte
	}
	way := make(chan packet, 32<<10)
	var writer sync.WaitGroup
	writer.Go(func() {
		for next := range way {
			if wait := time.Until(next.due); wait > 0 {
				<-time.After(wait)
			}
			_, _ = to.Write(next.data) // a device that is down loses it
		}
	})
	buffer := make([]byte, 2048)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			break
		}
		if chance.IntN(100) == 0 {
			continue
		}
		select {
		case way <- packet{time.Now().Add(delay), append([]byte(nil), buffer[:n]...)}:
		default:
		}
	}
	close(way)
	writer.Wait()
}
