package fileservice

import (
	"io/fs"
	"time"
)

// timeSteps are the resolutions of file times, besides nanoseconds: HFS+ and ext4 with small inodes, exFAT, network
// file systems, NTFS. Such a file system rounds times down.
var timeSteps = []time.Duration{time.Second, 10 * time.Millisecond, time.Microsecond, 100 * time.Nanosecond}

// MaxTimeStep is the coarsest resolution of file times, on FAT.
const MaxTimeStep = 2 * time.Second

// timeStepOf returns the resolution of file times, as far as the times of this file show it; 0 means nanoseconds. Any
// program can set the modification time, but not the inode's change time: if that is no multiple of a step, the file
// system does not round to it. A system without change times counts as coarse. For 100 ns, every hundredth file is a
// multiple by chance, which is harmless: it confuses no two versions.
func timeStepOf(info fs.FileInfo) time.Duration {
	if there, is := info.(*Info); is {
		return there.attributes.TimeStep
	}
	_, changed := identify(info)
	return timeStepOfTimes(info.ModTime(), changed)
}

func timeStepOfTimes(modified, changed time.Time) time.Duration {
	// FAT rounds modification times to 2 s. Its change time is the same, or the creation time in steps of 10 ms.
	const fatMaking = 10 * time.Millisecond
	if isMultiple(modified, MaxTimeStep) {
		made := isMultiple(changed, fatMaking) && !isMultiple(changed, time.Second)
		if changed.IsZero() || changed.Equal(modified) || made {
			return MaxTimeStep
		}
	}
	for _, step := range timeSteps {
		if isMultiple(modified, step) && isMultiple(changed, step) {
			return step
		}
	}
	return 0
}

func isMultiple(t time.Time, step time.Duration) bool { return t.Truncate(step).Equal(t) }

// IsSame reports whether a regular file has the size and time of a version. Times are compared in the resolution of the
// file's file system.
func IsSame(info fs.FileInfo, version Version) bool {
	if !info.Mode().IsRegular() || info.Size() != version.Size {
		return false
	}
	here, there := time.Unix(0, UnixNano(info.ModTime())), version.ModTime()
	return here.Equal(there) || here.Equal(there.Truncate(timeStepOf(info)))
}
