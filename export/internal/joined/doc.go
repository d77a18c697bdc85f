// Package joined reads the parts of a table, each in a file with a header of its own, as one text with one header.
package joined
