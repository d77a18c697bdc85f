package pgdump

import "culvert/source"

// Divide is divide.
func Divide(all []string) []source.Statement { return divide(all) }
