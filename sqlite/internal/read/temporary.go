package read

import (
	"sync"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
	_ "github.com/ncruces/go-sqlite3/vfs/xts" // encrypts files for SQLite
)

// temporaryVFS is the name of a file system for SQLite that encrypts temporary files, which have no name.
const temporaryVFS = "culvert"

// registerVFS makes the file system known to the driver.
var registerVFS = sync.OnceFunc(func() {
	vfs.Register(temporaryVFS, encryptedTemporary{vfs.Find("os"), vfs.Find("xts")})
})

// encryptedTemporary encrypts files without a name, in which SQLite sorts rows that do not fit in its cache, with
// AES-128 in XTS mode. Each has a random key that is only in memory.
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
