package fileservice

import "syscall"

func changedUnixNano(stat *syscall.Stat_t) int64 { return stat.Ctim.Nano() }
