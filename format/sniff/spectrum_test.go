package sniff_test

import (
	"io"
	"strings"
	"testing"

	"culvert/format"
	"culvert/format/sniff"
)

// spectrum are the cases of csv-spectrum (https://github.com/maxogden/csv-spectrum), written anew: texts that readers
// of CSV get wrong, and the rows as [format.CSV] writes them.
var spectrum = []struct{ name, text, want string }{
	{
		"comma in quotes", "first,last,address,city,zip\nAda,Byron,12 Mill St.,\"Oak, Ash\",08123\n",
		"first,last,address,city,zip\nAda,Byron,12 Mill St.,\"Oak, Ash\",08123\n",
	},
	{"empty", "a,b,c\n1,\"\",\"\"\n2,3,4\n", "a,b,c\n1,\"\",\"\"\n2,3,4\n"},
	{"empty, CR LF", "a,b,c\r\n1,\"\",\"\"\r\n2,3,4\r\n", "a,b,c\n1,\"\",\"\"\n2,3,4\n"},
	{"escaped quotes", "a,b\n1,\"so \"\"it\"\" is\"\n3,4\n", "a,b\n1,\"so \"\"it\"\" is\"\n3,4\n"},
	{
		"JSON", "key,val\n1,\"{\"\"type\"\": \"\"Point\"\", \"\"coordinates\"\": [10.5, 0.25]}\"\n",
		"key,val\n1,\"{\"\"type\"\": \"\"Point\"\", \"\"coordinates\"\": [10.5, 0.25]}\"\n",
	},
	{
		"coordinates", "id,at\n1,\"59°19'45\"\"N, 18°04'07\"\"E\"\n2,\"48.8, 2.3\"\n",
		"id,at\n1,\"59°19'45\"\"N, 18°04'07\"\"E\"\n2,\"48.8, 2.3\"\n",
	},
	{
		"newlines", "a,b,c\n1,2,3\n\"Once upon \na time\",5,6\n7,8,9\n",
		"a,b,c\n1,2,3\n\"Once upon \na time\",5,6\n7,8,9\n",
	},
	{
		"newlines, CR LF", "a,b,c\r\n1,2,3\r\n\"Once upon \r\na time\",5,6\r\n7,8,9\r\n",
		"a,b,c\n1,2,3\n\"Once upon \r\na time\",5,6\n7,8,9\n",
	},
	{
		"quotes and newlines", "a,b\n1,\"so \n\"\"it\"\" \nis\"\n3,4\n", "a,b\n1,\"so \n\"\"it\"\" \nis\"\n3,4\n",
	},
	{"simple", "a,b,c\n1,2,3\n", "a,b,c\n1,2,3\n"},
	{"simple, CR LF", "a,b,c\r\n1,2,3\r\n", "a,b,c\n1,2,3\n"},
	{"UTF-8", "a,b,c\n1,2,3\n4,5,ʤ\n", "a,b,c\n1,2,3\n4,5,ʤ\n"},
}

// TestSpectrum reads each case with the settings that are guessed.
func TestSpectrum(t *testing.T) {
	for _, test := range spectrum {
		guess, err := sniff.CSV([]byte(test.text), true)
		if err != nil || guess.Problem != nil {
			t.Errorf("%s: %v, %v", test.name, err, guess.Problem)
			continue
		}
		d, _, err := format.ParseDialect(guess.Settings())
		if err != nil {
			t.Fatal(test.name, err)
		}
		r, err := d.Reader(strings.NewReader(test.text))
		if err != nil {
			t.Fatal(test.name, err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != test.want {
			t.Errorf("%s: by %q it is %q, %v, want %q", test.name, guess.Settings(), got, err, test.want)
		}
	}
}
