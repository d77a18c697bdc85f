//go:build unix

package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// unprivileged returns the user nobody if this process runs as root, since PostgreSQL refuses to run as root; else nil.
var unprivileged = sync.OnceValues(func() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
})

// giveAway changes the owner of a file or directory to the user of [dropPrivileges]. It must be called first.
func giveAway(path string) error {
	credential, err := unprivileged()
	if err != nil {
		return fmt.Errorf("running as root, and no other user to change to: %w", err)
	}
	if credential == nil {
		return nil
	}
	return os.Chown(path, int(credential.Uid), int(credential.Gid))
}

func dropPrivileges(cmd *exec.Cmd) {
	if credential, err := unprivileged(); err == nil && credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	}
}

// killWithChildren kills a process and its children: those that are known, and those that the system lists, which are
// more while a session begins or ends. It returns all of them.
func killWithChildren(pid int, known []int) ([]int, error) {
	// It starts no more children, and does not notice that some end.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return nil, err
	}
	all := append([]int{pid}, known...)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // its only error is that of a pattern
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue // it has just ended
		}
		// The parent comes after the name, which may contain parentheses, and the state.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(strings.Split(stat, "/")[2])
			if err != nil {
				return nil, err
			}
			all = append(all, child)
		}
	}
	for _, one := range all {
		if err := syscall.Kill(one, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return nil, err
		}
	}
	return all, nil
}

// alive reports whether a process runs. A zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		_, noProc := os.Stat("/proc/self")
		return noProc != nil
	}
	// The state is the letter after the name, which may contain parentheses.
	_, state, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}
