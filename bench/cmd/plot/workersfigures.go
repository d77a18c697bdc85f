package main

// workersTime draws what the queue costs on one machine, and what more workers bring.
func workersTime(r *recording) chart {
	var groups []group
	embedded := comparison{unit: "ns/op", peer: "file"}
	some := r.where("queue", "embedded")
	alone, ok := embedded.speedUp(some, "culvert")
	if !ok {
		return nil
	}
	embedded.labels = map[string]string{"file": "one file, no queue", "culvert": "parts of 16 MiB, embedded queue"}
	groups = append(groups, group{"one process", embedded.bars(some)})
	title := "Embedded queue: " + times(alone) + " as fast as one file"
	limited := comparison{
		unit: "ns/op", peer: "one", labels: map[string]string{"one": "1 worker", "culvert": "4 workers"},
	}
	some = r.where("limit", "fifth")
	if more, ok := limited.speedUp(some, "culvert"); ok {
		groups = append(groups, group{"workers with a fifth of a core each", limited.bars(some)})
		title += "; four workers: " + times(more) + " as fast as one"
	}
	return &bars{
		heading{title, measured(r, "PostgreSQL, zstd, encrypted")},
		fit(axis{label: "time; less is better", unit: "ns/op"}, groups), groups,
	}
}
