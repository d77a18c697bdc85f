package harness

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"culvert/source"
)

// People are made-up rows as programs that export personal data have them: an id, two names, an address of mail, a
// city, an IP address, a phone number and a date, in 85 bytes of CSV on average. There are a thousand of them, taken in
// turn and over again, so that writing them is not making them: too many for gzip to find one in its window again.
type People struct {
	Records [][]string
	values  [][][]byte // the same
}

var peopleColumns = []source.Column{
	{Name: "id"},
	{Name: "first_name"},
	{Name: "last_name"},
	{Name: "email"},
	{Name: "city"},
	{Name: "ip_address"},
	{Name: "phone"},
	{Name: "joined"},
}

// NewPeople makes the same people each time.
func NewPeople() People {
	var (
		random = rand.New(rand.NewPCG(1, 1))
		first  = []string{"Ada", "Bruno", "Chiara", "Dmitri", "Edda", "Farid", "Grace", "Hana", "Ines", "Jonas", "Zoë"}
		last   = []string{"Almeida", "Bergström", "Costa", "Dubois", "Eriksen", "Fischer", "O'Neill", "Şahin", "Weber"}
		cities = []string{"Lisboa", "São Paulo", "Gent", "Kraków", "Nairobi", "Osaka", "Portland, OR", `Sankt "Pete"`}
		hosts  = []string{"example.com", "example.org", "mail.example", "post.example.net"}
	)
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	var p People
	for i := range 1_000 {
		record := []string{
			strconv.Itoa(i + 1),
			pick(first),
			pick(last),
			fmt.Sprintf("%c%s%d@%s", 'a'+rune(random.IntN(26)), strconv.FormatUint(random.Uint64N(1<<40), 36),
				random.IntN(100), pick(hosts)),
			pick(cities),
			fmt.Sprintf("%d.%d.%d.%d", random.IntN(256), random.IntN(256), random.IntN(256), random.IntN(256)),
			fmt.Sprintf("%08d", random.IntN(1e8)),
			fmt.Sprintf("20%02d-%02d-%02d", random.IntN(26), 1+random.IntN(12), 1+random.IntN(28)),
		}
		var values [][]byte
		for _, text := range record {
			values = append(values, []byte(text))
		}
		p.Records, p.values = append(p.Records, record), append(p.values, values)
	}
	return p
}

// WriteCSV writes rows with encoding/csv.
func (p People) WriteCSV(dst io.Writer, rows int) error {
	w := csv.NewWriter(dst)
	for i := range rows {
		if err := w.Write(p.Records[i%len(p.Records)]); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// Size returns the number of bytes that WriteCSV writes.
func (p People) Size(rows int) int64 {
	var all, rest bytes.Buffer
	_ = p.WriteCSV(&all, len(p.Records)) // a buffer takes it all
	_ = p.WriteCSV(&rest, rows%len(p.Records))
	return int64(rows/len(p.Records))*int64(all.Len()) + int64(rest.Len())
}

// PeopleSource is a database that has people in memory, in whatever table it is asked for.
type PeopleSource struct {
	People
	Rows int
	next int
}

// Table returns the people again.
func (s *PeopleSource) Table(context.Context, string) (source.Rows, error) { return s, nil }

// Query fails.
func (s *PeopleSource) Query(context.Context, string) (source.Rows, error) {
	return nil, errors.New("people: there is no SQL")
}

// Columns describes the people.
func (s *PeopleSource) Columns() []source.Column { return peopleColumns }

// Next fills the batch with the next people.
func (s *PeopleSource) Next(b *source.Batch) error {
	if s.next == s.Rows {
		return io.EOF
	}
	b.Reset(len(peopleColumns))
	for ; s.next < s.Rows && !b.Full(); s.next++ {
		row := s.values[s.next%len(s.values)]
		b.Append(source.Number, row[0])
		for _, text := range row[1:] {
			b.Append(source.Text, text)
		}
		b.EndRow()
	}
	return nil
}

// Close does nothing.
func (s *PeopleSource) Close() error { return nil }
