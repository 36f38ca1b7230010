// Package metrics reads the metrics of an etcd member, and estimates the latencies of its disk from their histograms.
package metrics
