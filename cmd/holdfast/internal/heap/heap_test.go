package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// TestCollectRarely checks that the percentage is that of a small heap, until the heap is large.
func TestCollectRarely(t *testing.T) {
	t.Setenv("GOGC", "")
	before := readPercent()
	defer debug.SetGCPercent(before)
	CollectRarely()
	runtime.GC()
	if got := readPercent(); got != smallPercent {
		t.Errorf("a small heap may grow by %d %%", got)
	}
	large := make([]*[1 << 20]byte, 2*smallLive>>20)
	for i := range large {
		large[i] = new([1 << 20]byte)
	}
	for readPercent() != usualPercent { // a cleanup runs some time after the collection
		runtime.GC()
	}
	runtime.KeepAlive(large)
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
