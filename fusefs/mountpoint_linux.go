package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// readAheadKiB is how far the kernel reads ahead of a sequential reader, if this process may set it. The kernel has
	// several requests of maxRequest under way for it.
	readAheadKiB = 4096

	// mountFlags are those of fusermount: no devices and no setuid programs.
	mountFlags = syscall.MS_NOSUID | syscall.MS_NODEV

	// staleTime is how long an existing mount may take to answer.
	staleTime = 5 * time.Second
)

// mountPoint is an entry of the kernel's table of mounts.
type mountPoint struct {
	dir        string
	device     string // major:minor
	filesystem string
}

// mountOptions are the options that mountDirect and mountWithHelp share.
func mountOptions(config Config) string {
	options := fmt.Sprintf("max_read=%d", maxRequest)
	if config.AllowOther {
		options += ",allow_other,default_permissions"
	}
	return options
}

// mountDirect attaches a new connection to dir, if this process may, and returns its descriptor. Unlike go-fuse's, it
// is not inherited by programs that this process starts, which would keep a dead mount alive.
func mountDirect(dir string, config Config) (int, error) {
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open /dev/fuse: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,%s", fd, syscall.S_IFDIR,
		os.Geteuid(), os.Getegid(), mountOptions(config))
	flags := uintptr(mountFlags)
	if !config.ReadWrite {
		flags |= syscall.MS_RDONLY
	}
	if err := syscall.Mount(config.Name, dir, "fuse."+subtype, flags, options); err != nil {
		return -1, errors.Join(fmt.Errorf("mount: %w", err), syscall.Close(fd))
	}
	return fd, nil
}

// mountWithHelp is mountDirect by fusermount3, for users who may not mount.
func mountWithHelp(dir string, config Config) (int, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = syscall.Close(pair[0]) }() // nothing is written to it
	name := strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(config.Name)
	options := mountOptions(config) + ",nosuid,nodev,subtype=" + subtype + ",fsname=" + name
	if !config.ReadWrite {
		options += ",ro"
	}
	remote := os.NewFile(uintptr(pair[1]), "fusermount3")
	cmd := exec.Command("fusermount3", "-o", options, "--", dir)
	cmd.Env, cmd.ExtraFiles = []string{"_FUSE_COMMFD=3"}, []*os.File{remote}
	output, err := cmd.CombinedOutput()
	// Only then is there an end to read if nothing was sent.
	if err = errors.Join(err, remote.Close()); err != nil {
		return -1, fmt.Errorf("%w: %s", err, bytes.TrimSpace(output))
	}
	rights := make([]byte, syscall.CmsgSpace(4))
	_, n, _, _, err := syscall.Recvmsg(pair[0], make([]byte, 1), rights, syscall.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	var fds []int
	messages, err := syscall.ParseSocketControlMessage(rights[:n])
	if err == nil && len(messages) == 1 {
		fds, err = syscall.ParseUnixRights(&messages[0])
	}
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(err, errors.New("fusermount3 has not sent the connection"))
	}
	return fds[0], nil
}

// clearPoint returns the real path of a directory, after it has removed the mount of a killed process there.
func clearPoint(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	// Under a dead mount, the directory itself cannot be examined.
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	dir = filepath.Join(parent, filepath.Base(dir))
	for {
		point, err := findMount(dir)
		if err != nil {
			return "", err
		}
		if point.filesystem != "fuse."+subtype {
			break
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

// restore removes a mount of this package that was made on dir after p was found there. It touches nothing else:
// another file system may have been mounted there before.
func (p mountPoint) restore(dir string) error {
	now, err := findMount(dir)
	if err != nil || now == p || now.filesystem != "fuse."+subtype {
		return err
	}
	return now.abort()
}

// isDead reports whether the connection of a mount has ended. A mount that is only slow is alive.
func (p mountPoint) isDead() bool {
	asked := make(chan error, 1)
	go func() {
		// Unlike attributes, the kernel does not cache this.
		asked <- syscall.Statfs(p.dir, &syscall.Statfs_t{})
	}()
	select {
	case err := <-asked:
		return errors.Is(err, syscall.ENOTCONN)
	case <-time.After(staleTime):
		return false
	}
}

// findMount looks up a directory in the table of mounts, without a request to any of them. The last mount is the
// visible one. If there is none, the result is zero.
func findMount(dir string) (mountPoint, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return mountPoint{}, err
	}
	found := mountPoint{}
	for line := range strings.Lines(string(table)) {
		// 36 35 98:0 /root /dir options optional… - type source options; see proc_pid_mountinfo(5).
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 6 || unescaped(fields[4]) != dir {
			continue
		}
		filesystem, _, _ := strings.Cut(after, " ")
		found = mountPoint{dir: dir, device: fields[2], filesystem: filesystem}
	}
	return found, nil
}

// unescaped replaces the octal escapes of the table: blank, tab, newline and backslash.
func unescaped(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// isThere reports whether p is still the visible mount of its directory.
func (p mountPoint) isThere() (bool, error) {
	now, err := findMount(p.dir)
	return now.dir != "" && now.device == p.device, err
}

// abort removes the mount even if it is in use, and ends the connection, so that all requests fail. For root the
// unmount ends it too: not every container has the file that disconnect needs.
func (p mountPoint) abort() error {
	if there, err := p.isThere(); err != nil || !there {
		return err
	}
	_ = syscall.Unmount(p.dir, syscall.MNT_FORCE)
	p.disconnect()
	return p.unmount(syscall.MNT_DETACH, "-uz")
}

// disconnect ends the connection, if this process may. The kernel names it by the minor device number.
func (p mountPoint) disconnect() {
	_, minor, _ := strings.Cut(p.device, ":")
	_ = os.WriteFile("/sys/fs/fuse/connections/"+minor+"/abort", []byte("1"), 0)
}

// unmount removes the mount with flags of umount2(2), or an option of fusermount3. Without any, it must not be in use.
func (p mountPoint) unmount(flags int, option string) error {
	if there, err := p.isThere(); err != nil || !there {
		return err
	}
	err := syscall.Unmount(p.dir, flags)
	if !errors.Is(err, syscall.EPERM) {
		return err
	}
	output, err := exec.Command("fusermount3", option, "--", p.dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(output))
	}
	return nil
}

// raiseReadAhead makes the kernel read further ahead than its default of 128 KiB. Only root may do that; otherwise the
// mount is slower.
func (p mountPoint) raiseReadAhead() {
	_ = os.WriteFile("/sys/class/bdi/"+p.device+"/read_ahead_kb", []byte(strconv.Itoa(readAheadKiB)), 0)
}
