package wal

import "culvert/internal/disk"

// through is a file system that wraps the files of logs by a function.
type through struct {
	disk.FS
	see func(disk.File) disk.File
}

func (t through) OpenLogDir(dir string) (disk.LogDir, error) {
	d, err := t.FS.OpenLogDir(dir)
	return throughDir{d, t.see}, err
}

type throughDir struct {
	disk.LogDir
	see func(disk.File) disk.File
}

func (t throughDir) Create(name string) (disk.File, error) { return t.seen(t.LogDir.Create(name)) }

func (t throughDir) Open(name string, writable bool) (disk.File, error) {
	return t.seen(t.LogDir.Open(name, writable))
}

func (t throughDir) seen(f disk.File, err error) (disk.File, error) {
	if err != nil {
		return nil, err
	}
	return t.see(f), nil
}
