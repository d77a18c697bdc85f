package dialect

// Listed returns the number of types that have equals.
func Listed() int {
	n := 0
	for _, known := range types {
		n += len(known)
	}
	return n
}
