package metrics

import (
	"fmt"
	"io"
	"math"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Parse reads the metrics of a member in the text format of Prometheus. The histograms of both latencies must exist and
// be valid.
func Parse(text io.Reader) (Counters, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return Counters{}, fmt.Errorf("parse metrics: %w", err)
	}
	var counters Counters
	for name, into := range map[string]*Histogram{
		"etcd_disk_wal_fsync_duration_seconds":      &counters.WALFsync,
		"etcd_disk_backend_commit_duration_seconds": &counters.BackendCommit,
	} {
		family := families[name]
		if len(family.GetMetric()) != 1 || family.GetType() != dto.MetricType_HISTOGRAM {
			return Counters{}, fmt.Errorf("parse metrics: no histogram %s", name)
		}
		*into = histogramOf(family.GetMetric()[0].GetHistogram())
		if !into.isValid() {
			return Counters{}, fmt.Errorf("parse metrics: the buckets of %s are out of order or not whole numbers", name)
		}
	}
	for _, m := range families["etcd_server_leader_changes_seen_total"].GetMetric() {
		counters.LeaderChanges = uint64(m.GetCounter().GetValue())
	}
	for _, m := range families["process_start_time_seconds"].GetMetric() {
		counters.Started = m.GetGauge().GetValue()
	}
	for _, m := range families["etcd_server_quota_backend_bytes"].GetMetric() {
		counters.Quota = bytesOf(m.GetGauge().GetValue())
	}
	counters.FailedMessages = failedMessages(families["etcd_network_peer_sent_failures_total"])
	return counters, nil
}

// maxPeers is the largest number of other members whose counters are kept. etcd recommends at most 7 members.
const maxPeers = 100

func failedMessages(family *dto.MetricFamily) map[string]uint64 {
	failed := map[string]uint64{}
	for _, m := range family.GetMetric() {
		for _, label := range m.GetLabel() {
			if count := m.GetCounter().GetValue(); label.GetName() == "To" && len(failed) < maxPeers && count >= 0 && count < math.MaxInt64 {
				failed[label.GetValue()] = uint64(count)
			}
		}
	}
	return failed
}

// bytesOf returns 0 for a value that cannot be a number of bytes.
func bytesOf(gauge float64) int64 {
	if gauge > 0 && gauge < math.MaxInt64 {
		return int64(gauge)
	}
	return 0
}

// histogramOf reads a histogram. Prometheus keeps counts that are not whole in other fields. For these, histogramOf returns an
// empty histogram, which isValid refuses.
func histogramOf(h *dto.Histogram) Histogram {
	histogram := Histogram{Sum: h.GetSampleSum()}
	for _, b := range h.GetBucket() {
		if b.CumulativeCountFloat != nil {
			return Histogram{}
		}
		histogram.Buckets = append(histogram.Buckets, Bucket{UpperBound: b.GetUpperBound(), Count: b.GetCumulativeCount()})
	}
	return histogram
}
