package bucket

// LimitListing changes how many entries ReadDir returns at once, and how many answers may make a page.
func LimitListing(p Place, entries, answers int) {
	p.(*bucket).maxEntries, p.(*bucket).maxAnswers = entries, answers
}
