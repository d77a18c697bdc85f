//go:build purego

package bytebuf_test

// pureGo says that the package is built without unsafe, and that some operations allocate for that reason.
const pureGo = true
