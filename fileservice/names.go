package fileservice

import (
	"regexp"
	"strings"
)

// The endings of the names of unfinished files. No transferred file may have such a name.
const (
	PartSuffix    = ".culvert.part"
	JournalSuffix = ".culvert.journal"
	DraftSuffix   = ".culvert.draft"
)

// ErrReserved is the error for a file whose name is reserved; see [IsReserved].
const ErrReserved = unfitError("the name is one of those for unfinished files")

// IsReserved reports whether a name has the ending of an unfinished file. It ignores case, as file systems may.
func IsReserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, PartSuffix) || strings.HasSuffix(name, JournalSuffix) ||
		strings.HasSuffix(name, DraftSuffix)
}

// IsDraft reports whether a name has the form of a draft's name, NAME.RANDOM.culvert.draft. A server hides such files.
// A name that only has the ending belongs to a user's file.
func IsDraft(name string) bool { return draftPattern.MatchString(name) }

var draftPattern = regexp.MustCompile(`\.[a-z2-7]{12}` + regexp.QuoteMeta(DraftSuffix) + `$`)
