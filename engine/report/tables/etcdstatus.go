package tables

import (
	"fmt"
	"io"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/report/termtext"
)

// WriteEtcdStatus writes etcd clusters and their members, then the disk latencies of the members, and then
// the certificates.
func WriteEtcdStatus(w io.Writer, clusters []engine.ClusterStatus, style termtext.Style) error {
	w = termtext.Sized(w, style.Columns)
	clusters = termtext.Safe(clusters)
	var facts []etcdfacts.ClusterFacts
	var notes []string
	rows := [][]string{{"CLUSTER", "HOST", "WAL FSYNC P99", "IN BUCKET", "OF", "BACKEND COMMIT P99", "IN BUCKET", "OF", "WINDOW"}}
	for _, c := range clusters {
		facts = append(facts, c.ClusterFacts)
		if text := versionsText(c.ClusterFacts); text != "" {
			notes = append(notes, text)
		}
		for _, l := range c.Latency {
			row := append([]string{c.Name, l.Host}, quantileCells(l.WALFsyncP99Seconds, l.WALFsyncBucket)...)
			row = append(row, quantileCells(l.BackendCommitP99Seconds, l.BackendCommitBucket)...)
			rows = append(rows, append(row, time.Duration(l.Window).Round(windowDigits).String()))
		}
		for _, problem := range c.LatencyProblems {
			notes = append(notes, style.Yellow(problem))
		}
	}
	if err := WriteEtcd(w, facts, style); err != nil {
		return err
	}
	if len(rows) > 1 {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := termtext.WriteTable(w, rows); err != nil {
			return err
		}
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(w, note); err != nil {
			return err
		}
	}
	return writeCertificates(w, clusters)
}

// windowDigits is the precision of windows in the output.
const windowDigits = 100 * time.Millisecond

func quantileCells(value float64, bucket *engine.LatencyBucket) []string {
	switch {
	case bucket == nil:
		return []string{"-", "-", "0"}
	case bucket.HighSeconds == 0: // the last bucket has no upper bound, and the estimate is its lower bound
		return []string{"> " + termtext.FormatLatency(value), "> " + termtext.FormatLatency(bucket.LowSeconds), fmt.Sprint(bucket.Observed)}
	}
	bounds := termtext.FormatLatency(bucket.LowSeconds) + " to " + termtext.FormatLatency(bucket.HighSeconds)
	return []string{termtext.FormatLatency(value), bounds, fmt.Sprint(bucket.Observed)}
}
