package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestCollectRarely checks that the percentage is that of a small heap, of a usual one, and of a large one.
func TestCollectRarely(t *testing.T) {
	t.Setenv("GOGC", "")
	before := readPercent()
	defer debug.SetGCPercent(before)
	CollectRarely()
	runtime.GC()
	if got := readPercent(); got != smallPercent {
		t.Errorf("a small heap may grow by %d %%", got)
	}
	var kept []*[1 << 20]byte
	for _, c := range []struct{ size, percent int }{{2 * smallLive, usualPercent}, {2 * usualLive, largePercent}} {
		for len(kept) < c.size>>20 {
			kept = append(kept, new([1 << 20]byte))
		}
		for readPercent() != c.percent { // a cleanup runs some time after the collection
			runtime.GC()
		}
	}
	runtime.KeepAlive(kept)
}

// TestGivenPercentage checks that a percentage in the environment counts.
func TestGivenPercentage(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := readPercent()
	CollectRarely()
	if got := readPercent(); got != before {
		t.Errorf("the heap may grow by %d %% instead of %d %%", got, before)
	}
}

// readPercent changes nothing: debug.SetGCPercent, called twice, could undo a change of the cleanup.
func readPercent() int {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	return int(percent[0].Value.Uint64())
}
