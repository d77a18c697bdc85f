//go:build !unix

package fill

// permitted does nothing: the first write finds out.
func permitted(string) error { return nil }
