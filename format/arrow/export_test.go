package arrow

// InPieces returns a format that passes batches of more than so many bytes on in pieces.
func InPieces(f Format, whole int) Format {
	f.whole = whole
	return f
}
