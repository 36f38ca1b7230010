package bastion

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestFilter: a filter gets its input and returns its output; its failure shows standard error, never endless.
func TestFilter(t *testing.T) {
	t.Parallel()
	c := Commands{Dir: t.TempDir()}
	out, err := c.Filter(context.Background(), []string{"sh", "-c", `cat; pwd; echo "$1"`, "sh", "a b; c"}, []byte("request\n"))
	if err != nil || string(out) != "request\n"+c.Dir+"\na b; c\n" {
		t.Errorf("%q, %v", out, err)
	}
	_, err = c.Filter(context.Background(), []string{"sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x >&2; printf 'the token\\033 has expired\\n' >&2; exit 3"}, nil)
	if err == nil || !strings.HasSuffix(err.Error(), `the token\x1b has expired`) || !strings.Contains(err.Error(), "exit status 3") || len(err.Error()) > 2000 {
		t.Errorf("%.3000v", err)
	}
	if _, err := c.Filter(context.Background(), []string{"there-is-no-such-program"}, nil); err == nil {
		t.Error("ran a program that is not there")
	}
	out, err = c.Filter(context.Background(), []string{"sh", "-c", "head -c 3000000 /dev/zero"}, nil)
	if err != nil || len(out) != maxOutput {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// TestFilterEnds: a program that does not end is ended, with all that it has started.
func TestFilterEnds(t *testing.T) {
	t.Parallel()
	c := Commands{Dir: t.TempDir(), grace: 100 * time.Millisecond, filterTime: time.Millisecond}
	_, err := c.Filter(context.Background(), []string{"sh", "-c", "trap '' TERM; sleep 1000 & wait; sleep 1000"}, nil)
	if err == nil || !strings.Contains(err.Error(), "it has not ended within 1ms") {
		t.Error(err)
	}
}
