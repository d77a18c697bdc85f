package filetest

import (
	"culvert/fileservice/server"
)

func Writable(c *server.Config) { c.Writable = true }
