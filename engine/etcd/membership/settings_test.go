package membership_test

import (
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
