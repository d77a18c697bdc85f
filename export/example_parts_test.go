package export_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// A table in parts is read as one.
func ExamplePlan_Tables_parts() {
	withBackup(func(backup place.Place, src source.Source) error {
		plan := export.Plan{Compression: export.None, Unencrypted: true, PartSize: 64 << 20}
		stats, err := plan.Tables(context.Background(), backup, src, []string{"orders"})
		if err != nil {
			return err
		}
		fmt.Println(stats[0].Name, "is in", stats[0].Parts[0].File)
		written, err := export.OpenDirectory(backup)
		if err != nil {
			return err
		}
		orders, err := written.Open(written.Table("orders"))
		if err != nil {
			return err
		}
		defer orders.Close()
		_, err = io.Copy(os.Stdout, orders)
		return err
	})
	// Output:
	// orders is in orders/000001.csv
	// id,title
	// 1,one
	// 2,two
}

// A table in parts can be read from the middle, too.
func ExampleDirectory_ReaderAt() {
	withBackup(func(backup place.Place, src source.Source) error {
		plan := export.Plan{Compression: export.None, Unencrypted: true, PartSize: 64 << 20}
		if _, err := plan.Tables(context.Background(), backup, src, []string{"orders"}); err != nil {
			return err
		}
		written, err := export.OpenDirectory(backup)
		if err != nil {
			return err
		}
		orders, err := written.ReaderAt(written.Table("orders"))
		if err != nil {
			return err
		}
		defer orders.Close()
		row := make([]byte, 5)
		_, err = orders.ReadAt(row, 9)
		fmt.Printf("%s of %d bytes\n", row, orders.Size())
		return err
	})
	// Output: 1,one of 21 bytes
}

// An export is compared with its database without writing anything.
func ExampleDirectory_Compare() {
	withBackup(func(backup place.Place, src source.Source) error {
		plan := export.Plan{Unencrypted: true}
		if _, err := plan.Tables(context.Background(), backup, src, []string{"orders", "customers"}); err != nil {
			return err
		}
		written, err := export.OpenDirectory(backup)
		if err != nil {
			return err
		}
		return written.Compare(context.Background(), src, 1, nil, nil, func(t *manifest.Table, err error) {
			fmt.Println(t.Name, t.Sum, err)
		})
	})
	// Output:
	// orders 6444eca6531f9192829aa28e8882714a <nil>
	// customers 276acba1658cd5c480010a5332859983 <nil>
}
