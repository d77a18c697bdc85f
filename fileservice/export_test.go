package fileservice

// SetWalkRoom bounds the memory of a walk, in bytes.
func (c *TransferConfig) SetWalkRoom(room int64) { c.walkRoom = room }
