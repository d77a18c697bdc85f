package jobs

import (
	"path"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/export"
)

// The extensions that say how rows are written, or compressed. Names of other programs' formats are known so that no
// file gets one of them.
var (
	formatsByExtension = map[string]string{
		".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "text",
		".parquet": "parquet", ".arrow": "arrow", ".arrows": "arrows",
		".json": foreign, ".tsv": foreign, ".orc": foreign, ".avro": foreign,
		".feather": foreign, ".xlsx": foreign, ".xls": foreign, ".ods": foreign, ".xml": foreign, ".html": foreign,
		".yaml": foreign, ".sql": foreign,
	}
	compressionsByExtension = map[string]string{
		".zst": export.Zstd.String(), ".gz": export.Gzip.String(),
		".bz2": foreign, ".xz": foreign, ".lz4": foreign, ".br": foreign, ".zip": foreign, ".7z": foreign,
		".tar": foreign, ".tgz": foreign, ".asc": foreign, ".gpg": foreign, ".pgp": foreign,
	}
)

const foreign = "foreign"

// named is what the name of a file says of its content; "" is nothing.
type named struct {
	format, compression string
	encrypted           bool
}

func read(name string) named {
	rest, encrypted := strings.CutSuffix(strings.ToLower(path.Base(name)), ".age")
	n := named{encrypted: encrypted, compression: compressionsByExtension[path.Ext(rest)]}
	if n.compression != "" {
		rest = strings.TrimSuffix(rest, path.Ext(rest))
	}
	n.format = formatsByExtension[path.Ext(rest)]
	if n.format != "" && n.compression == "" && !isArrow(n.format) {
		n.compression = export.None.String()
	}
	return n
}

// Follow has what the flags do not say follow the name of the file, such as orders.jsonl.gz.age, and refuses flags that
// contradict it. A name without an extension that is known says nothing. No name leaves out the encryption: that is
// said by a flag alone. The function says whether a flag is given.
func (l *Layout) Follow(name string, given func(flag string) bool, unencrypted bool) error {
	n := read(name)
	byTemplate := l.Format == "text" && given("format") // which may write any format
	asLines := n.format == foreign && strings.Contains(strings.ToLower(name), ".json") && l.Format == "jsonl" &&
		given("format")
	switch {
	case n.compression == foreign, n.format == foreign && !byTemplate && !asLines:
		return command.WithHint(command.Usagef("output %q has the name of a format that culvert does not write", name),
			"name it as what it is: .csv, .jsonl, .txt, .parquet or .arrow, "+
				"then .zst or .gz if it is compressed, then .age")
	case isArrow(n.format) && n.compression != "":
		return command.WithHint(
			command.Usagef("output %q has the name of a compressed file, but Arrow is compressed inside", name),
			"leave out .zst and .gz in the name")
	case n.format == "", byTemplate, asLines:
	case !given("format"):
		l.Format = n.format
	case n.format != l.Format:
		return command.WithHint(command.Usagef("output %q is named as %s, but -f says %s", name, n.format, l.Format),
			"name it as what it is, or leave out -f")
	}
	switch {
	case n.compression == "":
	case !given("compress"):
		l.Compression = n.compression
	case n.compression != l.Compression:
		return command.WithHint(command.Usagef("output %q is named as if compressed with %s, but -c says %s",
			name, n.compression, l.Compression), "name it as what it is, or leave out -c")
	}
	switch {
	case n.encrypted && unencrypted:
		return command.WithHint(command.Usagef("output %q is named as if encrypted, but --no-encrypt is given", name),
			"name it without .age, or leave out --no-encrypt")
	case !n.encrypted && (n.format != "" || n.compression != "") && !unencrypted:
		return command.WithHint(command.Usagef("output %q is named as if not encrypted", name),
			"encrypt it: -o "+command.ForShell(name+".age"), "or write it as it is: --no-encrypt")
	}
	return nil
}
