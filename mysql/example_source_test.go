package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"culvert/mysql"
	"culvert/source"
)

// The examples need a server, and are only compiled.

func ExampleSource() {
	ctx := context.Background()
	db, err := mysql.OpenSource(ctx, "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := db.Table(ctx, "orders")
	if err == nil {
		err = errors.Join(printRows(rows), rows.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

func printRows(rows source.Rows) error {
	for _, column := range rows.Columns() {
		fmt.Println(column.Name, column.Type)
	}
	var batch source.Batch
	for {
		err := rows.Next(&batch)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for row := range batch.Rows() {
			for column := range batch.Columns() {
				kind, value := batch.Value(row, column)
				fmt.Printf("%v %q\n", kind, value)
			}
		}
	}
}

// The option file ~/.my.cnf says how to connect, as for the client of the server; TLS is asked for here.
func ExampleOpenSource() {
	db, err := mysql.OpenSource(context.Background(), "mariadb://db.example.com/shop?ssl-mode=VERIFY_IDENTITY")
	switch {
	case errors.Is(err, source.ErrUnavailable):
		fmt.Println("no connection:", err)
	case err != nil:
		fmt.Println("the address or the option file is wrong:", err)
	default:
		fmt.Println("connected")
		if err := db.Close(); err != nil {
			fmt.Println(err)
		}
	}
}

// Several connections read one state, each a table.
func ExampleSourceConfig() {
	ctx := context.Background()
	config := mysql.SourceConfig{Connections: 4, LockWait: 2 * time.Second}
	db, err := config.Open(ctx, "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	others, fewer := db.Beside(3)
	if fewer != nil {
		fmt.Println(fewer.Reason)
	}
	fmt.Println("others could not commit for", db.Moment().Held)
	for _, src := range others {
		go func() {
			defer src.Close()
			// … src.Table(ctx, "orders")
		}()
	}
}

// An unknown table comes with the names there are.
func ExampleSource_Table() {
	ctx := context.Background()
	db, err := mysql.OpenSource(ctx, "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := db.Table(ctx, "archive.orders")
	if unknown, ok := errors.AsType[*source.UnknownError](err); ok {
		fmt.Println("there are", unknown.Known)
	}
	if err == nil {
		err = errors.Join(printRows(rows), rows.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

func ExampleSource_Query() {
	ctx := context.Background()
	db, err := mysql.OpenSource(ctx, "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := db.Query(ctx, "SELECT id, title FROM todos WHERE done ORDER BY id")
	if err == nil {
		err = errors.Join(printRows(rows), rows.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

func ExampleSource_Select() {
	ctx := context.Background()
	db, err := mysql.OpenSource(ctx, "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := db.Select(ctx, "orders", source.Selection{Columns: []string{"id", "total"}, Where: "total > 100"})
	if err == nil {
		err = errors.Join(printRows(rows), rows.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

// All tables fit together, since they are read in one snapshot.
func ExampleSource_Tables() {
	ctx := context.Background()
	db, err := mysql.OpenSource(ctx, "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := db.Tables(ctx, "")
	for _, name := range names {
		rows, openErr := db.Table(ctx, name)
		if err = openErr; err == nil {
			err = errors.Join(printRows(rows), rows.Close())
		}
		if err != nil {
			break
		}
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

func ExampleSource_Describe() {
	ctx := context.Background()
	db, err := mysql.OpenSource(ctx, "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	description, err := db.Describe(ctx)
	if err == nil {
		fmt.Println(description.System, "at", description.Position)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

func ExampleFiles() {
	for _, file := range mysql.Files("mysql://db.example.com/shop?ssl-ca=/etc/ssl/shop.pem") {
		fmt.Println(file)
	}
}

func ExampleSource_Close() {
	db, err := mysql.OpenSource(context.Background(), "mysql://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close() // always nil
}
