package export_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing/fstest"

	"filippo.io/age"

	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// exported returns the file orders.csv.zst.age, and who can read it.
func exported() (fstest.MapFS, *age.X25519Identity) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	withShop(func(src source.Source) error {
		plan := export.Plan{Recipients: []age.Recipient{identity.Recipient()}}
		_, err := plan.Table(context.Background(), &file, src, "orders")
		return err
	})
	return fstest.MapFS{"orders.csv.zst.age": {Data: file.Bytes()}}, identity
}

// A file of an export is decrypted and decompressed as it is read.
func ExampleOpen() {
	files, identity := exported()
	orders, err := export.Open(files, "orders.csv.zst.age", identity)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := io.ReadAll(orders)
	fmt.Printf("%s%v %v\n", text, err, orders.Close())
	// Output:
	// id,title
	// 1,one
	// 2,two
	// <nil> <nil>
}

// Any part of the text can be read without the text before it.
func ExampleReadConfig_NewReaderAt() {
	files, identity := exported()
	file := bytes.NewReader(files["orders.csv.zst.age"].Data)
	config := export.ReadConfig{Identities: []age.Identity{identity}}
	orders, err := config.NewReaderAt(file, file.Size())
	if err != nil {
		fmt.Println(err)
		return
	}
	row := make([]byte, 5)
	_, err = orders.ReadAt(row, 9)
	fmt.Printf("%d bytes, %q, %v\n", orders.Size(), row, err)
	// Output: 21 bytes, "1,one", <nil>
}

// What a file is shows without a key, except for its content.
func ExampleReadConfig_Inspect() {
	files, _ := exported()
	seen, err := export.ReadConfig{}.Inspect(bytes.NewReader(files["orders.csv.zst.age"].Data))
	fmt.Println(seen.Age.Recipients, seen.Age.PostQuantum, err)
	// Output: [X25519] no <nil>
}

// All files are compared with the manifest.
func ExampleDirectory_Verify() {
	withBackup(func(backup place.Place, src source.Source) error {
		ctx := context.Background()
		plan := export.Plan{Unencrypted: true}
		if _, err := plan.Tables(ctx, backup, src, []string{"orders", "customers"}); err != nil {
			return err
		}
		if err := backup.Remove(ctx, "customers.csv.zst"); err != nil {
			return err
		}
		written, err := export.OpenDirectory(backup)
		if err != nil {
			return err
		}
		err = written.Verify(ctx, func(t *manifest.Table, err error) { fmt.Println(t.Name, err) })
		fmt.Println(err)
		return nil
	})
	// Output:
	// orders <nil>
	// customers export: it is missing
	// export: not as it was exported: 1 of 2 files damaged or missing
}
