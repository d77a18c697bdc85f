package pgconnect_test

import (
	"fmt"
	"strings"

	"culvert/internal/pgconnect"
)

// An error of a connection string has nothing of the password.
func ExampleParseConfig() {
	_, err := pgconnect.ParseConfig("postgres://writer:p@ss@db.example.com/shop")
	fmt.Println(strings.Contains(err.Error(), "ss@db"), err != nil)
	config, err := pgconnect.ParseConfig("postgres://writer:p%40ss@db.example.com/shop")
	fmt.Println(config.Host, config.User, err)
	// Output:
	// false true
	// db.example.com writer <nil>
}
