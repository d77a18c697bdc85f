package transfer

// SetWalkRoom bounds the memory of a walk, in bytes.
func (c *Config) SetWalkRoom(room int64) { c.walkRoom = room }
