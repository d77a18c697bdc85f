package fusefs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"testing/fstest"
	"time"

	"culvert/fusefs"
)

// This example shows a file system in a directory until it is unmounted, here or with fusermount3 -u. It is compiled
// only: to run it takes /dev/fuse.
func ExampleMount() {
	files := fstest.MapFS{"hello.txt": {Data: []byte("hello, world\n"), Mode: 0o644}}
	mounted, err := fusefs.Mount("/mnt/hello", fusefs.Config{
		FS:      files,
		Timeout: 5 * time.Second,
		Errno: func(err error) syscall.Errno {
			if errors.Is(err, fs.ErrClosed) {
				return syscall.EBADF
			}
			return 0
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := mounted.Wait(); err != nil {
		fmt.Println(err)
	}
}

// An interrupt takes the directory back, even from programs that use it. This example is compiled only: to run it takes
// /dev/fuse.
func ExampleMounted_Unmount() {
	mounted, err := fusefs.Mount("/mnt/etc", fusefs.Config{FS: os.DirFS("/etc")})
	if err != nil {
		fmt.Println(err)
		return
	}
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	<-interrupt
	if err := mounted.Unmount(); err != nil {
		fmt.Println(err)
	}
}
