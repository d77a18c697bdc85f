package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"culvert/postgres"
	"culvert/source"
)

// The examples need a server, and are only compiled.

func ExampleSource() {
	ctx := context.Background()
	db, err := postgres.OpenSource(ctx, "postgres://reader@db.example.com/shop")
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

// The environment says how to connect, as for psql.
func ExampleOpenSource() {
	db, err := postgres.OpenSource(context.Background(), "")
	switch {
	case errors.Is(err, source.ErrUnavailable):
		fmt.Println("no connection:", err)
	case err != nil:
		fmt.Println("the environment is wrong:", err)
	default:
		fmt.Println("connected")
		if err := db.Close(); err != nil {
			fmt.Println(err)
		}
	}
}

// An unknown table comes with the names there are.
func ExampleSource_Table() {
	ctx := context.Background()
	db, err := postgres.OpenSource(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := db.Table(ctx, "public.Orders")
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

// Two columns of the orders that one shop has had for a month.
func ExampleSource_Select() {
	ctx := context.Background()
	db, err := postgres.OpenSource(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := db.Select(ctx, "orders", source.Selection{
		Columns: []string{"id", "total"},
		Where:   "shop = 7 AND created > current_date - 30",
	})
	if err == nil {
		err = errors.Join(printRows(rows), rows.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

// All tables of a schema, each with about how many rows it has.
func ExampleSource_Tables() {
	ctx := context.Background()
	db, err := postgres.OpenSource(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close() // always nil
	names, err := db.Tables(ctx, "public")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range names {
		rows, err := db.Table(ctx, name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		if size, err := rows.(source.Sized).Size(); err == nil {
			fmt.Println(name, size.Rows)
		}
		if err := rows.Close(); err != nil {
			fmt.Println(err)
		}
	}
}

func ExampleSource_Describe() {
	ctx := context.Background()
	db, err := postgres.OpenSource(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	description, err := db.Describe(ctx)
	if err == nil {
		fmt.Println(description.System, description.Database, description.Snapshot, description.Position)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

// The server prints the rows of a query as CSV.
func ExampleSource_Query() {
	ctx := context.Background()
	db, err := postgres.OpenSource(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := db.Query(ctx, "SELECT id, title FROM todos WHERE done ORDER BY id")
	if err == nil {
		if csv, ok := rows.(source.CSVWriter); ok {
			_, err = csv.WriteCSV(os.Stdout)
		}
		err = errors.Join(err, rows.Close())
	}
	if err := errors.Join(err, db.Close()); err != nil {
		fmt.Println(err)
	}
}

func ExampleSource_Close() {
	db, err := postgres.OpenSource(context.Background(), "postgres://reader@db.example.com/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close() // always nil
}

// A table is cut by one session and read by another, such as on another machine, in the same snapshot.
func ExampleJoin() {
	ctx := context.Background()
	const address = "postgres://reader@db.example.com/shop"
	db, err := postgres.OpenSource(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := db.Parts(ctx, "orders", source.Selection{}, 256<<20)
	if err != nil {
		fmt.Println(errors.Join(err, db.Close()))
		return
	}
	worker, err := postgres.Join(ctx, address, parts[0].Snapshot)
	if err != nil {
		fmt.Println(errors.Join(err, db.Close()))
		return
	}
	for _, part := range parts {
		rows, err := worker.Part(ctx, part)
		if err == nil {
			_, err = rows.(source.CSVWriter).WriteCSV(os.Stdout)
			err = errors.Join(err, rows.Close())
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	if err := errors.Join(worker.Close(), db.Close()); err != nil {
		fmt.Println(err)
	}
}

// A session that has joined a snapshot shares it again, so it lasts when the first session ends.
func ExampleSource_Share() {
	ctx := context.Background()
	first, err := postgres.OpenSource(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot, err := first.Share(ctx)
	if err != nil {
		fmt.Println(errors.Join(err, first.Close()))
		return
	}
	second, err := postgres.Join(ctx, "", snapshot)
	if err = errors.Join(err, first.Close()); err != nil {
		fmt.Println(err)
		return
	}
	shared, err := second.Share(ctx)
	if err == nil {
		fmt.Println(shared.Token, shared.Same(snapshot))
	}
	if err := errors.Join(err, second.Close()); err != nil {
		fmt.Println(err)
	}
}
