package fileservice

import (
	"io/fs"
	"time"
)

// timeSteps are the resolutions of times in file systems, other than nanoseconds: HFS+ and ext4 with small inodes,
// exFAT, network file systems, NTFS. These round times down to the beginning of a step.
var timeSteps = []time.Duration{time.Second, 10 * time.Millisecond, time.Microsecond, 100 * time.Nanosecond}

// MaxTimeStep is the largest resolution of times in a file system; FAT has it.
const MaxTimeStep = 2 * time.Second

// timeStepOf estimates the resolution of times in the file system of a file by the file's times; 0 means nanoseconds.
// Users can set the modification time of a file, but not the change time of its inode. If the change time is not a
// multiple of a step, the file system does not have that step. A system without change times counts as coarse. By
// chance, the times of one file in a hundred are multiples of 100 ns, which does no harm: no two versions are that
// close.
func timeStepOf(info fs.FileInfo) time.Duration {
	if there, is := info.(*Info); is {
		return there.attributes.TimeStep
	}
	return timeStepOfTimes(info.ModTime(), changedOf(info))
}

func timeStepOfTimes(modified, changed time.Time) time.Duration {
	// FAT keeps modification times in steps of 2 s. Its change time is the same time, or the creation time in steps of
	// 10 ms.
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

// IsSame reports whether a file has the size and the time of a version. Times are compared with the resolution of the
// file's file system.
func IsSame(info fs.FileInfo, version Version) bool {
	if !info.Mode().IsRegular() || info.Size() != version.Size {
		return false
	}
	here, there := time.Unix(0, UnixNano(info.ModTime())), version.ModTime()
	return here.Equal(there) || here.Equal(there.Truncate(timeStepOf(info)))
}
