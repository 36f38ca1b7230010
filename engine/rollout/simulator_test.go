package rollout_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
	"holdfast/engine/simulator"
)

var (
	seed = flag.Uint64("seed", 0, "the one history that TestSimulator plays; 0: all of them")
	last = flag.Uint64("last", 0, "the last of the histories that TestSimulator plays, from -seed on")
)

// brokenSeeds are seeds whose histories once broke a law, apart from those that every
// TestSimulator plays.
var brokenSeeds = []uint64{
	1798, 7011, 7012, 7230, 10458, 11204, 12796, 12986, 16502, 16698, 18247, 18931, 20932, 21824, 22512, 23840, 24275, 27619, 30245, 32207, 32409, 32931, 36176, 36695, 37695, 42980, 60968, 61270, 63820, 67866, 302142,
}

// TestSimulator plays random histories of random sites: apply runs repeatedly,
// from two bastions, with faults of hosts, bastions, people and the network. No
// event breaks a law. Each run reports its end and its hosts correctly. A last
// run without incidents finishes, and one more run changes nothing. A seed
// always makes the same history.
func TestSimulator(t *testing.T) {
	if *seed != 0 {
		for s := *seed; s <= max(*seed, *last); s++ {
			simulateSeed(t, s)
		}
		return
	}
	all := uint64(longtest.Choose(quickHistories, usualHistories, allHistories))
	shards := uint64(runtime.GOMAXPROCS(0))
	for shard := range shards {
		t.Run(fmt.Sprintf("%d of %d", shard+1, shards), func(t *testing.T) {
			t.Parallel()
			for s := shard + 1; s <= all && !t.Failed(); s += shards {
				simulateSeed(t, s)
			}
			for i := shard; i < uint64(len(brokenSeeds)); i += shards {
				simulateSeed(t, brokenSeeds[i])
			}
		})
	}
}

func simulateSeed(t *testing.T, seed uint64) {
	t.Helper()
	h := newHistory(seed)
	err := runInBubble(t, h.playHistory)
	if err == nil {
		return
	}
	small, smallErr := shrinkHistory(t, h, err)
	t.Errorf("seed %d: go test ./engine/rollout -run TestSimulator -seed %d\n%s\n%v\nwith less in it: %s\n%v", seed, seed, h, err, small, smallErr)
}

// shrinkHistory removes parts of a failing history that are not needed for the
// failure, within a limited number of attempts.
func shrinkHistory(t *testing.T, h history, err error) (history, error) {
	t.Helper()
	for plays := 0; plays < 500; {
		before := h
		for _, less := range h.smallerHistories() {
			plays++
			if e := runInBubble(t, less.playHistory); e != nil {
				h, err = less, e
				break
			}
		}
		if len(before.String()) == len(h.String()) {
			break
		}
	}
	return h, err
}

// A run learns a version from the staged OS of another host, and leaves a host out because of max_skew. Later no host has
// that OS, so no plan knows its version: the next run stages the OS on the host first, and leaves the host out then.
func TestForgottenVersion(t *testing.T) {
	pool := func(name string, after ...string) engine.Pool {
		return engine.Pool{Name: name, OS: &engine.OS{Driver: "simulator"}, Timeouts: shortTimeouts(), After: after}
	}
	same := 0
	last := pool("w1", "w0")
	last.MaxSkew = &same
	h := history{
		inv: engine.Inventory{
			Site: "skewed", Pools: []engine.Pool{pool("a"), pool("w0"), last},
			Hosts: []engine.Host{{Name: "a-0", Pool: "a"}, {Name: "w0-0", Pool: "w0"}, {Name: "w1-0", Pool: "w1"}},
		},
		labels: map[string]string{simulator.V1: "4.17.3", simulator.V2: "4.18.1", simulator.V3: "5.0.1"},
		os:     []map[string]string{{"a": simulator.V2, "w0": simulator.V2, "w1": simulator.V2}, {"a": simulator.V3, "w0": simulator.V2, "w1": simulator.V3}},
		acts:   []act{{paused: []string{"w0", "w1"}, pause: time.Hour, runs: []enacted{{over: true, troubles: []incident{{kind: "killed", at: 5}}}}}},
	}
	failOnErrors(t, runInBubble(t, h.playHistory))
}

// TestSameSeedSameStory plays histories twice and compares them. Parallel
// operations at the same nanosecond have no order.
func TestSameSeedSameStory(t *testing.T) {
	for s := range uint64(longtest.Choose(quickTwice, usualTwice, 100)) {
		var tales [2]string
		for i := range tales {
			h := newHistory(s + 1)
			h.tell = func(tale string) {
				lines := strings.Split(tale, "\n")
				// The first Ctrl-C may or may not be journaled if the second
				// comes at the same moment.
				lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, ": "+string(event.Interrupted)+" ") })
				slices.Sort(lines)
				tales[i] = strings.Join(lines, "\n")
			}
			failOnErrors(t, runInBubble(t, h.playHistory))
		}
		if tales[0] != tales[1] {
			t.Fatalf("seed %d tells\n%s\nand then\n%s", s+1, tales[0], tales[1])
		}
	}
}
