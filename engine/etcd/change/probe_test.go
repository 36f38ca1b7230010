package change

import (
	"fmt"
	"strings"
	"testing"
)

// TestReplacedClusters: what hosts remember of restores tells old data from new ones, also after another restore.
func TestReplacedClusters(t *testing.T) {
	t.Parallel()
	read := func(text string) hostState { return readProbe(strings.ReplaceAll("\n"+text, "\n", "\nreplaced ")) }
	first := read("cluster c0\nhost b c1\nhost b\ncluster\nsomething else\n").replaced
	again := read("cluster c0\ncluster c1\nhost b c1\nhost c c2\n").replaced
	for _, c := range []struct {
		memory        replacedClusters
		host, cluster string
		want          bool
	}{
		{first, "a", "c0", true},
		{first, "a", "c1", false},
		{first, "a", "unknown", false}, // it was there: nobody said that its data are old
		{first, "b", "unknown", true},
		{first, "b", "c1", false},
		{first, "b", "", false}, // data of which nobody knows whose they are
		{again, "b", "c1", true},
		{again, "b", "c2", false}, // it has joined since
		{again, "c", "c2", false},
		{again, "c", "c1", true},
	} {
		if got := c.memory.hasData(c.host, c.cluster); got != c.want {
			t.Errorf("%q: data of %s on %s: %v", c.memory, c.cluster, c.host, got)
		}
	}
	if got := read(again.String()).replaced.String(); got != again.String() || strings.Count(first.String(), "\n") != 2 {
		t.Errorf("%q, %q", got, first)
	}
	var many replacedClusters
	for i := range 2 * maxReplaced {
		many.addLine(fmt.Sprint("cluster ", i))
	}
	if len(many.clusters) != maxReplaced {
		t.Error(len(many.clusters))
	}
}
