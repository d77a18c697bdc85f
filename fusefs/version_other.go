//go:build !linux

package fusefs

func systemVersion(any) (any, bool) { return nil, false }
