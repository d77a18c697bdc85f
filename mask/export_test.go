package mask

// NewMasker is for tests of a single column.
var NewMasker = newMasker
