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
	// usualLive is the largest size of a usual heap after a collection, in bytes.
	usualLive    = 80 << 20
	usualPercent = 100
	// largePercent is the growth of a larger heap: a plan of 10,000 hosts has 200 MiB, on a bastion that may have little memory.
	largePercent = 40
)

// CollectRarely lets the heap grow to four times its size while it is small, to twice its size later, which is the default of Go,
// and by two fifths once it is large. Most commands end with a small heap, and a sixth of their processor time
// was collections. CollectRarely changes nothing if the environment has GOGC.
func CollectRarely() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(smallPercent)
	watchCollections(smallLive)
}

// watchCollections looks at the heap after each collection, which ends the life of a mark, until the heap has grown beyond
// all limits. limit is the one that it has not reached yet.
func watchCollections(limit uint64) {
	mark := new([16]byte) // a smaller mark would share a block with other objects, which would keep it
	runtime.AddCleanup(mark, func(limit uint64) {
		switch live := liveBytes(); {
		case live > usualLive:
			debug.SetGCPercent(largePercent)
			return
		case live > limit:
			debug.SetGCPercent(usualPercent)
			limit = usualLive
		}
		watchCollections(limit)
	}, limit)
}

func liveBytes() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}
