package source_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"culvert/source"
)

// countdown is a source whose tables count down from a number.
type countdown struct{}

func (countdown) Table(_ context.Context, name string) (source.Rows, error) {
	if name != "ten" {
		return nil, &source.UnknownError{What: "table", Name: name, Known: []string{"ten"}}
	}
	return &countdownRows{left: 10}, nil
}

func (countdown) Query(context.Context, string) (source.Rows, error) {
	return nil, errors.New("countdown: there are no queries")
}

func (countdown) Close() error { return nil }

type countdownRows struct{ left, end int64 }

func (r *countdownRows) Columns() []source.Column {
	return []source.Column{{Name: "left", Type: "integer"}, {Name: "word"}}
}

func (r *countdownRows) Next(b *source.Batch) error {
	b.Reset(2)
	for r.left > r.end && !b.Full() {
		b.AppendInt(r.left)
		if r.left <= 3 {
			b.Append(source.Text, []byte("soon"))
		} else {
			b.AppendNull()
		}
		b.EndRow()
		r.left--
	}
	if b.Rows() == 0 {
		return io.EOF
	}
	return nil
}

func (r *countdownRows) Close() error { return nil }

// A source gives its rows in batches, which the caller may keep and use again.
func ExampleSource() {
	var src source.Source = countdown{}
	rows, err := src.Table(context.Background(), "ten")
	if err != nil {
		fmt.Println(err)
		return
	}
	var batch source.Batch
	count := 0
	for {
		err := rows.Next(&batch)
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		count += batch.Rows()
	}
	fmt.Println(count, "rows of", len(rows.Columns()), "columns", rows.Close())
	// Output: 10 rows of 2 columns <nil>
}

// printed is rows whose database prints CSV.
type printed struct{ source.Rows }

func (printed) WriteCSV(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "10,\n")
	return int64(n / len("10,\n")), err
}

// Rows say by their methods whether their database prints CSV.
func ExampleCSVWriter() {
	rows, err := countdown{}.Table(context.Background(), "ten")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rows := range []source.Rows{rows, printed{rows}} {
		csv, ok := rows.(source.CSVWriter)
		if !ok {
			fmt.Println("to be encoded")
			continue
		}
		n, err := csv.WriteCSV(os.Stdout)
		fmt.Println(n, "row", err)
	}
	// Output:
	// to be encoded
	// 10,
	// 1 row <nil>
}

// shared is rows that several readers can share.
type shared struct{ source.Rows }

func (s shared) Divide(n int) ([]source.Rows, error) {
	if n > 1 {
		return nil, &source.IndivisibleError{Reason: "there are only ten rows"}
	}
	return []source.Rows{s.Rows}, nil
}

func (s shared) Ranges(n int) (int, error) {
	_, err := s.Divide(n)
	return 1, err
}

// Several goroutines read a large table together, each its own part of the rows.
func ExampleDivider() {
	rows, err := countdown{}.Table(context.Background(), "ten")
	if err != nil {
		fmt.Println(err)
		return
	}
	parts := []source.Rows{rows}
	if divider, ok := rows.(source.Divider); ok {
		if parts, err = divider.Divide(4); err != nil {
			fmt.Println(err)
			return
		}
	}
	var reading sync.WaitGroup
	counts := make([]int, len(parts))
	for i, part := range parts {
		reading.Go(func() {
			var batch source.Batch
			for part.Next(&batch) == nil {
				counts[i] += batch.Rows()
			}
		})
	}
	reading.Wait()
	fmt.Println(counts, rows.Close())
	// Output: [10] <nil>
}

// Rows that cannot be divided can still be read as they are.
func ExampleIndivisibleError() {
	var rows source.Rows = shared{}
	_, err := rows.(source.Divider).Divide(4)
	if alone, ok := errors.AsType[*source.IndivisibleError](err); ok {
		fmt.Println("read by one, since", alone.Reason)
	}
	// Output: read by one, since there are only ten rows
}

// parted is a countdown that can be cut. Its rows are told apart by their number.
type parted struct{ countdown }

func (parted) Parts(_ context.Context, table string, s source.Selection, size int64) ([]source.Part, error) {
	const rowBytes = 4
	rows := max(1, size/rowBytes)
	var parts []source.Part
	for from := int64(1); from <= 10; from += rows {
		to := min(from+rows, 11)
		parts = append(parts, source.Part{
			Table: table, Selection: s, Range: source.Range{By: "left", From: fmt.Sprint(from), To: fmt.Sprint(to)},
			Bytes: (to - from) * rowBytes, Rows: to - from,
		})
	}
	return parts, nil
}

func (parted) Part(_ context.Context, p source.Part) (source.Rows, error) {
	to, err := strconv.ParseInt(p.Range.To, 10, 64)
	if err != nil {
		return nil, err
	}
	return &countdownRows{left: to - 1, end: to - 1 - p.Rows}, nil
}

// A table is cut into parts, which travel as data. Whoever gets one reads its rows.
func ExampleParter() {
	ctx := context.Background()
	var parter source.Parter = parted{}
	parts, err := parter.Parts(ctx, "ten", source.Selection{}, 16)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, part := range parts {
		task, err := json.Marshal(part)
		if err != nil {
			fmt.Println(err)
			return
		}
		var taken source.Part
		if err := json.Unmarshal(task, &taken); err != nil {
			fmt.Println(err)
			return
		}
		rows, err := parter.Part(ctx, taken)
		if err != nil {
			fmt.Println(err)
			return
		}
		var batch source.Batch
		for rows.Next(&batch) == nil {
			fmt.Printf("from %s to %s: %d rows\n", taken.Range.From, taken.Range.To, batch.Rows())
		}
	}
	// Output:
	// from 1 to 5: 4 rows
	// from 5 to 9: 4 rows
	// from 9 to 11: 2 rows
}

// What was read before is still good if the database proves that nothing has changed since.
func ExampleSnapshot_Same() {
	before := source.Snapshot{Token: "00000003-1", Server: "7312", Database: "shop", State: "742:742:"}
	now := source.Snapshot{Token: "00000009-1", Server: "7312", Database: "shop", State: "742:742:"}
	later := source.Snapshot{Token: "0000000A-1", Server: "7312", Database: "shop", State: "743:743:"}
	fmt.Println(now.Same(before), later.Same(before))
	// Output: true false
}

// An export whose rows are not all there must not pass for a whole one.
func ExampleCountError() {
	var err error = &source.CountError{Received: 9, Confirmed: 10}
	if count, ok := errors.AsType[*source.CountError](err); ok {
		fmt.Println(count)
		fmt.Println(count.Confirmed-count.Received, "missing")
	}
	// Output:
	// source: received 9 rows, but the database confirmed 10
	// 1 missing
}

func ExampleKind() {
	fmt.Println(source.Null, source.Text, source.Number, source.Bool, source.Bytes, source.JSON)
	// Output: null text number bool bytes json
}

func ExampleBatch() {
	var b source.Batch
	b.Reset(3)
	b.AppendInt(1)
	b.Append(source.Text, []byte("learn"))
	b.AppendFloat(0.5)
	b.EndRow()
	b.AppendInt(2)
	b.AppendNull()
	b.AppendFloat(100)
	b.EndRow()
	for row := range b.Rows() {
		for column := range b.Columns() {
			kind, value := b.Value(row, column)
			fmt.Printf("%d,%d %v %q\n", row, column, kind, value)
		}
	}
	// Output:
	// 0,0 number "1"
	// 0,1 text "learn"
	// 0,2 number "0.5"
	// 1,0 number "2"
	// 1,1 null ""
	// 1,2 number "100"
}

// A program that writes rows as they come, without compression, needs no more than small batches.
func ExampleBatch_SetLimit() {
	rows, err := countdown{}.Table(context.Background(), "ten")
	if err != nil {
		fmt.Println(err)
		return
	}
	var batch source.Batch
	batch.SetLimit(64) // 64 << 10 would do for more rows than ten
	for rows.Next(&batch) == nil {
		fmt.Println(batch.Rows(), "rows")
	}
	// Output:
	// 4 rows
	// 4 rows
	// 2 rows
}

// An UnknownError has the names for a suggestion.
func ExampleUnknownError() {
	_, err := countdown{}.Table(context.Background(), "tne")
	if unknown, ok := errors.AsType[*source.UnknownError](err); ok {
		fmt.Println(err)
		fmt.Println("there is:", unknown.Known)
	}
	// Output:
	// source: table "tne" does not exist
	// there is: [ten]
}
