// Package fusefs shows any [fs.FS] whose files are io.ReaderAt as a directory of this machine: programs list, open,
// seek and read it as if it were here. It knows nothing of networks; package culvert/fileservice has such a file system
// for another machine. It works on Linux, through FUSE; elsewhere Mount fails.
//
//	mounted, err := fusefs.Mount("/mnt", fusefs.Config{FS: client})
//	if err != nil {
//		return err
//	}
//	defer mounted.Unmount()
//	return mounted.Wait()
//
// A process must not use its own mount: it could wait for itself.
//
// # The way of a read
//
//	program        read(2)
//	   │
//	kernel         pages it has of this version of the file: from reads, or
//	   │           from an open that gave a small file along ───────────────▶ the answer
//	   │           else a request, some of them at once and in any order
//	   ▼
//	handle         one version of one file, open by a program
//	   │
//	reader         blocks read ahead, if the requests continue each other ──▶ the answer
//	   │           else just what was asked for; both within Config.Memory
//	   ▼
//	fetch          a goroutine of its own: io.ReaderAt, then Stat
//	   │           another version now: ESTALE
//	   ▼
//	fs.File        of Config.FS
//
// # What a program sees
//
// An open asks the file system, always: what was closed on the other side before an open here is what that open sees.
// Names and attributes are believed for a second, and that a name does not exist is never believed.
//
// A file is open in one version: its size, the time it was changed, and what else FileInfo.Sys says if that can be
// compared and is no pointer, or of a *syscall.Stat_t the inode and its time of change. As long as a program has the
// file open, it sees the bytes and attributes of that version, and nothing of what others append, so `tail -f` is of no
// use: that the bytes before are still the same nobody knows. When the file system no longer has them, reads fail with
// ESTALE; they never give bytes of two versions. An open of a name that has become another version gets a node of its
// own, so that pages of both never meet in the kernel's cache. That cache is kept from one open to the next if the
// version is the same.
//
// A read gives all that was asked for, up to the size of the version, or an error. There are no zeros in place of what
// could not be read, and no end before the end.
//
// Nothing waits for ever. What the file system does not answer within Config.Timeout is EIO to the program, and a
// signal shortens the wait to half a second, but for changes: whether they were made must be known. Reads share a link
// that may be slow: as long as parts of any of them come, a read waits on, up to six times Config.Timeout. And no more
// is asked for at once than comes in about a second, so that a slow link is neither clogged by what is read ahead nor
// taken for one that is gone. When the file system answers again, so does the mount, with the same open files. Calls
// that do not come back are bounded in number, as is the memory that they hold.
//
// Who mounts owns all files, and their permissions are those of the file system. Symbolic links are followed by the
// kernel, on this machine. Extended attributes and hard links are not shown.
//
// # What a program writes
//
// With Config.ReadWrite and a [WritableFS], programs create, write, truncate, rename and remove files, make and remove
// directories, and set permissions and times.
//
//	program        write(2), or memory that is mapped
//	   │
//	draft          one for each file, whatever number of programs writes to it
//	   │           copied to chunks of 1 MiB, and the program goes on
//	   ▼
//	WriteAt        several chunks at once; those that overlap, in order
//	   │
//	Flush          at close(2) and fsync(2): others see what was written
//	or Publish     of a new file, or new content: it takes its name, at once and as a whole
//	   ▼
//	WritableFS     what others see
//
// In this mount, programs see at once what was written: content, size, and new names. For others there are two cases. A
// file that exists and is opened without O_TRUNC is written in place: others see writes within some seconds, and all of
// them when a program closes the file or calls fsync(2). Nothing is copied, so an append and the commit of a database
// cost no more in a large file than in a small one. A file that is created, or opened with O_TRUNC while nobody writes
// to it, is new: others see what was there before, until it is closed or synced for the first time, and then all of it.
// From then on it is written in place, too.
//
// When fsync returns 0, others see what was written under the name of the file. Content and name survive whatever ends
// afterwards: the program, the process that mounts, the other side, its power. So do the names that others see after
// fsync of a directory; it returns EINVAL if the file system cannot do that, and does not show a new file that was
// neither closed nor synced. What was not synced may be lost, in parts, and of a new file as a whole.
//
// The file system gets the bytes while the program goes on. So a write may succeed of which the bytes are lost later;
// then every later write, fsync(2) and close(2) of that file fails, until all have closed it, and new content is not
// shown to others. A close alone does not wait for the disk of the other side, as it does not with a local file system.
// What was not written to since the last fsync or close needs nothing of the other side: if that goes away and comes
// back, programs write on.
//
// The file system may allow fewer files to be open at once than programs have written to (ENFILE). Those that are in
// place are then synced and given up, and opened again at their next write; only new content needs to stay open until
// it has its name.
//
// What goes through a descriptor that creates a file and only writes is not kept in the kernel's pages, and those that
// are opened beside it read and write without pages as long as they are open. A program that at the same time stores to
// such a file through a mapping may take back what is written to the same page.
//
// A program that hands its descriptors on, as a shell does, closes a file several times; others see what was written
// until then each time. What is empty then, as after the redirection of a shell, counts as not closed. If others change
// a file that a program has open, its next write fails with ESTALE, or the fsync or close after it; two programs on
// different machines that write at the very same moment are not kept apart. What is removed while a program has it open
// and has written to it can be read and written on; what is removed while it is open otherwise can be read as long as
// the file system has it, and writes to it fail with ESTALE.
//
// Hard links, devices, and new symbolic links are not offered (EOPNOTSUPP), and the owner of a file cannot be changed
// (EPERM). Locks are those of the kernel: they hold among the programs of this machine.
//
// # A file system that lies
//
// Names that lead elsewhere, that package io/fs cannot open, or that have control characters are not shown. A file with
// a negative size cannot be opened, one that ends before its size gives EIO from there on. A listing may be endless:
// some hundred entries of it are in memory at a time. A panic is EIO to the program, and the error of [Mounted.Wait].
//
// # The end
//
// Unmount takes the directory back even if programs use it: their requests fail then, and what they had neither closed
// nor synced is lost, or a part of it, of which a [LostError] tells. The mount of a process that was killed stays
// behind, and every access to it fails with ENOTCONN; the next Mount at that directory takes it away.
package fusefs
