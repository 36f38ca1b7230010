// Package heap sets how often the garbage collector of Go runs.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// smallLive is the largest size of a small heap after a collection, in bytes.
	smallLive = 24 << 20
	// smallPercent is the growth of a small heap until the next collection. The heap grows to 96 MiB at most.
	smallPercent = 300
	usualPercent = 100
)

// CollectRarely lets the heap grow to four times its size while it is small, and to twice its size later, which is the default of
// Go. Most commands end with a small heap, and a sixth of their processor time was collections. CollectRarely changes nothing if
// the environment has GOGC.
func CollectRarely() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(smallPercent)
	watchCollections()
}

// watchCollections looks at the heap after each collection, which ends the life of a mark.
func watchCollections() {
	mark := new([16]byte) // a smaller mark would share a block with other objects, which would keep it
	runtime.AddCleanup(mark, func(struct{}) {
		if liveBytes() > smallLive {
			debug.SetGCPercent(usualPercent)
			return
		}
		watchCollections()
	}, struct{}{})
}

func liveBytes() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
