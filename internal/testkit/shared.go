package testkit

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Password is the password of the shared servers for the network.
const Password = "hunter22"

// StartShared starts the servers that [Postgres] and [MariaDB] return, for several test binaries, as far as they are
// installed. It returns the variables of the environment by which a test binary finds them, and a function that ends
// them. They also end with this process.
func StartShared() (variables []string, stop func() error, err error) {
	var stops []func() error
	stop = func() (err error) {
		for _, one := range stops {
			err = errors.Join(err, one())
		}
		return err
	}
	if postgresPrograms() != "" {
		server, err := sharedPostgres()
		if err != nil {
			return nil, stop, fmt.Errorf("starting PostgreSQL: %w", err)
		}
		stops = append(stops, server.remove)
		variables = append(variables, fmt.Sprintf("%s=%d %s", postgresVariable, server.port, server.directory))
	}
	if hasMariaDB() {
		server, err := sharedMariaDB()
		if err != nil {
			return nil, stop, fmt.Errorf("starting MariaDB: %w", err)
		}
		stops = append(stops, server.remove)
		variables = append(variables, fmt.Sprintf("%s=%d %s", mariaDBVariable, server.port, server.directory))
	}
	return variables, stop, nil
}

// ProcessMark are digits that no other test binary of a run has, before or after: process numbers are used again.
var ProcessMark = fmt.Sprintf("%07d%d", time.Now().Unix()%1e7, os.Getpid())

// databaseName returns the name of a database that no other test has, nor one of another test binary.
func databaseName(number int64) string { return fmt.Sprintf("test%s%04d", ProcessMark, number) }

// parseShared reads the value of a variable of [StartShared].
func parseShared(value string, port *int, directory *string) (err error) {
	number, path, _ := strings.Cut(value, " ")
	*directory = path
	*port, err = strconv.Atoi(number)
	return err
}
