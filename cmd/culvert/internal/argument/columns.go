package argument

import (
	"errors"
	"io"
	"path"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/format"
	"culvert/format/arrow/arrowread"
	"culvert/format/parquet/parquetread"
)

// Columnar are the formats of columns that are read, by their extensions.
var Columnar = map[string]format.Columnar{
	"parquet": parquetread.Format{},
	"arrow":   arrowread.Format{},
	"arrows":  arrowread.Format{},
	"feather": arrowread.Format{},
}

// ColumnarOf returns the format of a file of columns by its name, or nil if it is another file.
func ColumnarOf(name string) format.Columnar {
	if IsURL(name) {
		name, _, _ = strings.Cut(name, "?") // the address of a store, such as its endpoint
	}
	extension := path.Ext(strings.TrimSuffix(strings.ToLower(name), ".age"))
	return Columnar[strings.TrimPrefix(extension, ".")]
}

// IsStream reports whether the input can only be read from its beginning to its end.
func (in *Input) IsStream() bool {
	_, is := in.Random.(io.ReaderAt)
	return !is
}

// ColumnFile opens a file of columns, of which only what is needed is fetched and decrypted. It does not close the
// input. A stream cannot be read like that, and nothing is put on a disk instead.
func (in *Input) ColumnFile(config export.ReadConfig, f format.Columnar) (format.ColumnFile, error) {
	src, is := in.Random.(io.ReaderAt)
	if !is {
		return nil, command.WithHint(
			command.Usagef("%s is a stream, and columns are read at any place of a file", in.Name),
			"name the file, on this machine, a server or a bucket", "culvert load reads a stream of Arrow: -f arrow")
	}
	config.Packed = true
	text, err := config.NewReaderAt(src, in.Size)
	if errors.Is(err, export.ErrSequential) {
		plain := command.ForShell(path.Base(strings.TrimSuffix(in.Name, ".age")))
		return nil, command.WithHint(
			command.Usagef("%s is armored, and columns are read at any place of a file", in.Name),
			"decrypt it first: culvert decrypt -o "+plain+" "+command.ForShell(in.Name))
	}
	if err != nil {
		return nil, ReadError(in.Name, err)
	}
	file, err := f.Open(text, text.Size())
	if err != nil {
		return nil, ReadError(in.Name, err)
	}
	return file, nil
}
