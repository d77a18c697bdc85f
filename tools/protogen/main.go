// Command protogen makes Go code of a .proto file, beside it: the messages and the calls of gRPC.
//
//	go run ./protogen [-check] FILE
//
// It runs in the directory of the module culvert/tools, and FILE is a path from the root of the repository. The compiler
// and the generators are modules of Go with fixed versions, so that nobody has to install protoc. With -check it
// writes nothing and fails if the code is not what it would write.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// generators are the commands that make code of a description. The second is a module whose tests need an old gRPC, which
// would trouble go mod tidy here.
var generators = [][]string{
	{"tool", "protoc-gen-go"},
	{"run", "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2"},
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
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{".."}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	}
	for _, generator := range generators {
		if err := generate(generator, request, check); err != nil {
			return fmt.Errorf("%v: %w", generator, err)
		}
	}
	return nil
}

// generate runs one generator and takes what it makes.
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
