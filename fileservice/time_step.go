package fileservice

import (
	"io/fs"
	"time"
)

// timeSteps are those in which file systems keep times, beside nanoseconds: HFS+ and ext4 with small inodes, exFAT,
// network file systems, NTFS. A time that such a one was given is the beginning of the step.
var timeSteps = []time.Duration{time.Second, 10 * time.Millisecond, time.Microsecond, 100 * time.Nanosecond}

const MaxTimeStep = 2 * time.Second // that of FAT

// timeStepOf gives the step in which the file system of a file keeps times, as far as the file shows; 0 for
// nanoseconds. When a file was last changed anyone can set, but not when its inode was: where that is no multiple of
// the step, it is not the file system that has cut the other one. A system that does not tell it is taken for coarse.
// That it is a multiple by chance happens with every hundredth file for 100 ns, which tells no two versions apart.
func timeStepOf(info fs.FileInfo) time.Duration {
	if there, is := info.(*Info); is {
		return there.attributes.TimeStep
	}
	return timeStepOfTimes(info.ModTime(), changedOf(info))
}

func timeStepOfTimes(modified, changed time.Time) time.Duration {
	// FAT has the longest steps for the one. The other one is the same there, or that of the making, of 10 ms.
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

// IsSame reports whether a file is that version, as far as size and time tell. Times are compared as the file system of
// the file keeps them.
func IsSame(info fs.FileInfo, version Version) bool {
	if !info.Mode().IsRegular() || info.Size() != version.Size {
		return false
	}
	here, there := time.Unix(0, UnixNano(info.ModTime())), version.ModTime()
	return here.Equal(there) || here.Equal(there.Truncate(timeStepOf(info)))
}
