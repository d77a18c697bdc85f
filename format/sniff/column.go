package sniff

import "bytes"

// column is what is known of the values of a column.
type column struct {
	values, null, empty int64
	types               map[Type]int64      // of the values that are not empty
	trimmed             map[Type]int64      // the same without the spaces around them
	words               map[string]int64    // how often words occur that may stand for NULL
	seen                map[string]struct{} // some of the values
}

// nullWords may stand for NULL. Those after the first five do so only between values that are no text.
var nullWords = []string{
	`\N`, "NULL", "null", "<null>", "<NULL>", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "None", "-",
}

const surelyNull = 5

// mostSeen is how many values of a column are kept, of at most longestSeen bytes.
const mostSeen, longestSeen = 1000, 100

func newColumn() *column {
	return &column{
		types: map[Type]int64{}, trimmed: map[Type]int64{}, words: map[string]int64{}, seen: map[string]struct{}{},
	}
}

// add adds a value, and returns its type.
func (c *column) add(value []byte) Type {
	c.values++
	if len(value) == 0 {
		c.empty++
		return Unknown
	}
	for _, word := range nullWords {
		if string(value) == word {
			c.words[word]++
		}
	}
	if len(c.seen) < mostSeen && len(value) <= longestSeen {
		c.seen[string(value)] = struct{}{}
	}
	t := typeOf(value)
	c.types[t]++
	if first, last := value[0], value[len(value)-1]; first == ' ' || last == ' ' || first == '\t' || last == '\t' {
		c.trimmed[typeOf(bytes.Trim(value, " \t"))]++
	} else {
		c.trimmed[t]++
	}
	return t
}

// typeOf returns the type of all values.
func (c *column) typeOf() Type {
	t := common(c.types)
	switch {
	case t == localNumber || t == localDate, t != Unknown && c.empty > 0:
		return Text // an empty text is no number
	}
	return t
}

// common returns the type that all values are of.
func common(types map[Type]int64) Type {
	all := Unknown
	for t := range types {
		switch {
		case all == Unknown || all == t:
			all = t
		case isNumber(all) && isNumber(t):
			if all == Float || t == Float {
				all = Float
			} else {
				all = Decimal
			}
		case isNumber(all) && t == localNumber, all == localNumber && isNumber(t):
			all = localNumber
		case all == Date && t == Timestamp, all == Timestamp && t == Date:
			all = Timestamp
		default:
			return Text
		}
	}
	return all
}

func isNumber(t Type) bool { return t == Integer || t == Decimal || t == Float }

// typeWithout is what common returns without a word, which may stand for NULL.
func (c *column) typeWithout(word string) Type {
	types := map[Type]int64{}
	for t, n := range c.types {
		if t == typeOf([]byte(word)) {
			n -= c.words[word]
		}
		if n > 0 {
			types[t] = n
		}
	}
	return common(types)
}
