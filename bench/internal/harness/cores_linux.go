package harness

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// UseCores restricts this program, and all that it starts, to the first n of its cores. The runtime counts the cores
// when a program begins, so the program begins again: when UseCores returns nil, it has n cores.
func UseCores(n int) error {
	if n == runtime.NumCPU() {
		return nil
	}
	if n < 1 || n > runtime.NumCPU() {
		return fmt.Errorf("cannot run on %d cores: %d are available", n, runtime.NumCPU())
	}
	runtime.LockOSThread() // the affinity is that of a thread, and the thread that calls Exec passes it on
	var available, some unix.CPUSet
	if err := unix.SchedGetaffinity(0, &available); err != nil {
		return fmt.Errorf("sched_getaffinity: %w", err)
	}
	for core := 0; some.Count() < n; core++ {
		if available.IsSet(core) {
			some.Set(core)
		}
	}
	if err := unix.SchedSetaffinity(0, &some); err != nil {
		return fmt.Errorf("sched_setaffinity: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("exec: %w", unix.Exec(program, os.Args, os.Environ()))
}
