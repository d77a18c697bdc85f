package arrow

// InPieces returns a format that passes a batch on in pieces if it has more than whole bytes.
func InPieces(f Format, whole int) Format {
	f.whole = whole
	return f
}
