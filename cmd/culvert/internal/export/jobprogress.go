package export

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"culvert/cmd/culvert/internal/ui"
	"culvert/manifest"
	"culvert/workers"
)

// total returns the figures of the job so far.
func (e *coordination) total() ui.Figures {
	s := e.status.Load()
	if s == nil {
		return ui.Figures{}
	}
	// Those of the workers have the parts under way, and those of the job the parts of workers that have ended.
	var f ui.Figures
	for _, w := range s.Workers {
		f.Rows, f.In, f.Out = f.Rows+w.Rows, f.In+w.Text, f.Out+w.Out
	}
	return ui.Figures{Rows: max(f.Rows, s.Rows), In: max(f.In, s.Text), Out: max(f.Out, s.Out)}
}

func totalOf(m *manifest.Manifest) (f ui.Figures) {
	for i := range m.Tables {
		t := &m.Tables[i]
		f.Rows, f.In, f.Out = f.Rows+t.Rows, f.In+t.TextBytes, f.Out+t.FileBytes
	}
	return f
}

// progress returns how far the job is.
func (e *coordination) progress() ui.Status {
	s := e.status.Load()
	if s == nil {
		return ui.Status{Task: ui.Task{Name: e.job}}
	}
	f := e.total()
	all := ui.Task{
		Name: fmt.Sprintf("%d/%d parts", s.Done, s.Parts), Amount: ui.Several(f.Rows, "row"), Bytes: f.In,
		Done: float64(s.BytesIn) / float64(max(1, s.Bytes)),
	}
	if len(s.Workers) == 0 {
		all.Name += ", no worker"
	}
	var active []ui.Task
	for _, w := range s.Workers {
		active = append(active, ui.Task{Name: w.Name, Amount: ui.Several(w.Rows, "row"), Bytes: w.Text})
	}
	return ui.Status{Task: all, Active: active}
}

// figures returns those of the job.
func (e *coordination) figures() (all []prometheus.Collector) {
	for _, one := range []struct {
		name, help string
		value      func(*workers.Status) int64
	}{
		{"parts", "Parts of all tables.", func(s *workers.Status) int64 { return int64(s.Parts) }},
		{"parts_done", "Parts that are written.", func(s *workers.Status) int64 { return int64(s.Done) }},
		{"parts_waiting", "Parts that no worker has.", func(s *workers.Status) int64 { return int64(s.Waiting) }},
		{"parts_running", "Parts that workers have.", func(s *workers.Status) int64 { return int64(s.Running) }},
		{"tables", "Tables.", func(s *workers.Status) int64 { return int64(s.Tables) }},
		{"tables_failed", "Tables that have failed.", func(s *workers.Status) int64 { return int64(len(s.Failed)) }},
		{"rows_done", "Rows of parts that are written.", func(s *workers.Status) int64 { return s.Rows }},
		{"text_bytes_done", "Bytes of their text.", func(s *workers.Status) int64 { return s.Text }},
		{"file_bytes_done", "Bytes of their files.", func(s *workers.Status) int64 { return s.Out }},
		{"workers", "Workers that live.", func(s *workers.Status) int64 { return int64(len(s.Workers)) }},
	} {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "culvert", Subsystem: "job", Name: one.name, Help: one.help,
			ConstLabels: prometheus.Labels{"job": e.job},
		}, func() float64 {
			if s := e.status.Load(); s != nil {
				return float64(one.value(s))
			}
			return 0
		}))
	}
	return all
}
