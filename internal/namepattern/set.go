package namepattern

// Set is patterns of which any may match.
type Set []*Pattern

// ParseSet parses patterns, each of at most parts parts. The error is a [*SyntaxError].
func ParseSet(texts []string, parts int) (Set, error) {
	var set Set
	for _, text := range texts {
		p, err := Parse(text, parts)
		if err != nil {
			return nil, err
		}
		set = append(set, p)
	}
	return set, nil
}

// Match reports whether any of the patterns matches a name.
func (s Set) Match(name ...string) bool {
	for _, p := range s {
		if p.Match(name...) {
			return true
		}
	}
	return false
}

// Unmatched returns the patterns that match none of the names: most often they are mistyped.
func (s Set) Unmatched(names [][]string) (unmatched Set) {
	for _, p := range s {
		found := false
		for _, name := range names {
			if found = p.Match(name...); found {
				break
			}
		}
		if !found {
			unmatched = append(unmatched, p)
		}
	}
	return unmatched
}
