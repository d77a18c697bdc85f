package secureconn

import "time"

// SetPatience changes how long Close waits for a peer who takes nothing.
func (c *Conn) SetPatience(d time.Duration) { c.sender.patience = d }

// SetRekey changes after how many bytes, and after what time, a key is replaced in the direction of this side.
func (c *Conn) SetRekey(bytes int64, age time.Duration) {
	c.sender.out.limit, c.sender.out.age = bytes, age
}

// RekeyAge is for SetRekey by bytes alone.
const RekeyAge = rekeyAge

// MaxPlaintext is the bound of the format.
const MaxPlaintext = maxPlaintext

// SetMaxBytes changes how many bytes this side takes under one key.
func (c *Conn) SetMaxBytes(n int64) { c.receiver.in.limit = n }
