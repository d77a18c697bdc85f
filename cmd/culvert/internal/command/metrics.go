package command

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
)

// MetricsFlag is the address at which to serve figures for Prometheus; "" is none.
type MetricsFlag string

// Add adds the flag to a command.
func (f *MetricsFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "metrics", "", "serve figures for Prometheus at `ADDR`")
}

// Serve serves the figures of the collectors and of the process, if there is an address. It returns the URL.
func (f MetricsFlag) Serve(all ...prometheus.Collector) (url string, stop func() error, err error) {
	if f == "" {
		return "", func() error { return nil }, nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(all...)
	listener, err := net.Listen("tcp", string(f))
	if err != nil {
		return "", nil, ListenError(err, "--metrics", string(f))
	}
	const patience = 10 * time.Second
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry,
		promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: patience}))
	server := &http.Server{
		Handler: mux, MaxHeaderBytes: 16 << 10,
		ReadTimeout: patience, WriteTimeout: 2 * patience, IdleTimeout: time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/metrics", func() error {
		err := server.Close()
		if serveErr := <-ended; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return err
	}, nil
}
