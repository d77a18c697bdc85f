package database

import "culvert/cmd/culvert/internal/command"

// SecretIn reports whether a text, which need not name a database, holds a password, and where passwords belong. If in
// doubt it does.
func SecretIn(text string) (where string, has bool) {
	const elsewhere = "a file that only you can read"
	d, err := Parse(text)
	if err != nil {
		return elsewhere, command.URLPassword.MatchString(text)
	}
	e, is := d.engine().(server)
	if !is {
		return elsewhere, false
	}
	return e.passwordFile(), e.hasPassword(d.address)
}
