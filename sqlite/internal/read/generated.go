package read

import "strings"

// expressions returns the expressions of the generated columns in a CREATE TABLE statement, by the positions of the
// columns. SQLite keeps them nowhere else.
func expressions(create string) map[int]string {
	all := map[int]string{}
	depth, column, begin, as := 0, 0, 0, false
	for at := 0; at < len(create); {
		word, kind, n := sqlPiece(create[at:])
		switch {
		case kind == spacePiece:
			at += n
			continue
		case kind == quotedPiece:
		case word == "(":
			if depth++; depth == 2 && as {
				begin = at + n
			}
		case word == ")":
			if depth--; depth == 1 && begin > 0 {
				all[column], begin = create[begin:at], 0
			}
		case word == "," && depth == 1:
			column++
		}
		as = kind == plainPiece && strings.EqualFold(word, "as") && depth == 1
		at += n
	}
	return all
}
