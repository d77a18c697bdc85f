// Package publish gives complete files their names, durably.
//
// A file is written under a temporary name in its directory, and then
//
//	fsync of the file ──▶ rename ──▶ fsync of the directory
//
// so that a crash leaves the whole file under its name, or nothing.
//
//	Create, CreateIn        one file, written from its beginning
//	OpenLocked, OpenDirect  a file written at any offset, by one process at a time
//	Dir, Unnamed            many small files of one directory
//	Publisher               files that are complete at the same time and share their syncs
//	Rename, SyncDir         the steps, for callers that take them one by one
//
// Functions that take an [os.Root] touch nothing outside it, wherever links lead. Their names are relative to it.
package publish

import "errors"

var (
	// ErrLocked means that another process, or another part of this one, holds the lock.
	ErrLocked = errors.New("publish: locked by another process")

	// ErrNotFile means that a name belongs to something other than a regular file, such as a directory or a pipe.
	ErrNotFile = errors.New("publish: not a regular file")

	// ErrNotDurable means that a file is complete and has its name, but may not survive a crash.
	ErrNotDurable = errors.New("publish: the file is complete, but it may not survive a crash of the system")

	errNotHeld = errors.New("publish: the locked file was removed or renamed")
)
