package fileservice

import (
	"regexp"
	"strings"

	"culvert/internal/lazyregexp"
)

// Suffixes of unfinished files, which the names of transferred files must not have.
const (
	PartSuffix    = ".culvert.part"
	JournalSuffix = ".culvert.journal"
	DraftSuffix   = ".culvert.draft"
)

// ErrReserved is an fs.ErrInvalid: the name has the suffix of an unfinished file.
const ErrReserved = unfitError("the name is one of those for unfinished files")

// IsReserved reports whether name has the suffix of an unfinished file. It ignores case, as file systems may.
func IsReserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, PartSuffix) || strings.HasSuffix(name, JournalSuffix) ||
		strings.HasSuffix(name, DraftSuffix)
}

// IsDraft reports whether a draft could have this name. Servers hide such files. A file with any other name that ends
// in DraftSuffix belongs to the user.
func IsDraft(name string) bool { return draftPattern.MatchString(name) }

var draftPattern = lazyregexp.New(`\.[a-z2-7]{12}` + regexp.QuoteMeta(DraftSuffix) + `$`)
