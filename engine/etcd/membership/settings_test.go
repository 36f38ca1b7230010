package membership_test

import (
	"errors"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
)

// TestUnreadSettingsComeFirst: where a run ended early, its script may still be about to restart etcd. A script on the same host waits
// for it, one on another host would restart a second voter.
func TestUnreadSettingsComeFirst(t *testing.T) {
	t.Parallel()
	s := membership.State{Cluster: "main", Saved: true}
	for _, name := range []string{"a", "b", "c"} {
		s.Members = append(s.Members, membership.Member{ID: name + "1", Name: name, Host: name, Healthy: true, Leader: name == "c"})
		s.Hosts = append(s.Hosts, membership.Host{Name: name, HasData: true, Running: true, Settings: membership.Settings{Change: "x: 1 → 2", Unread: name == "b"}})
	}
	if step, err := membership.Next(s); err != nil || step.Action != membership.Configure || step.Host != "b" {
		t.Errorf("%+v, %v", step, err)
	}
	s.Hosts[1].Settings.Unread, s.Hosts[2].Settings.Unread = false, true
	if step, err := membership.Next(s); err != nil || step.Action != membership.MoveLeader || step.Host != "c" {
		t.Errorf("%+v, %v", step, err)
	}
}

// TestUnreachableHostStopsRestarts: nobody knows the settings of etcd, and the CAs that it trusts, on a host that does not answer. No other
// member gets other settings or certificates meanwhile, although etcd answers for all.
func TestUnreachableHostStopsRestarts(t *testing.T) {
	t.Parallel()
	for cause, change := range map[string]func(*membership.Host){
		"settings of etcd are to change": func(h *membership.Host) { h.Settings.Change = "x: 1 → 2" },
		"certificates are to be issued":  func(h *membership.Host) { h.Certificates.Due = "they expire soon" },
	} {
		s := rotating()
		s.CA, s.Members[0].Leader = "old", false
		for i := range s.Hosts {
			change(&s.Hosts[i])
		}
		if step, err := membership.Next(s); err != nil || step.Host != "a" {
			t.Errorf("%s: %+v, %v", cause, step, err)
		}
		s.Hosts[0].Unreachable = "no route to host"
		_, err := membership.Next(s)
		if r := (*membership.Refusal)(nil); !errors.As(err, &r) || r.Host != "a" || !strings.Contains(r.Text, cause+", and host a is unreachable") {
			t.Errorf("%s: %v", cause, err)
		}
	}
}
