package publish

// Busy gives the disk as many direct writes as it is to have at a time, until the function that it returns is called.
func (d *Direct) Busy() (idle func()) {
	d.writing.Add(directAtOnce)
	return func() { d.writing.Add(-directAtOnce) }
}
