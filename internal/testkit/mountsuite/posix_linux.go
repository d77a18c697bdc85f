package mountsuite

import (
	"maps"
	"slices"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"
)

// notOffered are the tests of unsupported features, with the reason.
var notOffered = map[string]string{
	"Link":             "hard links are not offered",
	"LinkUnlinkRename": "hard links are not offered",
	"SetattrSymlink":   "symbolic links are shown, but not made",
	"SymlinkReadlink":  "symbolic links are shown, but not made",
	"OpenSymlinkRace":  "symbolic links are shown, but not made",
	"XAttr":            "extended attributes are not offered",
	"XAttrLarge":       "extended attributes are not offered",
	"Tmpfile":          "a file without a name could not get one, without hard links",

	"FcntlFlockLocksFile": "locks are those of the kernel, where those of one process do not exclude each other",

	"Fallocate":         "the space of another machine cannot be promised; the C library writes zeros instead",
	"FallocateKeepSize": "the space of another machine cannot be promised",
}

// RunPOSIX runs go-fuse's suite. It counts the open descriptors of this process, so no other test may run at the same
// time.
func RunPOSIX(t *testing.T, mount Mount) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(posixtest.All)) {
		if notOffered[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			posixtest.All[name](t, mount(t, newServed(t), Options{ReadWrite: true}))
		})
	}
	for name := range notOffered {
		if posixtest.All[name] == nil {
			t.Errorf("posixtest has no test %s any more", name)
		}
	}
}
