package server_test

import (
	"errors"
	"io"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// TestCapabilities asks a server that is writable and one that is not.
func TestCapabilities(t *testing.T) {
	for _, writable := range []bool{false, true} {
		address := filetest.Listen(t, t.TempDir(), func(c *server.Config) { c.Writable = writable })
		c := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
		got, err := c.Capabilities(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Check(); err != nil {
			t.Error(err)
		}
		if got.Writable != writable || got.MaxMessageSize < 64<<10 ||
			got.MaxSmallFiles != fileservice.MaxSmallFiles || got.MaxSmallFileSize != fileservice.SmallFileSize {
			t.Errorf("writable %v: %+v", writable, got)
		}
		for what, change := range map[string]func(*fileservice.Capabilities){
			"version":    func(c *fileservice.Capabilities) { c.Version++ },
			"sum":        func(c *fileservice.Capabilities) { c.SumName = "SHA-256" },
			"block size": func(c *fileservice.Capabilities) { c.BlockSize *= 2 },
		} {
			other := got
			change(&other)
			if err := other.Check(); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("with another %s: %v", what, err)
			}
		}
	}
}

// TestHealth asks for the health of a server, and for its services.
func TestHealth(t *testing.T) {
	for _, reflected := range []bool{false, true} {
		address := filetest.Listen(t, t.TempDir(), func(c *server.Config) { c.Reflection = reflected })
		conn := filetest.RawConn(t, address)
		health, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("the health is %v, %v", health.GetStatus(), err)
		}
		services := map[string]bool{}
		stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		request := &reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
		}
		if err := stream.Send(request); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		response, err := stream.Recv()
		if (err == nil) != reflected {
			t.Errorf("reflection %v: %v", reflected, err)
		}
		for _, service := range response.GetListServicesResponse().GetService() {
			services[service.GetName()] = true
		}
		if services["culvert.fileservice.v1.FileService"] != reflected {
			t.Errorf("reflection %v: the services are %v", reflected, services)
		}
	}
}
