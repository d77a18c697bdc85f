package serve

import (
	"context"
	"errors"
	"io/fs"

	"github.com/prometheus/client_golang/prometheus"

	"culvert/fileservice"
	"culvert/fileservice/server"
)

// metrics are the figures of a server for Prometheus. Their labels have few values, whatever clients do.
type metrics struct {
	bytesRead             prometheus.Counter
	bytesWritten          prometheus.Counter
	calls                 *prometheus.CounterVec
	seconds               *prometheus.HistogramVec
	connections, rejected prometheus.Counter
	open                  prometheus.Gauge
}

// latencies are the bounds of the histogram in seconds: from a call within a machine to one that takes a minute.
var latencies = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "culvert", Name: name, Help: help})
	}
	return &metrics{
		bytesRead:    counter("read_bytes_total", "Bytes of files that were read for clients."),
		bytesWritten: counter("written_bytes_total", "Bytes of files that clients have written."),
		connections:  counter("connections_total", "Connections that were made."),
		rejected:     counter("rejected_connections_total", "Connections that were not let in, or were too many."),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "culvert", Name: "connections", Help: "Connections that there are.",
		}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "culvert", Name: "calls_total", Help: "Calls that have ended, by how they ended.",
		}, []string{"method", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "culvert", Name: "call_duration_seconds", Help: "Time that calls took.", Buckets: latencies,
		}, []string{"method"}),
	}
}

func (m *metrics) called(call server.Call) {
	m.bytesRead.Add(float64(call.BytesRead))
	m.bytesWritten.Add(float64(call.BytesWritten))
	m.calls.WithLabelValues(call.Method, resultOf(call.Err)).Inc()
	m.seconds.WithLabelValues(call.Method).Observe(call.Duration.Seconds())
}

// resultOf is the value of the label result.
func resultOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, fileservice.ErrChanged):
		return "changed"
	case errors.Is(err, fileservice.ErrRefused):
		return "refused"
	case errors.Is(err, fileservice.ErrIntegrity):
		return "integrity"
	case errors.Is(err, fs.ErrNotExist):
		return "not_found"
	case errors.Is(err, fs.ErrExist):
		return "exists"
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	case errors.Is(err, fs.ErrInvalid):
		return "invalid"
	}
	return "error"
}

// startMetrics returns the figures to whoever asks at the address of --metrics, if there is one.
func (s *serving) startMetrics() (stop func() error, err error) {
	m := s.observer.metrics
	s.report.Metrics, stop, err = s.options.metrics.Serve(m.bytesRead, m.bytesWritten, m.calls, m.seconds,
		m.connections, m.rejected, m.open)
	return stop, err
}
