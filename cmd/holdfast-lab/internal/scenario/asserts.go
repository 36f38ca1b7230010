package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/engine"
)

func parseNumber(ts *testscript.TestScript, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 63)
	ts.Check(err)
	return n
}

func cmdBooted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: booted VERSION HOST…")
	}
	s := stageOf(ts)
	want := args[0]
	if known := ts.Getenv(want); known != "" {
		want = known
	}
	for _, name := range args[1:] {
		commit, version, err := s.findHost(ts, name).Booted(s.ctx)
		ts.Check(err)
		if commit != want {
			ts.Fatalf("%s runs %s (%.12s), not %s", name, version, commit, args[0])
		}
	}
}

func cmdBoots(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: boots TIMES HOST…")
	}
	s := stageOf(ts)
	for _, name := range args[1:] {
		boots, err := s.countBoots(s.findHost(ts, name))
		ts.Check(err)
		if want := int(parseNumber(ts, args[0])); boots != want {
			ts.Fatalf("%s booted %d times, not %d", name, boots, want)
		}
	}
}

func (s *stage) countBoots(h *lab.Host) (int, error) {
	events, err := h.PowerLog()
	if err != nil {
		return 0, err
	}
	boots := 0
	for _, e := range events {
		if strings.HasPrefix(e.Text, "boot ") && e.At.After(s.began) {
			boots++
		}
	}
	return boots, nil
}

func cmdBack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: back TIMES HOST…")
	}
	s := stageOf(ts)
	want := int(parseNumber(ts, args[0]))
	for _, name := range args[1:] {
		ts.Check(s.waitUntilOK(time.Minute, func() error {
			boots, err := s.countBoots(s.findHost(ts, name))
			if err == nil && boots < want {
				err = fmt.Errorf("%s booted %d times, not %d", name, boots, want)
			}
			return err
		}))
	}
	cmdUp(ts, neg, args[1:])
}

func (s *stage) readHold(h *lab.Host) (*engine.Hold, error) {
	text, err := h.Output(s.ctx, "sudo cat "+engine.HoldPath+" 2>/dev/null || [ ! -e "+engine.HoldPath+" ]")
	if err != nil || text == "" {
		return nil, err
	}
	hold := &engine.Hold{}
	return hold, json.Unmarshal([]byte(text), hold)
}

func cmdHeld(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: held HOST [REGEXP]")
	}
	s := stageOf(ts)
	h, err := s.readHold(s.findHost(ts, args[0]))
	ts.Check(err)
	if h == nil {
		ts.Fatalf("%s is not held", args[0])
	}
	said := h.String()
	if h.Step != "" {
		said += ", at step " + h.Step
	}
	if len(args) == 2 && !regexp.MustCompile(args[1]).MatchString(said) {
		ts.Fatalf("the hold of %s does not match %s: %s", args[0], args[1], said)
	}
}

func cmdFree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: free HOST…")
	}
	s := stageOf(ts)
	for _, name := range args {
		h, err := s.readHold(s.findHost(ts, name))
		ts.Check(err)
		if h != nil {
			ts.Fatalf("%s is %s", name, h)
		}
	}
}

// cmdLeader sets $leader to the host of a cluster's leader, and $follower1,
// $follower2 and so on to the hosts of the other members.
func cmdLeader(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "leader CLUSTER")
	s := stageOf(ts)
	c, ok := s.Lab.Spec().Cluster(args[0])
	if !ok {
		ts.Fatalf("the lab has no cluster %s", args[0])
	}
	followers := 0
	for _, name := range c.Hosts {
		status, err := s.findHost(ts, name).EtcdHealth(s.ctx)
		ts.Check(err)
		if status.Header.MemberId == status.Leader {
			ts.Setenv("leader", name)
			continue
		}
		followers++
		ts.Setenv("follower"+strconv.Itoa(followers), name)
	}
}

func cmdHealthy(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "healthy CLUSTER")
	s := stageOf(ts)
	c, ok := s.Lab.Spec().Cluster(args[0])
	if !ok {
		ts.Fatalf("the lab has no cluster %s", args[0])
	}
	for _, name := range c.Hosts {
		_, err := s.findHost(ts, name).EtcdHealth(s.ctx)
		ts.Check(err)
	}
}
