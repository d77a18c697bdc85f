// Command protogen generates Go code from a .proto file: the messages and the calls of gRPC. It writes the code to the
// package that the file names by go_package.
//
//	go run ./protogen [-check] FILE
//
// It runs in the directory of the module culvert/tools, and FILE is a path from the root of the repository. The compiler
// and the generators are Go modules with fixed versions, so that nobody has to install protoc. With -check it writes
// nothing, and fails if the existing code differs from the generated code.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/pluginpb"
)

// generators are the commands that generate code from a description. The second is not in go.mod because its tests need
// an old gRPC.
var generators = [][]string{
	{"tool", "protoc-gen-go"},
	{"run", "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2"},
}

// imports are the files that .proto files may import, beside those of Protocol Buffers itself. No Go module has the
// first one as text.
var imports = map[string]string{
	"google/rpc/status.proto": `syntax = "proto3";
package google.rpc;
import "google/protobuf/any.proto";
option go_package = "google.golang.org/genproto/googleapis/rpc/status;status";
message Status {
  int32 code = 1;
  string message = 2;
  repeated google.protobuf.Any details = 3;
}`,
}

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(name string, check bool) error {
	source := &protocompile.SourceResolver{ImportPaths: []string{".."}}
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
			source, &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(imports)},
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), append(slices.Sorted(maps.Keys(imports)), name)...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("module=culvert"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(anypb.File_google_protobuf_any_proto)},
	}
	for _, file := range files {
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(file))
	}
	for _, generator := range generators {
		if err := generate(generator, request, check); err != nil {
			return fmt.Errorf("%v: %w", generator, err)
		}
	}
	return nil
}

// generate runs one generator and writes its output.
func generate(generator []string, request *pluginpb.CodeGeneratorRequest, check bool) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.Command("go", generator...)
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, file := range response.File {
		name := filepath.Join("..", filepath.FromSlash(file.GetName()))
		if err := put(name, []byte(file.GetContent()), check); err != nil {
			return err
		}
	}
	return nil
}

func put(name string, content []byte, check bool) error {
	if !check {
		return os.WriteFile(name, content, 0o644)
	}
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, content) {
		return fmt.Errorf("%s is not what its .proto file makes: run go generate ./...", name)
	}
	return nil
}
