package wire_test

import (
	"fmt"
	"strings"

	"culvert/postgres/internal/wire"
)

// An error of a connection string has nothing of the password.
func ExampleParseConfig() {
	_, err := wire.ParseConfig("postgres://writer:p@ss@db.example.com/shop")
	fmt.Println(strings.Contains(err.Error(), "ss@db"), err != nil)
	config, err := wire.ParseConfig("postgres://writer:p%40ss@db.example.com/shop")
	fmt.Println(config.Host, config.User, err)
	// Output:
	// false true
	// db.example.com writer <nil>
}
