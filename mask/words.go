package mask

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/brianvoe/gofakeit/v7/data"

	"culvert/source"
)

// newWords masks a text by words that its hash chooses from lists. The lists are those of a version of gofakeit, so
// another version of Culvert may choose others.
func (r Rule) newWords(k *Key, c source.Column) masking {
	words := newCMAC(k, r.name+" "+r.part)
	lists := r.lists()
	return each(func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
		value = trimmed(c, value)
		if kind != source.Text {
			return kind, dst, errNotText
		}
		if len(value) == 0 {
			return kind, dst, nil
		}
		begin := len(dst)
		sum := words.of(value)
		for i, list := range lists {
			dst = append(dst, list.before...)
			if list.words == nil {
				dst = appendInt(dst, 1+uint64(binary.LittleEndian.Uint32(sum))%199)
				continue
			}
			n := binary.LittleEndian.Uint32(sum[4*i:])
			dst = append(dst, list.words[int(n%uint32(len(list.words)))]...)
		}
		dst = bounded(dst, begin, c.Logical)
		for len(dst) > begin && dst[len(dst)-1] == ' ' {
			dst = dst[:len(dst)-1] // between two words, which a type may not keep at the end
		}
		return kind, dst, nil
	})
}

// list is a list of words, and what is before each. Without words it is a number.
type list struct {
	before string
	words  []string
}

func (r Rule) lists() []list {
	first, last := data.Person["first"], data.Person["last"]
	street := []list{{"", nil}, {" ", data.Address["street_name"]}, {"", data.Address["street_suffix"]}}
	city := data.Address["city"]
	switch r.name + " " + r.part {
	case "name first":
		return []list{{"", first}}
	case "name last":
		return []list{{"", last}}
	case "name ":
		return []list{{"", first}, {" ", last}}
	case "address street":
		return street
	case "address city":
		return []list{{"", city}}
	case "address state":
		return []list{{"", data.Address["state"]}}
	case "address country":
		return []list{{"", data.Address["country"]}}
	}
	return append(street, list{", ", city})
}

// bounded cuts a text that is too long for its column.
func bounded(dst []byte, begin int, t source.Type) []byte {
	if t.Length == 0 || !isText(t) {
		return dst
	}
	at := begin
	for count := 0; at < len(dst); count++ {
		if count == t.Length {
			return dst[:at]
		}
		_, n := utf8.DecodeRune(dst[at:])
		at += n
	}
	return dst
}
