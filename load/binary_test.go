package load_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// asBinary makes the tables those of text whose rows have a binary form too: the length of a line, and the line. Rows
// with the word odd in them have none.
type asBinary struct{ *memory }

func (m asBinary) Table(ctx context.Context, name string, f sink.Filling) (sink.Table, error) {
	table, err := m.begin(ctx, name, f, format.CSV{})
	if err != nil {
		return nil, err
	}
	for i, loader := range table.loaders {
		table.loaders[i] = binaryLoader{textLoader{loader.(*memoryLoader)}}
	}
	return binaryTable{textTable{table, format.CSV{}}}, nil
}

type binaryTable struct{ textTable }

func (t binaryTable) AppendBinary(dst []byte, b *source.Batch) ([]byte, bool) {
	encoder, err := format.CSV{}.Encoder(t.Columns())
	if err != nil {
		return dst, false
	}
	text, err := encoder.AppendRows(nil, b)
	if err != nil {
		return dst, false
	}
	return t.AppendTextAsBinary(dst, text)
}

func (t binaryTable) AppendTextAsBinary(dst, text []byte) ([]byte, bool) {
	if bytes.Contains(text, []byte("odd")) {
		return dst, false
	}
	for _, row := range rowsOf(text) {
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(row))), row...)
	}
	return dst, true
}

type binaryLoader struct{ textLoader }

func (l binaryLoader) LoadBinary(r io.Reader) error {
	rows, err := io.ReadAll(r)
	if err != nil {
		l.err = err
		return err
	}
	for row := int64(1); len(rows) > 0; row++ {
		end := 4 + binary.BigEndian.Uint32(rows)
		if err := l.add(string(rows[4:end]), &sink.RowError{Table: "t", Row: row}); err != nil {
			return err
		}
		rows = rows[end:]
	}
	return l.check()
}

var randomFormats = []struct {
	name string
	of   format.Readable
	line func(id int, text string) string
}{
	{"CSV", format.CSV{}, func(id int, text string) string {
		return fmt.Sprintf("%d,\"%s\"\n", id, strings.ReplaceAll(text, `"`, `""`))
	}},
	{"JSONL", format.JSONL{}, func(id int, text string) string {
		return fmt.Sprintf("{\"id\":%d,\"title\":%q}\n", id, text)
	}},
}

// TestForms loads files of rows some of which have no binary form. All arrive, and one that is refused has its row and
// its line, whatever form the rows before it had.
func TestForms(t *testing.T) {
	for seed := range uint64(30) {
		for _, f := range randomFormats {
			t.Run(fmt.Sprintf("%s/%d", f.name, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				var file strings.Builder
				if f.of == (format.CSV{}) {
					file.WriteString("id,title\n")
				}
				rows, size := 1+random.IntN(400), 1<<random.IntN(15)
				refused, oddity, line := random.IntN(2*rows), []int{0, 10, 200}[random.IntN(3)], 0
				var want []string
				for i := range rows {
					text := strings.Repeat("x\n"[:1+random.IntN(2)], random.IntN(size))
					if oddity > 0 && random.IntN(oddity) == 0 {
						text += "odd"
					}
					file.WriteString(f.line(i, text))
					want = append(want, randomFormats[0].line(i, text))
					if i == refused {
						line = strings.Count(file.String(), "\n")
					}
				}
				db := newMemory("t")
				db.refuse = func(row string) error {
					if strings.HasPrefix(row, fmt.Sprint(refused, ",")) {
						return errors.New("refused")
					}
					return nil
				}
				plan := load.Plan{Loaders: 1 + random.IntN(3), Jobs: 2}
				_, err := plan.Text(t.Context(), asBinary{db}, strings.NewReader(file.String()), "t", f.of, "t")
				if refused < rows {
					at, is := errors.AsType[*sink.RowError](err)
					isWrongLine := is && f.of == (format.CSV{}) && at.Line != 0 && at.Line != int64(line)
					if !is || at.Row != int64(refused+1) || isWrongLine {
						t.Errorf("row %d at line %d is refused as %+v", refused+1, line, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				checkForms(t, db, want)
			})
		}
	}
}

func checkForms(t *testing.T, db *memory, want []string) {
	t.Helper()
	got := db.sorted("t")
	for i, row := range got {
		for _, one := range rowsOf([]byte(row)) {
			if parts := strings.SplitN(one, ",", 2); len(parts) == 2 && !strings.HasPrefix(parts[1], `"`) {
				got[i] = parts[0] + ",\"" + strings.TrimSuffix(parts[1], "\n") + "\"\n"
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d rows arrive, of %d", len(got), len(want))
	}
}

// TestFormsInBlock has a block of several batches, of which the last has no binary form.
func TestFormsInBlock(t *testing.T) {
	const rows, odd = 60_000, 51_000 // the first block has about 52,000 rows, and its first batch 45,000
	var file strings.Builder
	for i := range rows {
		title := ""
		if i == odd {
			title = "odd"
		}
		file.WriteString(randomFormats[1].line(i, title))
	}
	for _, refused := range []int{1, 10_000, odd - 1, odd, odd + 1, rows - 1, rows} {
		db := newMemory("t")
		db.refuse = func(row string) error {
			if strings.HasPrefix(row, fmt.Sprint(refused, ",")) {
				return errors.New("refused")
			}
			return nil
		}
		var plan load.Plan
		_, err := plan.Text(t.Context(), asBinary{db}, strings.NewReader(file.String()), "t", format.JSONL{}, "t")
		at, is := errors.AsType[*sink.RowError](err)
		switch {
		case is != (refused < rows), is && at.Row != int64(refused+1):
			t.Errorf("row %d is refused as %v", refused+1, err)
		case !is && (err != nil || len(db.sorted("t")) != rows):
			t.Errorf("%d rows arrive, and the error %v", len(db.sorted("t")), err)
		}
	}
}
