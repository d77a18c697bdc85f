package format_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"culvert/format"
	"culvert/source"
)

// output returns two rows in a format, or the error.
func output(f format.Format) string {
	columns := []source.Column{{Name: "id"}, {Name: "title"}, {Name: "note"}}
	var rows source.Batch
	rows.Reset(len(columns))
	rows.AppendInt(1)
	rows.Append(source.Text, []byte("water, still"))
	rows.AppendNull()
	rows.EndRow()
	rows.AppendInt(2)
	rows.Append(source.Text, []byte("stone"))
	rows.Append(source.Text, nil)
	rows.EndRow()

	encoder, err := f.Encoder(columns)
	if err != nil {
		return err.Error()
	}
	out, err := encoder.AppendRows(encoder.AppendHeader(nil), &rows)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// A source fills batches, and an encoder appends their rows.
func Example() {
	var f format.Format = format.JSONL{}
	encoder, err := f.Encoder([]source.Column{{Name: "id"}, {Name: "done"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var batch source.Batch
	out := encoder.AppendHeader(nil)
	for id := range 3 {
		batch.Reset(2)
		batch.AppendInt(int64(id))
		batch.Append(source.Bool, []byte("t"))
		batch.EndRow()
		if out, err = encoder.AppendRows(out, &batch); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("%sgoes to a file *%s\n", out, f.Extension())
	// Output:
	// {"id":0,"done":true}
	// {"id":1,"done":true}
	// {"id":2,"done":true}
	// goes to a file *.jsonl
}

func ExampleCSV() {
	fmt.Print(output(format.CSV{}))
	// Output:
	// id,title,note
	// 1,"water, still",
	// 2,stone,""
}

func ExampleParseDialect() {
	d, encoding, err := format.ParseDialect("delimiter=;,null=NULL,encoding=latin1")
	if err != nil {
		fmt.Println(err)
		return
	}
	encoder, err := d.Encoder([]source.Column{{Name: "id"}, {Name: "title"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var batch source.Batch
	batch.Reset(2)
	batch.AppendInt(7)
	batch.AppendNull()
	batch.EndRow()
	text, err := encoder.AppendRows(encoder.AppendHeader(nil), &batch)
	fmt.Printf("%s%s %v\n", text, encoding, err)
	// Output:
	// id;title
	// 7;NULL
	// latin1 <nil>
}

func ExampleJSONL() {
	fmt.Print(output(format.JSONL{}))
	// Output:
	// {"id":1,"title":"water, still","note":null}
	// {"id":2,"title":"stone","note":""}
}

// Some databases return text that is not UTF-8. There are three ways to handle it.
func ExampleInvalidUTF8() {
	var rows source.Batch
	rows.Reset(1)
	rows.Append(source.Text, []byte("caf\xe9"))
	rows.EndRow()
	for _, policy := range []format.InvalidUTF8{format.ErrorOnInvalid, format.ReplaceInvalid, format.Base64Invalid} {
		encoder, err := format.JSONL{InvalidUTF8: policy}.Encoder([]source.Column{{Name: "place"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		out, err := encoder.AppendRows(nil, &rows)
		if invalid, ok := errors.AsType[*format.InvalidUTF8Error](err); ok {
			fmt.Println(invalid)
			continue
		}
		fmt.Print(string(out))
	}
	// Output:
	// format: column "place", row 1: not valid UTF-8 at byte 3 of the value
	// {"place":"caf�"}
	// {"place":{"base64":"Y2Fm6Q=="}}
}

func ExampleText() {
	fmt.Print(output(format.Text{Line: "{ID: {id}, Title: {title}, Note: {note}},"}))
	// Output:
	// {ID: 1, Title: water, still, Note: NULL},
	// {ID: 2, Title: stone, Note: },
}

// The empty line lists every column.
func ExampleText_default() {
	fmt.Print(output(format.Text{}))
	// Output:
	// {id: 1, title: water, still, note: NULL},
	// {id: 2, title: stone, note: },
}

// A file of another program, whose columns are known, is read block by block.
func ExampleDecoder() {
	file := strings.NewReader("\ufeffid;title\r\n1;water\r\n2;\r\n")
	dialect := format.Dialect{Delimiter: ";"}
	text, err := dialect.Reader(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fields := []format.Field{{Name: "id", Kind: source.Number}, {Name: "title", Kind: source.Text}}
	decoder, err := dialect.Decoder(fields)
	if err != nil {
		fmt.Println(err)
		return
	}
	splitter := format.NewSplitter(text, dialect, 0)
	block, _, err := splitter.Next(make([]byte, 0, 1<<20))
	if err != nil {
		fmt.Println(err)
		return
	}
	names, n, err := dialect.Header(block)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(names)
	var batch source.Batch
	for text := block[n:]; len(text) > 0; text = text[n:] {
		if n, err = decoder.Decode(&batch, text); err != nil {
			fmt.Println(err)
			return
		}
		for row := range batch.Rows() {
			for column := range batch.Columns() {
				kind, value := batch.Value(row, column)
				fmt.Printf("%v %q\n", kind, value)
			}
		}
	}
	// Output:
	// [id title]
	// number "1"
	// text "water"
	// number "2"
	// null ""
}

// Text that is not a row is an error with its place.
func ExampleRowError() {
	decoder, err := format.JSONL{}.Decoder([]format.Field{{Name: "id"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var batch source.Batch
	_, err = decoder.Decode(&batch, []byte(`{"id":1}`+"\n"+`{"id":2,"note":"x"}`+"\n"))
	if bad, ok := errors.AsType[*format.RowError](err); ok {
		fmt.Println(bad.Row, bad.Column)
	}
	fmt.Println(err)
	// Output:
	// 2 note
	// format: row 2, column "note": there is no such column
}

// Several goroutines could take the blocks, whose rows are whole.
func ExampleSplitter() {
	rows := strings.Repeat("1,\"a\nb\"\n", 1000)
	splitter := format.NewSplitter(strings.NewReader(rows), format.CSV{}, 0)
	for {
		block, rows, err := splitter.Next(make([]byte, 0, 4<<10))
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rows, "rows of", len(block), "bytes")
	}
	// Output:
	// 512 rows of 4096 bytes
	// 488 rows of 3904 bytes
}
