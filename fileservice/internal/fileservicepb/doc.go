// Package fileservicepb is generated from fileservice.proto: the messages of the protocol, and the client and server
// sides of its calls. Read the .proto file instead.
//
// After a change to it, run go generate here. That needs only Go. ./dev lint fails if it was forgotten.
package fileservicepb

//go:generate go -C ../../../tools run ./protogen fileservice/fileservice.proto
