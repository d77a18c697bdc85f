// Package fusefs mounts any [fs.FS] whose files implement io.ReaderAt as a directory of this machine. Programs list,
// open, seek and read it like any other directory. The package knows nothing of networks; the client of
// culvert/fileservice is a file system on another machine. It works on Linux, through FUSE; elsewhere Mount fails.
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
//	   │           from the open of a small file ───────────────────────────▶ the answer
//	   │           else requests, several at once and in any order
//	   ▼
//	device         one goroutine that receives requests and does not wait for their answers
//	handle         one version of one file, open by a program
//	reader         blocks read ahead, if the requests continue each other ──▶ the answer
//	   │           else only what was asked for; both within Config.Memory
//	   ▼
//	fetch          StartReadAt, whose callback sends the answer; or ReadAt in another
//	   │           goroutine, and then Stat: ESTALE if there is another version
//	   ▼
//	fs.File        of Config.FS
//
// # What a program sees
//
// Every open asks the file system. It sees everything that the other side closed before. Names and attributes are
// cached for a second; that a name does not exist is not cached. Without Config.ReadWrite, names of files are cached
// for 20 seconds. For that time, access(2) may find a file that the other side has removed, and may not find a
// directory that has replaced a file. open(2) of a file asks all the same, and so does stat(2) after a second.
//
// Attributes that came with a listing live for at least as long as the listing took, so that a program that lists a
// large directory and then looks at each file, as find does, does not ask for each. A change made here, or a program
// that stops listing for a second, ends that.
//
// A file is open in one version: its size, its modification time, and what FileInfo.Sys returns if that is comparable
// and no pointer; of a *syscall.Stat_t, the inode and the change time. While a program has the file open, it sees the
// bytes and attributes of that version, and nothing that others append, so `tail -f` does not work: the bytes before
// may have changed too. When the file system no longer has the version, reads fail with ESTALE; they never mix bytes of
// two versions. An open that finds another version gets a new node, so the kernel's page cache never holds both. The
// cache is kept from one open to the next if the version is the same.
//
// A read returns everything that was asked for, up to the size of the version, or an error. It never returns zeros in
// place of bytes that could not be read, or an early end of file.
//
// If the file system does not answer within Config.Timeout, the program gets EIO. After a signal that does not end the
// program, the wait is half a second, and the error EINTR. Changes and listings wait on: the program must know whether
// a change was made, and many programs take EINTR for the end of a listing. Requests share a link that may be slow.
// While parts of any read arrive, or bytes move on the way to a [MovingFS], all requests wait on, until 64 MiB have
// moved for others. The mount asks for no more at once than arrives in about a second, so read-ahead does not clog a
// slow link or make it look dead. When the file system answers again, the mount works again, with the same open files.
// The number of calls that do not return is bounded, and so is their memory.
//
// All files belong to the user who mounts; permissions come from the file system. The kernel follows symbolic links, on
// this machine. Extended attributes and hard links are not shown.
//
// # What a program writes
//
// With Config.ReadWrite and a [WritableFS], programs create, write, truncate, rename and remove files, make and remove
// directories, and set permissions and times.
//
//	program        write(2), or memory that is mapped
//	   ▼
//	draft          one for each file, for all programs that write to it
//	   │           each write is copied, and the program goes on
//	WriteAt        one write of a file after the other
//	Flush          at close(2) and fsync(2): others see what was written
//	or Publish     of a new file, or new content: it gets its name, as a whole
//	   ▼
//	WritableFS     what others see
//
// In this mount, programs see writes and new names at once. An existing file that is opened without O_TRUNC is written
// in place: others see writes within some seconds, and all writes when a program closes the file or calls fsync(2).
// Nothing is copied, so an append costs no more in a large file than in a small one. A file that is created, or opened
// with O_TRUNC while no program writes to it, is new: others see the previous content until the file is closed or
// synced for the first time, and then all of the new content. From then on it is written in place, too.
//
// When fsync returns 0, others see what was written under the name of the file. Content and name survive the end of the
// program, the mounting process and the other side, and a loss of power there. After fsync of a directory, the names
// that others see survive too. It returns EINVAL if the file system does not support that, and does not publish new
// files that were neither closed nor synced. Unsynced data may be lost: parts of a file, or all of a new one.
//
// The program goes on while the file system gets the bytes, so a successful write may be lost later. Then every later
// write, fsync(2) and close(2) of that file fails until all programs have closed it, and new content is not published.
// A close alone does not wait for the disk of the other side, as with a local file system. If nothing was written since
// the last fsync or close, the other side may go away and come back: programs write on.
//
// The file system may limit how many files are open at once (ENFILE). Files in place are then synced and closed there,
// and opened again at their next write; only new content stays open until it has its name.
//
// A descriptor that creates a file and only writes bypasses the page cache, and so do all descriptors that are opened
// while it is open. If a program also stores to such a file through a mapping, it may undo writes to the same page.
//
// A program that passes its descriptors on, as a shell does, closes a file several times; each time, others see what
// was written so far. A file that is still empty then, as after a shell's redirection, counts as not closed. If others
// change a file that a program has open, its next write, fsync or close fails with ESTALE. Writes of two machines at
// the same moment are not kept apart. A file that is removed while a program has it open, and has written to it, can be
// read and written on. If the program has not written to it, it can be read while the file system has it, and writes
// fail with ESTALE.
//
// Hard links, devices, and new symbolic links are not supported (EOPNOTSUPP), and the owner of a file cannot be changed
// (EPERM). The kernel keeps locks: they hold among the programs of this machine.
//
// # A hostile file system
//
// Names that lead elsewhere, that package io/fs cannot open, or that contain control characters are not shown. A file
// with a negative size cannot be opened. Reads beyond the real end of a file that is shorter than its size return EIO.
// A listing may be endless: a few hundred of its entries are in memory at a time. A panic is EIO to the program, and
// the error of [Mounted.Wait].
//
// # The end
//
// Unmount works even while programs use the directory. Their requests then fail, and what they neither closed nor
// synced may be lost; a [LostError] reports that. When a mounting process is killed, its mount stays and every access
// fails with ENOTCONN; the next Mount at that directory removes it.
package fusefs
