//go:build purego

package bytebuf

func pack(buf []byte) any { return &buf }

func unpack(packed any, _ int) []byte { return *packed.(*[]byte) }

const inPlace = false

func stringOf(content []byte) string { return string(content) }
