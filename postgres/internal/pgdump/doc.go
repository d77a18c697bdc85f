// Package pgdump has pg_dump print the schema of a database: what makes it again beside the rows of its tables.
//
// pg_dump is the program of PostgreSQL for this, and knows every kind of object of every version. [Dump] runs one that
// is not older than the server, in the snapshot of the rows. The program connects to a socket of this process, in a
// directory that only the user can open, behind which is a connection that this process has made. So pg_dump gets no
// password, and the connection is the same as that of the rows, with its host, its TLS and its ways to authenticate.
package pgdump
