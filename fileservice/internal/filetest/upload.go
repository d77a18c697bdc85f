package filetest

import (
	"culvert/fileservice/server"
)

// Writable makes a server writable.
func Writable(c *server.Config) { c.Writable = true }
