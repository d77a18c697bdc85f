// Command memorymount mounts a directory that has one file, which it holds in memory. It shows how fast a mount by
// go-fuse can be read: nothing is fetched, and no more than one copy is made.
//
//	memorymount FILE DIR
//
// The file has the name and the content of FILE. The mount ends with SIGTERM or SIGINT.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: memorymount FILE DIR")
		os.Exit(4)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "memorymount:", err)
		os.Exit(1)
	}
}

func run(name, dir string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file := &fs.MemRegularFile{Data: content, Attr: fuse.Attr{Mode: 0o444}}
	root := &directory{name: filepath.Base(name), file: file}
	server, err := fs.Mount(dir, root, &fs.Options{MountOptions: fuse.MountOptions{
		FsName: "memory", MaxWrite: 1 << 20, MaxBackground: 64, DisableSplice: true, DirectMount: true,
	}})
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range stop {
			if err := server.Unmount(); err != nil {
				fmt.Fprintln(os.Stderr, "memorymount:", err)
			}
		}
	}()
	server.Wait()
	return nil
}

// directory holds one file.
type directory struct {
	fs.Inode
	name string
	file *fs.MemRegularFile
}

var _ = fs.NodeOnAdder((*directory)(nil))

func (d *directory) OnAdd(ctx context.Context) {
	d.AddChild(d.name, d.NewPersistentInode(ctx, d.file, fs.StableAttr{Mode: syscall.S_IFREG}), false)
}
