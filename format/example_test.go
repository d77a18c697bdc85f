package format_test

import (
	"fmt"

	"culvert/format"
	"culvert/source"
)

// output gives two rows in a format, or the error.
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

func ExampleCSV() {
	fmt.Print(output(format.CSV{}))
	// Output:
	// id,title,note
	// 1,"water, still",
	// 2,stone,""
}

func ExampleJSONL() {
	fmt.Print(output(format.JSONL{}))
	// Output:
	// {"id":1,"title":"water, still","note":null}
	// {"id":2,"title":"stone","note":""}
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
