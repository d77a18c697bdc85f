package sniff_test

import (
	"cmp"
	"strings"
	"testing"

	"culvert/format/sniff"
	"culvert/internal/testkit"
)

// kind is a text of a kind that the tests of the sniffers of DuckDB and of frictionless have, with other rows.
type kind struct {
	name, text string

	settings, columns string
	problem           string // a part of it

	// duck is why DuckDB finds another delimiter, header, or number of columns, or other types; "" if it does not.
	duck string
}

var kinds = []kind{
	// Dialects.
	{
		name: "spaces in texts", text: "7,water,a pebble\n8,stone,at the end \n9,sand,none\n",
		settings: "header=no", columns: " integer,  text,  text",
	},
	{
		name: "quotes with a delimiter and a quote",
		text: "7,water,\"a pebble\"\n8,stone,\"at the end, \"\n9,sand,\"the \"\"x\"\"\"\n", settings: "header=no",
		columns: " integer,  text,  text",
	},
	{
		name: "numbers after spaces", text: "7, water,a\n 8, stone,b\n  9, sand,c\n", settings: "header=no,trim",
		columns: " integer,  text,  text",
	},
	{
		name: "pipes, with quotes", text: "7|water|\"a\"\n8|stone|\"b|\"\n9|sand|\"c\"\n",
		settings: "delimiter=|,header=no", columns: " integer,  text,  text",
	},
	{
		name: "pipes, escapes in quotes", text: "7|water|\"a\"\n8|stone|\"b \\\"2\\\"\"\n9|sand|\"c\"\n",
		settings: "delimiter=|,escape=\\,escapes=quoted,header=no", columns: " integer,  text,  text",
	},
	{
		name: "semicolons, escapes in quotes", text: "7;water;\"a\"\n8;stone;\"b \\\"2\\\" c\"\n9;sand;\"c\"\n",
		settings: "delimiter=;,escape=\\,escapes=quoted,header=no", columns: " integer,  text,  text",
	},
	{
		name: "tabs, single quotes", text: "7\twater\t'a'\n8\tstone\t'b\tc'\n9\tsand\t'd'\n",
		settings: "tsv,quote=',header=no", columns: " integer,  text,  text",
	},
	{
		name: "quotes that only the last row needs",
		text: "a,b\n" + strings.Repeat("1,plain\n", 200) + "2,\"x, \"\"y\"\"\"\n", columns: "a integer, b text",
	},
	{
		name:     "escapes that only the last row has",
		text:     "a,b\n" + strings.Repeat("1,\"p, q\"\n", 200) + "2,\"x \\\"y\\\", z\"\n",
		settings: "escape=\\,escapes=quoted", columns: "a integer, b text",
	},
	{
		name: "all values in quotes", text: "\"id\",\"name\"\n\"1\",\"a\"\n\"2\",\"b\"\n",
		columns: "id integer, name text",
	},
	{name: "all values in quotes, one column", text: "\"name\"\n\"a\"\n\"b\"\n", columns: "name text"},
	{
		name: "tabs, with commas in texts", text: "a1\tb1\tc1,d1\na2\tb2\tc2\n", settings: "tsv",
		columns: "a1 text, b1 text, c1,d1 text",
	},
	{
		name: "semicolons without a header", text: "a1;b1\na2;b2\n", settings: "delimiter=;",
		columns: "a1 text, b1 text",
	},
	{name: "pipes without a header", text: "a1|b1\na2|b2\n", settings: "delimiter=|", columns: "a1 text, b1 text"},
	{
		name: "quotes in the middle of values", text: "id;note\n1;the \"old\" one\n2;a \"new\" one\n",
		settings: "delimiter=;", columns: "id integer, note text",
	},
	{
		name: "a quote that is not doubled", text: "id;note\n1;\"the \"old\" one\"\n2;\"a \"new\" one\"\n",
		settings: "delimiter=;,quote=none", columns: "id integer, note text",
	},
	{
		name: "a row that is not closed", text: "a,b\n1,x\n2,\"y\n3,z\n", settings: "quote=none",
		columns: "a integer, b text",
	},
	{name: "percent signs as quotes", text: "%a,b%\n%1,2%\n%3,4%\n", columns: "%a text, b% text"},
	{name: "a delimiter that is escaped everywhere", text: "a%,b\n1%,2\n3%,4\n", columns: "a% text, b integer"},
	{
		name: "spaces as delimiters", text: "a b c\n1 2 3\n4 5 6\n", settings: "delimiter=space",
		columns: "a integer, b integer, c integer", duck: "reads a line as a value",
	},
	{
		name: "spaces as delimiters, with quotes",
		text: "day qty what\n2026-01-02 5 \"a b\"\n2026-01-03 6 \"c d\"\n", settings: "delimiter=space",
		columns: "day date, qty integer, what text", duck: "reads a line as a value",
	},
	{name: "colons as delimiters", text: "ann:x1\nbob:y2\ncem:z3\n", columns: "ann:x1 text"},
	{name: "two bytes as a delimiter", text: "a::b\n1::x\n2::y\n", columns: "a::b text"},
	{name: "a delimiter that is no ASCII", text: "a€b\n1€x\n2€y\n", columns: "a€b text"},
	{name: "mixed delimiters", text: "a;b\n1,5;x\n2,5;y\n", settings: "delimiter=;", columns: "a text, b text"},
	{name: "decimal commas in quotes", text: "n,m\n\"1,25\",1.25\n\"-0,5\",2\n", columns: "n text, m decimal"},
	{
		name: "decimal commas", text: "n;m\n1,25;1.25\n1,53e4;1.53e4\n", settings: "delimiter=;",
		columns: "n text, m float",
	},

	// Lines.
	{
		name: "CR LF without the last one", text: "a;b\r\n1;x\r\n2;y", settings: "delimiter=;",
		columns: "a integer, b text",
	},
	{
		name: "CR, quoted line ends", text: "a;b\r1;\"x\ry\"\r2;z\r", settings: "delimiter=;",
		columns: "a integer, b text",
	},
	{
		name: "CR LF, some rows in LF", text: "a,b\r\n1,x\n2,y\r\n3,z\r\n", settings: "csv",
		columns: "a unknown, b unknown",
		problem: "row 1 (line 2), column \"b\": the row ends in LF, those before it in CR LF",
		duck:    "has no dialect for it",
	},
	{name: "empty lines at the end", text: "a,b\n1,x\n2,y\n\n\n", settings: "csv", columns: "a integer, b text"},
	{name: "empty lines between rows", text: "a,b\n\n1,x\n\n2,y\n", settings: "csv", columns: "a integer, b text"},
	{name: "rows of delimiters alone", text: "a,b,c\n1,x,y\n,,\n2,z,w\n", columns: "a integer, b text, c text"},
	{
		name: "empty lines at the beginning", text: "\n\na,b\n1,x\n2,y\n", settings: "csv",
		columns: "a integer, b text",
	},
	{name: "lines in a cell, with quotes", text: "a,b\n1,\"x\n\"\"y\"\"\nz\"\n2,w\n", columns: "a integer, b text"},
	{name: "a long cell", text: "a,b\n1," + strings.Repeat("x", 40000) + "\n2,y\n", columns: "a integer, b text"},

	// Headers. What DuckDB names by itself, a load would not find.
	{
		name: "no header: numbers", text: "7,water,2026-01-02\n8,stone,2026-01-03\n", settings: "header=no",
		columns: " integer,  text,  date",
	},
	{name: "one row under a header", text: "n,t,day\n8,water,2026-01-02\n", columns: "n integer, t text, day date"},
	{
		name: "a line before the header", text: "written by hand\nn,t,day\n8,water,2026-01-02\n",
		settings: "skip=1", columns: "n integer, t text, day date",
	},
	{
		name: "two lines before the header", text: "written by hand\nand again\nn,t,day\n8,water,2026-01-02\n",
		settings: "skip=2", columns: "n integer, t text, day date",
	},
	{
		name: "two lines of texts", text: "Ann,Main street,x\nBob,Side street,x\n", settings: "header=no",
		columns: " text,  text,  text", duck: "has no header only if a row shows it",
	},
	{name: "one line of texts", text: "Ann,Main street\n", columns: "Ann unknown, Main street unknown"},
	{name: "one line of both", text: "1,Main street\n", settings: "header=no", columns: " integer,  text"},
	{name: "one text", text: "water\n", columns: "water unknown"},
	{name: "one number", text: "7\n", settings: "header=no", columns: " integer"},
	{name: "a header alone", text: "id,name,day\n", columns: "id unknown, name unknown, day unknown"},
	{name: "a byte order mark", text: "\ufeffid,name\n1,a\n2,b\n", columns: "id integer, name text"},
	{
		name: "a byte order mark before a quote", text: "\ufeff\"id\",\"name\"\n1,a\n2,b\n",
		columns: "id integer, name text",
	},
	{
		name: "a column without a name", text: "a,,c\n7,x,p\n8,y,q\n", settings: "csv",
		columns: "a integer,  text, c text", problem: "column 2 has no name: name all, with skip=1,names=…",
	},
	{
		name: "names twice", text: "a,b,a\n7,x,p\n8,y,q\n", columns: "a integer, b text, a text",
		problem: "column 3 has the name of another one: name all, with skip=1,names=…",
	},
	{
		name: "all names empty", text: ",,\n7,x,p\n8,y,q\n", settings: "header=no",
		columns: " integer,  text,  text", duck: "names them itself",
	},
	{
		name: "most names empty", text: "a,,,,\n7,x,p,q,r\n8,y,s,t,u\n", settings: "csv",
		columns: "a integer,  text,  text,  text,  text",
		problem: "column 2 has no name: name all, with skip=1,names=…",
	},
	{name: "names with spaces", text: " a , b \n1,x\n2,y\n", settings: "trim", columns: "a integer, b text"},
	{
		name: "names that are numbers", text: "2024,2025,2026\n1.5,2.5,3.5\n4.5,5.5,6.5\n", settings: "header=no",
		columns: " decimal,  decimal,  decimal",
	},
	{
		name: "names that are years, and one that is not", text: "name,2024,2025\nx,5,6\ny,7,8\n",
		settings: "header=no", columns: " text,  integer,  integer",
	},
	{name: "a name with a quote", text: "name,\"it\"\"s\"\nx,5\ny,7\n", columns: "name text, it\"s integer"},
	{name: "a name with an apostrophe", text: "name,it's\nx,5\ny,7\n", columns: "name text, it's integer"},
	{name: "a name in another script", text: "id,国人\n1,a\n2,中国人\n", columns: "id integer, 国人 text"},
	{name: "a name that is a null word", text: "id,NA\n1,x\n2,y\n", columns: "id integer, NA text"},
	{name: "texts and NULL alone", text: "name,note\nx,\ny,\n", columns: "name text, note unknown"},
	{name: "a header over texts", text: "name,city\nann,Rome\nbob,Oslo\n", columns: "name text, city text"},
	{name: "two header rows", text: "k1,k2\nm,s\n1,2\n3,4\n", columns: "k1 text, k2 text"},
	{
		name: "a boolean under its name", text: "t,ok\ntrue,f\nfalse,t\n", settings: "header=no",
		columns: " boolean,  text", duck: "takes the first row that is no value of a column for the header",
	},

	// Rows that do not fit: what is wrong is said.
	{
		name: "a row that ends in a delimiter", text: "id,name,n\n1,x,5,v\n2,y,6,w\n", settings: "csv",
		columns: "id unknown, name unknown, n unknown",
		problem: "row 1 (line 2): it has more values than the 3 columns",
		duck:    "reads lines as values if rows differ",
	},
	{
		name: "all rows end in a delimiter", text: "id|name|\n1|x|\n2|y|\n", settings: "delimiter=|",
		columns: "id integer, name text,  unknown", problem: "column 3 has no name: name all, with skip=1,names=…",
	},
	{
		name: "fewer values in some rows", text: "id,name,n\n1,x\n2,y,6\n3,z,7\n", settings: "csv",
		columns: "id unknown, name unknown, n unknown",
		problem: "row 1 (line 2): it has 2 values, and there are 3 columns",
		duck:    "reads lines as values if rows differ",
	},
	{
		name: "more values in one row", text: "id,name,n\n1,x,5\n2,y,6,more\n3,z,7\n", settings: "csv",
		columns: "id integer, name text, n integer",
		problem: "row 2 (line 3): it has more values than the 3 columns",
		duck:    "reads lines as values if rows differ",
	},
	{
		name: "a footer", text: "id,name,n\n1,x,5\n2,y,6\nall: 2 rows\n", settings: "csv",
		columns: "id integer, name text, n integer",
		problem: "row 3 (line 4): it has 1 value, and there are 3 columns",
		duck:    "reads lines as values if rows differ",
	},
	{
		name: "a text that is broken in lines", text: "id;note\n1;one\ntwo\n2;three\n", settings: "delimiter=;",
		columns: "id integer, note text", problem: "row 2 (line 3): it has 1 value, and there are 2 columns",
		duck: "reads lines as values if rows differ",
	},

	// Comments. Those behind values are a part of them.
	{
		name: "comments", text: "# by hand\na;b\n# next\n1;3\n6;7\n# end\n", settings: "delimiter=;,comment=#",
		columns: "a integer, b integer",
	},
	{
		name: "comments after spaces", text: "  # by hand\na;b\n1;3\n6;7\n", settings: "delimiter=;,skip=1",
		columns: "a integer, b integer",
	},
	{
		name: "a comment at the end", text: "a;b;c\n1;2;3\n#comment\n", settings: "delimiter=;,comment=#",
		columns: "a integer, b integer, c integer",
	},
	{
		name: "a comment behind values", text: "a;b\n1;3#test\n6;7\n", settings: "delimiter=;",
		columns: "a integer, b text",
	},
	{name: "colors", text: "name,color\nred,#f00\ngreen,#0f0\n", columns: "name text, color text"},
	{
		name: "comments with the delimiter", text: "#made by x, on y\na,b\n1,3\n6,7\n", settings: "trim",
		columns: "#made by x text, on y text",
	},
	{
		name: "comments in another sign", text: "% by hand\na,b\n1,3\n6,7\n", settings: "skip=1",
		columns: "a integer, b integer",
	},
	{
		name: "commas as comments", text: ", by hand\na;b\n1;3\n6;7\n, end\n", settings: "tsv",
		columns: ", by hand text",
	},

	// Types. A day is what has its shape.
	{name: "whole numbers, then a text", text: "n\n" + strings.Repeat("1\n", 300) + "x\n", columns: "n text"},
	{
		name: "numbers, then a fraction", text: "n,m\n" + strings.Repeat("1,1\n", 300) + "2,1.5\n",
		columns: "n integer, m decimal",
	},
	{
		name:    "a column with few values",
		text:    "i,d,day,t\n" + strings.Repeat("1,,2026-01-02,x\n", 300) + "5,1.1,2026-01-03,y\n",
		columns: "i integer, d decimal, day date, t text",
	},
	{
		name:    "days and times",
		text:    "a,t,d,ts\n1,12:12:12,2026-01-02,2026-01-02 12:12:00\n2,14:15:30,2026-02-03,2026-02-03 14:15:00\n",
		columns: "a integer, t time, d date, ts timestamp",
	},
	{
		name:    "something behind days and times",
		text:    "t,d\n12:12:12,2026-01-02\n14:15:30,2026-02-03 a\n15:16:17 01,2026-02-04\n",
		columns: "t text, d text",
	},
	{
		name:    "months first",
		text:    "t,d,ts\nx,01-02-2026,01-02-2026 12:12:00 AM\ny,12-13-2026,12-13-2026 03:16:17 PM\n",
		columns: "t text, d text, ts text",
	},
	{
		name: "days first", text: "t,d,ts\nx,02-01-2026,02-01-2026 12:12:00\ny,13-12-2026,13-12-2026 15:16:17\n",
		columns: "t text, d text, ts text",
	},
	{name: "days first, two digits", text: "t,d\nx,02-01-26\ny,13-12-26\n", columns: "t text, d text"},
	{name: "points in days, years first", text: "t,d\nx,2026.01.02\ny,2026.12.13\n", columns: "t text, d text"},
	{name: "days that are none", text: "t,d\nx,2026-02-30\ny,2026-13-01\n", columns: "t text, d date"},
	{
		name: "versions and days", text: "d,version\n2026-12-03,2.2.2\n2026-04-06,2.2.0\n",
		columns: "d date, version text",
	},
	{
		name:    "two ways to write a time",
		text:    "a,b\n2026-01-01 01:02:03,01-01-2026 01:02:03\n2026-01-02 01:02:03,02-01-2026 01:02:03\n",
		columns: "a timestamp, b text",
	},
	{name: "identifiers like days", text: "id,part\nx_2016,41_10_1\ny_2017,42_10_1\n", columns: "id text, part text"},
	{name: "percent signs in numbers", text: "p\n336%584%3205\n337%584%3206\n", columns: "p text"},
	{name: "times in hours", text: "t\n00:00:01\n23:59:59\n24:00:01\n", columns: "t time"},
	{
		name: "zones", text: "ts\n2026-01-02 03:04:05+02\n2026-01-02T03:04:05Z\n2026-01-02 03:04:05.25 UTC\n",
		columns: "ts timestamp",
	},
	{name: "0 and 1", text: "ok,n\n0,5\n1,6\n", columns: "ok integer, n integer"},
	{
		name: "true and false", text: "a,b,c,d\ntrue,T,yes,on\nfalse,F,no,off\n",
		columns: "a boolean, b boolean, c boolean, d text",
	},
	{
		name:    "large numbers",
		text:    "n\n9223372036854775807\n9223372036854775808\n170141183460469231731687303715884105727\n",
		columns: "n decimal",
	},
	{name: "zeros first", text: "code,dept\n09001,03\n75056,15\n", columns: "code text, dept text"},
	{name: "signs first", text: "phone,n\n+318855443322,+1\n+552244331122,-2\n", columns: "phone text, n text"},
	{name: "hexadecimal", text: "n\n0x1F\n0xFF\n", columns: "n text"},
	{name: "numbers with a unit", text: "n\n5 kg\n6 kg\n", columns: "n text"},
	{name: "thousands in quotes", text: "n,m\n\"1,000\",5\n\"12,500\",6\n", columns: "n text, m integer"},
	{name: "exponents", text: "n\n1e5\n-2.5E-3\n", columns: "n float"},
	{
		name: "words for nothing, in numbers", text: "id,age\n1,39\n2,N/A\n3,36\n", settings: "null=N/A",
		columns: "id integer, age integer",
	},
	{name: "words for nothing, in texts", text: "id,name\n1,N/A\n2,x\n", columns: "id integer, name text"},
	{name: "empty values in numbers", text: "id,age\n1,39\n2,\n3,36\n", columns: "id integer, age integer"},
	{
		name: "\\N between tabs", text: "id\tname\n1\ta\n2\t\\N\n", settings: "postgres,header=yes",
		columns: "id integer, name text",
	},
	{
		name: "empty quotes and NULL", text: "id,name,n\n1,\"\",5\n2,,6\n",
		columns: "id integer, name unknown, n integer",
	},
	{name: "lists", text: "id,list\n1,\"[1, 2]\"\n2,\"[3]\"\n", columns: "id integer, list json"},
	{
		name: "UUIDs", text: "id\n00112233-4455-6677-8899-aabbccddeeff\n10112233-4455-6677-8899-aabbccddeeff\n",
		columns: "id uuid",
	},
	{
		name: "URLs", text: "id,at\n1,http://example.org/a?b=c;d\n2,\"https://example.org/x,y\"\n",
		columns: "id integer, at text",
	},
	{
		name: "addresses of mail and passwords",
		text: "ann@example.org:x1\nbob@example.org:y2\ncem@example.org:z;3\n", columns: "ann@example.org:x1 text",
		duck: "takes the last line for a header",
	},

	// Encodings. One of a byte for each character is taken for windows-1252.
	{
		name: "latin1", text: "id,name\n1,accenti\xe8\n2,b\n", settings: "encoding=windows-1252",
		columns: "id integer, name text", duck: "reads UTF-8 unless it is told otherwise",
	},
	{
		name: "UTF-16",
		text: "\xff\xfei\x00d\x00,\x00n\x00a\x00m\x00e\x00\r\x00\n\x00" +
			"1\x00,\x00\xe9\x00\r\x00\n\x002\x00,\x00b\x00\r\x00\n\x00",
		settings: "encoding=utf-16le", columns: "id integer, name text",
		duck: "reads UTF-8 unless it is told otherwise",
	},
	{
		name: "Greek in ISO 8859-7", text: "id,name\n1,\xed\xe5\xf1\xfc\n2,b\n", settings: "encoding=windows-1252",
		columns: "id integer, name text", duck: "reads UTF-8 unless it is told otherwise",
	},
	{
		name: "Chinese in GBK", text: "id,name\n1,\xd6\xd0\xb9\xfa\xc8\xcb\n2,b\n",
		settings: "encoding=windows-1252", columns: "id integer, name text",
		duck: "reads UTF-8 unless it is told otherwise",
	},
	{
		name: "a broken character", text: "id,name\n1,\xc3\n2,\xe9t\xe9\n", settings: "encoding=windows-1252",
		columns: "id integer, name text", duck: "reads UTF-8 unless it is told otherwise",
	},
	{name: "control characters", text: "id,name\n1,a\x01b\n2,c\n", columns: "id integer, name text"},

	// Escapes outside of quotes.
	{
		name: "escaped delimiters", text: "id,note\n1,x\\, y\n2,z\n", settings: "escape=\\",
		columns: "id integer, note text", duck: "has escapes only in quotes",
	},
	{
		name: "escapes within and outside quotes", text: "id,note,more\n1,\\\\,\"a\\\"b\"\n2,x\\, y,\"c\"\n",
		settings: "escape=\\", columns: "id integer, note text, more text", duck: "has escapes only in quotes",
	},
	{
		name: "escapes of line ends", text: "id\tnote\n1\ta\\\nb\n2\tc\n", settings: "tsv,escape=\\",
		columns: "id integer, note text", duck: "has escapes only in quotes",
	},
	{
		name: "letters after escapes", text: "id\tnote\n1\ta\\nb\\tc\n2\td\n", settings: "postgres,header=yes",
		columns: "id integer, note text",
	},
}

// TestKinds guesses each text.
func TestKinds(t *testing.T) {
	for _, one := range kinds {
		guess, err := sniff.CSV([]byte(one.text), true)
		if err != nil {
			t.Errorf("%s: %v", one.name, err)
			continue
		}
		var columns []string
		for _, column := range guess.Columns {
			columns = append(columns, column.Name+" "+string(column.Type))
		}
		if got := strings.Join(columns, ", "); guess.Settings() != one.settings || got != one.columns {
			t.Errorf("%s: %q: %s", one.name, guess.Settings(), got)
		}
		if one.problem == "" && guess.Problem != nil || one.problem != "" && (guess.Problem == nil ||
			!strings.Contains(guess.Problem.Error(), one.problem)) {
			t.Errorf("%s: the problem is %v, want %q", one.name, guess.Problem, one.problem)
		}
	}
	if guess, err := sniff.CSV([]byte("id,name\n1,a\x00b\n2,c\n"), true); err != sniff.ErrNotText {
		t.Errorf("NUL in a value, which DuckDB reads: %+v, %v", guess, err)
	}
}

// duckGuess is a text, and what DuckDB guesses of it.
type duckGuess struct {
	Text      string `json:"text"` // each byte a character
	Delimiter string `json:"delimiter"`
	Header    bool   `json:"header"`
	Columns   int    `json:"columns"`
}

const duckSniffer = `
import duckdb, json, sys, tempfile
cases = json.load(sys.stdin)
for case in cases:
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(case["text"].encode("latin1"))
        file.flush()
        try:
            case["delimiter"], case["header"], columns = duckdb.sql(
                f"select Delimiter, HasHeader, Columns from sniff_csv('{file.name}')").fetchall()[0]
            case["columns"] = len(columns)
        except duckdb.Error:
            pass
json.dump(cases, sys.stdout)
`

// TestKindsDuckDB compares delimiters, headers and numbers of columns with those that DuckDB guesses, but for the kinds
// that say why it differs.
func TestKindsDuckDB(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	testkit.NeedModule(t, "duckdb")
	cases := make([]duckGuess, len(kinds))
	for i, one := range kinds {
		for _, b := range []byte(one.text) {
			cases[i].Text += string(rune(b))
		}
	}
	testkit.ByPython(t, duckSniffer, &cases)
	for i, one := range kinds {
		guess, err := sniff.CSV([]byte(one.text), true)
		if err != nil {
			t.Fatal(err)
		}
		duck := cases[i]
		isSame := duck.Header != guess.Dialect.NoHeader && duck.Columns == len(guess.Columns)
		if len(guess.Columns) > 1 {
			isSame = isSame && duck.Delimiter == cmp.Or(guess.Dialect.Delimiter, ",")
		}
		if !isSame && one.duck == "" {
			t.Errorf("%s: %q, %d columns; DuckDB guesses %+v", one.name, guess.Settings(), len(guess.Columns), duck)
		}
	}
}
