package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// The examples need a server, and are only compiled.

const address = "postgres://writer@db.example.com/shop"

// CSV is loaded as it is, in one transaction.
func ExampleOpenSink() {
	ctx := context.Background()
	db, err := postgres.OpenSink(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	table, err := db.Table(ctx, "orders", sink.Filling{Existing: sink.Truncate})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := table.Discard(); err != nil { // does nothing after Commit
			fmt.Println(err)
		}
	}()
	loader := table.Loaders()[0].(sink.TextLoader)
	if err := loader.LoadText(strings.NewReader("1,tea\n2,\n")); err != nil {
		if refused, ok := errors.AsType[*sink.RowError](err); ok {
			fmt.Println("line", refused.Line)
		}
		return
	}
	rows, err := loader.Close()
	if err != nil {
		return
	}
	fmt.Println(rows, table.Commit())
}

// Rows replace those with the same key.
func ExampleSink_Table() {
	ctx := context.Background()
	db, err := postgres.OpenSink(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	table, err := db.Table(ctx, "orders", sink.Filling{
		Columns: []string{"id", "title"}, Existing: sink.Append, Conflict: sink.Update, Key: []string{"id"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := table.Discard(); err != nil { // does nothing after Commit
			fmt.Println(err)
		}
	}()
	var batch source.Batch
	batch.Reset(2)
	batch.AppendInt(1)
	batch.Append(source.Text, []byte("green tea"))
	batch.EndRow()
	loader := table.Loaders()[0]
	if err := loader.Load(&batch); err != nil {
		fmt.Println(err)
		return
	}
	rows, err := loader.Close()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rows, table.Commit())
}

// A plan says which statements will change the database.
func ExampleSink_Plan() {
	ctx := context.Background()
	db, err := postgres.OpenSink(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	plan, err := db.Plan(ctx, "orders", sink.Filling{Existing: sink.Append, Loaders: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Loaders, plan.Alone)
	for _, step := range plan.Steps {
		fmt.Println(step)
	}
}

// Customers and their orders are replaced in one transaction.
func ExampleSink_Group() {
	ctx := context.Background()
	db, err := postgres.OpenSink(ctx, address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	text := []string{"7,1\n8,1\n", "1,Ada\n"}
	f := sink.Filling{Existing: sink.Truncate}
	group, err := db.Group(ctx, []sink.Member{{Name: "orders", Filling: f}, {Name: "customers", Filling: f}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := group.Discard(); err != nil { // does nothing after Commit
			fmt.Println(err)
		}
	}()
	for _, i := range group.Order() { // customers first
		table, err := group.Table(i)
		if err != nil {
			fmt.Println(err)
			return
		}
		loader := table.Loaders()[0].(sink.TextLoader)
		err = loader.LoadText(strings.NewReader(text[i]))
		if err == nil {
			_, err = loader.Close()
		}
		if err == nil {
			err = table.Commit()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(group.Commit())
}
