package wire

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"

	gomysql "github.com/go-sql-driver/mysql"
)

// LoadText runs LOAD DATA LOCAL INFILE with a text in place of a file, and returns the number of rows that the server
// has added. The function returns the statement for the name of the file, which needs no escapes.
//
// A server may ask for any file, so the text has a name that no other server can guess, and only while the statement
// runs. Files of this machine cannot be asked for.
func (c *Conn) LoadText(ctx context.Context, sql func(file string) string, text []byte) (rows int64, err error) {
	name := "culvert-" + rand.Text()
	gomysql.RegisterReaderHandler(name, func() io.Reader { return bytes.NewReader(text) })
	defer gomysql.DeregisterReaderHandler(name)
	return c.Affect(ctx, sql("Reader::"+name))
}

// MaxStatement is the most bytes of a statement, unless the server accepts less.
const MaxStatement = 64<<20 - 1

// SQLState returns the SQLSTATE of an error of the server.
func SQLState(e *gomysql.MySQLError) string { return string(e.SQLState[:]) }
