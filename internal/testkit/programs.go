package testkit

import "os/exec"

// PostgresPrograms returns the directory of initdb and postgres, or "" if they are not installed.
func PostgresPrograms() string { return postgresPrograms() }

// MariaDBProgram returns the path of a program of MariaDB, or "" if it is not installed.
func MariaDBProgram(name string) string { return mariaDBProgram(name) }

// Unprivileged has commands run in a directory, and if this process runs as root, which PostgreSQL refuses, as the user
// nobody, who gets the directory.
func Unprivileged(directory string, commands ...*exec.Cmd) error {
	for _, cmd := range commands {
		dropPrivileges(cmd)
		cmd.Dir = directory
	}
	return giveAway(directory)
}
