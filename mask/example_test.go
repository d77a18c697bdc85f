package mask_test

import (
	"fmt"

	"culvert/mask"
	"culvert/source"
)

func Example() {
	key, err := mask.ParseKey([]byte("CULVERT-MASK-KEY-1-" +
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")) // of a file that only you can read
	if err != nil {
		fmt.Println(err)
		return
	}
	email, _ := mask.ParseRule("email")
	last, _ := mask.ParseRule("keep last 4")
	policy := &mask.Policy{Key: key, Tables: map[string]mask.Rules{"customers": {"email": email, "card": last}}}
	masker, err := policy.Masker("customers", []source.Column{{Name: "id"}, {Name: "email"}, {Name: "card"}})
	if err != nil {
		fmt.Println(err)
		return
	}

	var batch, masked source.Batch
	batch.Reset(3)
	batch.AppendInt(1)
	batch.Append(source.Text, []byte("anna@firma.de"))
	batch.Append(source.Text, []byte("4111111111111111"))
	batch.EndRow()
	if err := masker.Mask(&masked, &batch); err != nil {
		fmt.Println(err)
		return
	}
	for column := range 3 {
		_, value := masked.Value(0, column)
		fmt.Printf("%s ", value)
	}
	// Output: 1 7trn5qis7wamrwzr@example.com ************1111
}
