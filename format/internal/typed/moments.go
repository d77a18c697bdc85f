package typed

import "time"

// firstMoment and lastMoment bound the years from 1 to 9999.
var (
	firstMoment = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	lastMoment  = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro() - 1
)
