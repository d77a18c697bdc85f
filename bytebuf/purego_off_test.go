//go:build !purego

package bytebuf_test

const pureGo = false
