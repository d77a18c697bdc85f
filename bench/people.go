package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"culvert/source"
)

// people are made-up rows as programs that export personal data have them: an id, two names, an address of mail, a
// city, an IP address, a phone number and a date, in 85 bytes of CSV on average. There are a thousand of them, taken in
// turn and over again, so that writing them is not making them: too many for gzip to find one in its window again.
type people struct {
	records [][]string
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

// newPeople makes the same people each time.
func newPeople() people {
	var (
		random = rand.New(rand.NewPCG(1, 1))
		first  = []string{"Ada", "Bruno", "Chiara", "Dmitri", "Edda", "Farid", "Grace", "Hana", "Ines", "Jonas", "Zoë"}
		last   = []string{"Almeida", "Bergström", "Costa", "Dubois", "Eriksen", "Fischer", "O'Neill", "Şahin", "Weber"}
		cities = []string{"Lisboa", "São Paulo", "Gent", "Kraków", "Nairobi", "Osaka", "Portland, OR", `Sankt "Pete"`}
		hosts  = []string{"example.com", "example.org", "mail.example", "post.example.net"}
	)
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	var p people
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
		p.records, p.values = append(p.records, record), append(p.values, values)
	}
	return p
}

// writeCSV writes so many rows by encoding/csv.
func (p people) writeCSV(dst io.Writer, rows int) error {
	w := csv.NewWriter(dst)
	for i := range rows {
		if err := w.Write(p.records[i%len(p.records)]); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// peopleSource is a database that has people in memory, in whatever table it is asked for.
type peopleSource struct {
	people
	rows int
	next int
}

func (s *peopleSource) Table(context.Context, string) (source.Rows, error) { return s, nil }

func (s *peopleSource) Query(context.Context, string) (source.Rows, error) {
	return nil, errors.New("people: there is no SQL")
}

func (s *peopleSource) Columns() []source.Column { return peopleColumns }

func (s *peopleSource) Next(b *source.Batch) error {
	if s.next == s.rows {
		return io.EOF
	}
	b.Reset(len(peopleColumns))
	for ; s.next < s.rows && !b.Full(); s.next++ {
		row := s.values[s.next%len(s.values)]
		b.Append(source.Number, row[0])
		for _, text := range row[1:] {
			b.Append(source.Text, text)
		}
		b.EndRow()
	}
	return nil
}

func (s *peopleSource) Close() error { return nil }
