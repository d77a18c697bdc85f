package fusefs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	subtype = "culvert"

	// readAheadKiB is how far the kernel reads ahead of a sequential reader, where we may say so. It splits that into
	// requests of maxRequest, several of which are then under way.
	readAheadKiB = 4096

	// mountFlags are those of fusermount: no devices and no programs that take on rights.
	mountFlags = syscall.MS_NOSUID | syscall.MS_NODEV

	// staleTime is how long a mount that is there already has to show that somebody answers for it.
	staleTime = 5 * time.Second
)

// mountPoint is a directory with something mounted on it, as the kernel knows it.
type mountPoint struct {
	dir        string
	device     string // major:minor
	filesystem string
}

func mountOptions(config Config) []string {
	options := []string{"nosuid", "nodev"}
	if !config.ReadWrite {
		options = append(options, "ro")
	}
	if config.AllowOther {
		options = append(options, "default_permissions")
	}
	return options
}

// mountDirect attaches a new connection to dir, if we have the right to, and gives the descriptor of the connection.
// Unlike that of go-fuse it is not inherited by programs that this process starts, which would keep a dead mount alive.
func mountDirect(dir string, config Config) (int, error) {
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d", fd, syscall.S_IFDIR,
		os.Geteuid(), os.Getegid(), maxRequest)
	if config.AllowOther {
		options += ",allow_other,default_permissions"
	}
	flags := uintptr(mountFlags)
	if !config.ReadWrite {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount(config.Name, dir, "fuse."+subtype, flags, options); err != nil {
		return -1, errors.Join(fmt.Errorf("mount: %w", err), syscall.Close(fd))
	}
	return fd, nil
}

// clearPoint gives the real path of a directory, after it has taken away what a killed process left mounted there.
func clearPoint(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	// The directory itself cannot be looked at while a dead mount is on it.
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	dir = filepath.Join(parent, filepath.Base(dir))
	for {
		point, err := findMount(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && point.filesystem != "fuse."+subtype {
			break
		}
		if err != nil {
			return "", err
		}
		if !point.isDead() {
			return "", errors.New("something is mounted there already; unmount it with fusermount3 -u, or -uz")
		}
		if err := point.abort(); err != nil {
			return "", err
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, syscall.ENOTCONN) {
		if real, err = os.Readlink(dir); err == nil && !filepath.IsAbs(real) {
			real = filepath.Join(parent, real)
		}
	}
	if err != nil {
		return "", err
	}
	if real != dir {
		return clearPoint(real)
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return dir, err
}

// restore takes away what was mounted on dir since p was found there, if that is a mount of this package. Nothing else
// is touched: the directory may have been the place of another file system all the time.
func (p mountPoint) restore(dir string) error {
	now, err := findMount(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || now == p || now.filesystem != "fuse."+subtype {
		return err
	}
	return now.abort()
}

// isDead reports whether nobody answers for a mount any more because the connection has ended. One that is only slow
// is alive.
func (p mountPoint) isDead() bool {
	asked := make(chan error, 1)
	go func() {
		// Unlike attributes, the kernel keeps this for no time.
		asked <- syscall.Statfs(p.dir, &syscall.Statfs_t{})
	}()
	limit := time.NewTimer(staleTime)
	defer limit.Stop()
	select {
	case err := <-asked:
		return errors.Is(err, syscall.ENOTCONN)
	case <-limit.C:
		return false
	}
}

// findMount looks a directory up in the table of mounts, which asks none of them. What was mounted last is what shows.
func findMount(dir string) (mountPoint, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mountPoint{}, err
	}
	found := mountPoint{}
	lines := bufio.NewScanner(bytes.NewReader(table))
	lines.Buffer(nil, len(table)+1)
	for lines.Scan() {
		// 36 35 98:0 /root /dir options optional… - type source options; see proc_pid_mountinfo(5).
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if len(fields) < 6 || unescaped(fields[4]) != dir {
			continue
		}
		filesystem, _, _ := strings.Cut(after, " ")
		found = mountPoint{dir: dir, device: fields[2], filesystem: filesystem}
	}
	if err := lines.Err(); err != nil {
		return mountPoint{}, err
	}
	if found.dir == "" {
		return mountPoint{}, fmt.Errorf("%s in the table of mounts: %w", dir, fs.ErrNotExist)
	}
	return found, nil
}

// unescaped undoes the octal escapes of the table: blank, tab, newline and backslash.
func unescaped(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// isThere reports whether it still is what shows at the directory.
func (p mountPoint) isThere() (bool, error) {
	now, err := findMount(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && now.device == p.device, err
}

// unmount takes it away if nobody uses it.
func (p mountPoint) unmount() error {
	there, err := p.isThere()
	if err != nil || !there {
		return err
	}
	return unmountWith(p.dir, 0, "-u")
}

// abort takes it from its directory even if it is used, and ends the connection, so that all requests fail. Root can
// end it by the unmount too: not every container has the file that disconnect needs.
func (p mountPoint) abort() error {
	if there, err := p.isThere(); err != nil || !there {
		return err
	}
	_ = syscall.Unmount(p.dir, syscall.MNT_FORCE)
	p.disconnect()
	if there, err := p.isThere(); err != nil || !there {
		return err
	}
	return unmountWith(p.dir, syscall.MNT_DETACH, "-uz")
}

// disconnect ends the connection, if we may. The kernel names it by its minor number.
func (p mountPoint) disconnect() {
	_, minor, _ := strings.Cut(p.device, ":")
	_ = os.WriteFile("/sys/fs/fuse/connections/"+minor+"/abort", []byte("1"), 0)
}

func unmountWith(dir string, flags int, option string) error {
	err := syscall.Unmount(dir, flags)
	if !errors.Is(err, syscall.EPERM) {
		return err
	}
	output, err := exec.Command("fusermount3", option, "--", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(output))
	}
	return nil
}

// raiseReadAhead has the kernel read further ahead than the 128 KiB that it takes for a good measure. Only root may
// say so; without, the mount is slower.
func (p mountPoint) raiseReadAhead() {
	_ = os.WriteFile("/sys/class/bdi/"+p.device+"/read_ahead_kb", []byte(strconv.Itoa(readAheadKiB)), 0)
}
