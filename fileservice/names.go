package fileservice

import (
	"regexp"
	"strings"
)

// The ends of the names of unfinished files, which no file that is transferred may have.
const (
	PartSuffix    = ".culvert.part"
	JournalSuffix = ".culvert.journal"
	DraftSuffix   = ".culvert.draft"
)

const ErrReserved = unfitError("the name is one of those for unfinished files")

// IsReserved ignores case, as file systems may.
func IsReserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, PartSuffix) || strings.HasSuffix(name, JournalSuffix) ||
		strings.HasSuffix(name, DraftSuffix)
}

// IsDraft reports whether it is a name that draftName gives. A server does not show those; another file that merely
// ends so is the user's.
func IsDraft(name string) bool { return draftPattern.MatchString(name) }

var draftPattern = regexp.MustCompile(`\.[a-z2-7]{12}` + regexp.QuoteMeta(DraftSuffix) + `$`)
