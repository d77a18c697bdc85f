package sqlite

import (
	"sync"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
	_ "github.com/ncruces/go-sqlite3/vfs/xts" // encrypts files for SQLite
)

// temporaryVFS is the name of a file system for SQLite in which temporary files, those without a name, are encrypted.
const temporaryVFS = "culvert"

// registerVFS makes the file system known to the driver.
var registerVFS = sync.OnceFunc(func() {
	vfs.Register(temporaryVFS, encryptedTemporary{vfs.Find("os"), vfs.Find("xts")})
})

// encryptedTemporary opens files with a name as they are. SQLite sorts what does not fit in its cache in files without
// one, each of which gets a random key that is nowhere but in memory (AES-128 in XTS mode).
type encryptedTemporary struct {
	vfs.VFS
	encrypted vfs.VFS
}

func (e encryptedTemporary) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == nil {
		return vfsutil.WrapOpenFilename(e.encrypted, nil, flags)
	}
	return vfsutil.WrapOpenFilename(e.VFS, name, flags)
}
