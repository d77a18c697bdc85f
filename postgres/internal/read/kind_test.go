package read_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
)

// printedSQL makes tables of what is printed here in place of the server: all that is special, each day around the
// turns of years and centuries, and values from the whole range.
const printedSQL = `
CREATE DOMAIN moment AS timestamptz;
CREATE TABLE special (t timestamp, z timestamptz, d date, u uuid, m moment);
INSERT INTO special (t, z, d) VALUES
	('infinity', 'infinity', 'infinity'), ('-infinity', '-infinity', '-infinity'), (NULL, NULL, NULL),
	('2000-01-01', '2000-01-01 00:00+00', '2000-01-01'),
	('1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00', '1999-12-31'),
	('0001-01-01', '0001-01-01 00:00+00', '0001-01-01'),
	('0001-12-31 23:59:59.999999 BC', '0001-12-31 23:59:59.999999+00 BC', '0001-12-31 BC'),
	('4713-11-24 BC', '4714-11-24 00:00+00 BC', '4714-11-24 BC'),
	('9999-12-31 23:59:59.9', '9999-12-31 23:59:59.9+00', '9999-12-31'),
	('10000-01-01', '10000-01-01 00:00+00', '10000-01-01'),
	('294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00', '5874897-12-31');
INSERT INTO special (u) VALUES ('00000000-0000-0000-0000-000000000000'), ('FFFFFFFF-ffff-ffff-ffff-ffffffffffff'),
	('{01234567-89ab-cdef-0123-456789abcdef}');
INSERT INTO special (m) VALUES ('2024-02-29 12:00:00.5+05:30');
CREATE TABLE days AS SELECT d, d::timestamp AS t FROM (VALUES
	(date '0001-01-01'), ('0097-01-01 BC'), ('0400-02-28 BC'), ('1582-10-10'), ('1900-01-01'), ('2000-01-01'),
	('2100-01-01'), ('10000-01-01')) AS around(day),
	generate_series(-800, 800) AS i, LATERAL (SELECT day + i AS d) AS x;
SELECT setseed(0.5);
CREATE TABLE random AS SELECT
	timestamp '4713-01-01 BC' + make_interval(days => (random() * 1e8)::int,
		secs => round((random() * 86400)::numeric, i % 8)::float8) AS t,
	timestamptz '1700-01-01' + make_interval(secs => round((random() * 2e10)::numeric, i % 8)::float8) AS z,
	date '4713-01-01 BC' + (random() * 2.147e9)::int AS d, md5(i::text)::uuid AS u
	FROM generate_series(1, 20000) AS i`

// TestPrintedAsByServer compares the text of times and UUIDs with that of the server.
func TestPrintedAsByServer(t *testing.T) {
	_, database := openNew(t, printedSQL)
	database.Exec(t, strings.ReplaceAll(hostileSQL, "%s", database.Name))
	db := openAgain(t, database.ConnString())
	for name, rows := range map[string]int{"special": 15, "days": 8 * 1601, "random": 20_000} {
		want, got := copied(t, table(t, db, name)), encoded(t, table(t, db, name))
		if lines := strings.Count(want, "\n") - 1; lines != rows {
			t.Errorf("%s: %d lines", name, lines)
		}
		if got != want {
			t.Errorf("%s: %s", name, difference(got, want))
		}
	}
}

// TestPrintedOfOtherLength has a server send values that are not of their type.
func TestPrintedOfOtherLength(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	for _, value := range []string{"now()", "localtimestamp", "current_date", "gen_random_uuid()"} {
		var querying atomic.Bool
		p := newProxy(t, server, func(m message) ([]byte, error) {
			if m.kind() == 'D' && querying.Load() {
				return newMessage('D', "\x00\x01\x00\x00\x00\x03abc"), nil
			}
			return m, nil
		})
		rows := query(t, openAgain(t, p.connString(database.Name)), "SELECT "+value+" AS wrong")
		querying.Store(true)
		if n, err := drain(rows); n != 0 || err == nil || !strings.Contains(err.Error(), `3 bytes for column "wrong"`) {
			t.Errorf("%s: %d rows and the error %v", value, n, err)
		}
	}
}

// FuzzPrintTimestamp reads back what is printed.
func FuzzPrintTimestamp(f *testing.F) {
	for _, micros := range []int64{0, -1, 1, 999_999, -63082281600000000, 252455616000000000, math.MaxInt64} {
		f.Add(micros)
	}
	f.Fuzz(func(t *testing.T, micros int64) {
		text := read.PrintTimestampTZ(binary.BigEndian.AppendUint64(nil, uint64(micros)))
		switch micros {
		case math.MaxInt64, math.MinInt64:
			if strings.TrimPrefix(text, "-") != "infinity" {
				t.Errorf("%d is %s", micros, text)
			}
			return
		}
		rest, isBefore := strings.CutSuffix(text, " BC")
		rest, inUTC := strings.CutSuffix(rest, "+00")
		whole, fraction, _ := strings.Cut(rest, ".")
		var year, month, day, hour, minute, second, fractional int
		_, err := fmt.Sscanf(whole, "%d-%02d-%02d %02d:%02d:%02d", &year, &month, &day, &hour, &minute, &second)
		if err == nil && fraction != "" {
			_, err = fmt.Sscanf((fraction + "000000")[:6], "%06d", &fractional)
		}
		if err != nil || !inUTC || year < 1 || strings.IndexByte(text, '-') < 4 || strings.HasSuffix(fraction, "0") {
			t.Fatalf("%d is %s: %v", micros, text, err)
		}
		if isBefore {
			year = 1 - year
		}
		read := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
		since := read.Unix() - time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		if since*1_000_000+int64(fractional) != micros {
			t.Errorf("%d is %s", micros, text)
		}
	})
}
