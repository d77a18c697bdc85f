package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"culvert/fileservice/client"
	"culvert/fileservice/server"
	"culvert/place"
	"culvert/place/placetest"
)

func TestRemotePlace(t *testing.T) {
	placetest.Run(t, func(t *testing.T) place.Place {
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		server, err := server.New(server.Config{Root: root, Writable: true})
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		client, err := client.New(client.Config{
			Dial: func(ctx context.Context) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(client.Close(), server.Close(), <-served, root.Close()); err != nil {
				t.Error(err)
			}
		})
		return remotePlace{client}
	})
}
