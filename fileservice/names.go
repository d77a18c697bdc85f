package fileservice

import (
	"regexp"
	"strings"
)

// The ends of the names of unfinished files, which no file that is transferred may have.
const (
	partSuffix    = ".culvert.part"
	journalSuffix = ".culvert.journal"
	draftSuffix   = ".culvert.draft"
)

const errReserved = unfitError("the name is one of those for unfinished files")

// isReserved ignores case, as file systems may.
func isReserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, partSuffix) || strings.HasSuffix(name, journalSuffix) ||
		strings.HasSuffix(name, draftSuffix)
}

// isDraft reports whether it is a name that draftName gives. A server does not show those; another file that merely
// ends so is the user's.
func isDraft(name string) bool { return draftPattern.MatchString(name) }

var draftPattern = regexp.MustCompile(`\.[a-z2-7]{12}` + regexp.QuoteMeta(draftSuffix) + `$`)
