package main

var partsLabels = map[string]string{"file": "culvert export, one file", "culvert": "culvert export --part-size 16MiB"}

func partsTime(r *recording) chart {
	c := comparison{unit: "ns/op", peer: "file", labels: partsLabels}
	whole := r.where("size", "16MiB")
	return oneGroup(whole, c, "Table in parts of 16 MiB: %s as fast as in one file", "zstd, encrypted")
}
