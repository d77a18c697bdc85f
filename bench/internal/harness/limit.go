package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Limit holds processes to a part of a core each, by control groups of Linux, of version 2 or 1.
type Limit struct {
	s     *Session
	root  string // of the controller
	cores float64
	made  map[int]string
}

// limitPeriod is how often the time of a group is given out. It is short, so that a process is slow and not stopped for
// long.
const limitPeriod = 20 * time.Millisecond

// NewLimit fails if this system has no such groups, or this user may not make them.
func (s *Session) NewLimit(cores float64) (*Limit, error) {
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"} {
		l := &Limit{s, root, cores, map[int]string{}}
		if _, err := l.group(0); err == nil {
			return l, nil
		}
	}
	return nil, errors.New("no control group of the processor can be made")
}

// group returns the directory of a group. It is removed with the session.
func (l *Limit) group(number int) (string, error) {
	if dir, made := l.made[number]; made {
		return dir, nil
	}
	dir := filepath.Join(l.root, fmt.Sprintf("%s-%d", filepath.Base(l.s.Dir), number))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	period := limitPeriod.Microseconds()
	quota := int64(l.cores * float64(period))
	err := setGroup(dir, "cpu.max", fmt.Sprintf("%d %d", quota, period))
	if err != nil {
		err = errors.Join(setGroup(dir, "cpu.cfs_period_us", strconv.FormatInt(period, 10)),
			setGroup(dir, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)))
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	l.made[number] = dir
	l.s.Cleanup(func() error { return os.Remove(dir) })
	return dir, nil
}

// setGroup writes a setting that exists.
func setGroup(dir, name, value string) error {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the control group has no %s", name)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

// Command returns a command that runs in the group of a number, which one process has at a time.
func (l *Limit) Command(number int, cmd *exec.Cmd) (*exec.Cmd, error) {
	dir, err := l.group(number)
	if err != nil {
		return nil, err
	}
	enter := []string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(dir, "cgroup.procs")}
	limited := exec.CommandContext(l.s.Ctx, "sh", append(append(enter, cmd.Path), cmd.Args[1:]...)...)
	limited.Env = cmd.Env
	return limited, nil
}
