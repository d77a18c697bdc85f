package mysql

import (
	"testing"
	"time"
)

// ShortenGrace has a test wait less for servers that do not answer.
func ShortenGrace(t *testing.T) {
	before := grace
	grace = time.Second
	t.Cleanup(func() { grace = before })
}
