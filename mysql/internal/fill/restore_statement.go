package fill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/sink"
	"culvert/source"
)

// step is a statement that makes something, with the settings that the statement before it has made.
type step struct {
	key   string // by which the table of the restoration knows it
	after bool
	sql   string
	with  settings
}

// settings are those that the meaning of a statement depends on.
type settings struct {
	session  session
	database string // the collation of the database, or "" for what it has
}

// session are the settings of the session; "" for those of the sink.
type session struct{ sqlMode, client, connection, zone string }

// A name in SQL, whatever the SQL mode, and a word of the server.
const (
	inSQL = "(?:`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\\pL\\pN_$]+)"
	word  = `[A-Za-z0-9_]+`
	by    = "(?:DEFINER=" + inSQL + "(?:@(?:" + inSQL + "|``|\"\"))? )?"
)

// makes matches the statements that a schema has. None of them names another database as the place of what it makes,
// and no function is loaded from a library. What follows the name is not looked at.
var makes = lazyregexp.New(`^(?:` +
	"CREATE SEQUENCE `(?:[^`]|``)+` |" +
	"DO SETVAL\\(`(?:[^`]|``)+`, -?[0-9]+, [01], [0-9]+\\)$|" +
	"ALTER TABLE `(?:[^`]|``)+` ALTER COLUMN `(?:[^`]|``)+` SET DEFAULT \\(?nextval\\(`(?:[^`]|``)+`\\)\\)?$|" +
	`CREATE (?:ALGORITHM=[A-Z]+ )?` + by + `(?:SQL SECURITY [A-Z]+ )?VIEW ` + inSQL + ` (?:AS|\()|` +
	`CREATE ` + by + `(?:` +
	`(?:AGGREGATE )?FUNCTION ` + inSQL + `\s*\(|PROCEDURE ` + inSQL + `\s*\(|PACKAGE (?:BODY )?` + inSQL + `\s|` +
	`TRIGGER ` + inSQL + ` (?:BEFORE|AFTER) |EVENT ` + inSQL + ` ON SCHEDULE ` +
	`))`)

// sequence matches a statement that makes a sequence.
var sequence = lazyregexp.New("^CREATE SEQUENCE (`(?:[^`]|``)+`) ")

// sets matches a statement that makes settings.
var sets = lazyregexp.New(`^SET SESSION sql_mode = '([A-Z0-9_,]*)', character_set_client = (` + word +
	`), collation_connection = (` + word + `)(?:, collation_database = (` + word + `))?` +
	`(?:, time_zone = '([A-Za-z0-9_/+:-]+)')?$`)

// stepsOf returns the statements of a schema that make something. It refuses others.
func stepsOf(statements []source.Statement) (steps []step, err error) {
	with := map[bool]settings{}
	for _, s := range statements {
		if set := sets.FindStringSubmatch(s.SQL); set != nil {
			with[s.After] = settings{session{set[1], set[2], set[3], set[5]}, set[4]}
			continue
		}
		sum := sha256.Sum256([]byte(s.SQL))
		one := step{hex.EncodeToString(sum[:16]), s.After, s.SQL, with[s.After]}
		client := one.with.session.client
		isASCII := strings.IndexFunc(s.SQL, func(r rune) bool { return r > '\x7f' }) < 0
		switch {
		case !makes.MatchString(s.SQL):
			return nil, fmt.Errorf("mysql: this makes nothing that a schema of MySQL or MariaDB has: %s",
				sink.Shorten(s.SQL))
		case !isASCII && client != "" && !strings.HasPrefix(client, "utf8"):
			return nil, fmt.Errorf("mysql: this is UTF-8, and to be read as %s: %s", client, sink.Shorten(s.SQL))
		}
		steps = append(steps, one)
	}
	return steps, nil
}

// sql returns the statements that make the settings. MySQL 8 has no NO_AUTO_CREATE_USER, which older versions and
// MariaDB have by default, and which has no meaning for a statement of a schema.
func (s session) sql(isMariaDB bool) []string {
	if s == (session{}) {
		return []string{"SET NAMES utf8mb4", settingsSQL}
	}
	var modes []string
	for mode := range strings.SplitSeq(s.sqlMode, ",") {
		if isMariaDB || mode != "NO_AUTO_CREATE_USER" {
			modes = append(modes, mode)
		}
	}
	return []string{"SET SESSION sql_mode = '" + strings.Join(modes, ",") + "', character_set_client = " + s.client +
		", collation_connection = " + s.connection + ", time_zone = '" + cmp.Or(s.zone, "+00:00") + "'"}
}
