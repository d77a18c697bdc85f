// Package fileservicepb is what the tools of Protocol Buffers make of fileservice.proto: the messages of package
// fileservice, and the two ends of its calls. Read the .proto file, not the code.
//
// After a change of it run go generate here, which needs nothing but Go; ./dev lint fails if that was forgotten.
package fileservicepb

//go:generate go -C ../../../tools run ./protogen fileservice/internal/fileservicepb/fileservice.proto
