package sniff_test

import (
	"fmt"

	"culvert/format/sniff"
)

func ExampleCSV() {
	beginning := []byte("Nr;Name;Gezahlt\r\n1;\"M\xfcller; S\xf6hne\";2026-11-29\r\n2;Weber;NULL\r\n")
	guess, err := sniff.CSV(beginning, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(guess.Settings())
	for _, column := range guess.Columns {
		fmt.Printf("%s: %s, %d NULL\n", column.Name, column.Type, column.Null)
	}
	// Output:
	// delimiter=;,null=NULL,encoding=windows-1252
	// Nr: integer, 0 NULL
	// Name: text, 0 NULL
	// Gezahlt: date, 1 NULL
}
