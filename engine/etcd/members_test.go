package etcd_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcd/membership"
)

// TestChangeMembers adds, promotes and removes members of a real cluster, and checks etcd's list.
func TestChangeMembers(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	learner := cluster.AddUnstarted(t)
	client := openCluster(t, newConfig(cluster))
	await := func(want string) etcd.MemberList {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		last := ""
		for {
			list := client.Members(ctx)
			got := describeList(list)
			if got == want {
				return list
			}
			if ctx.Err() != nil { // after the end of the context, the list only shows missing answers
				t.Fatalf("members %s, want %s", last, want)
			}
			last = got
			time.Sleep(50 * time.Millisecond) // etcd has no event to wait for
		}
	}

	list := await("etcd-0 voter healthy; ? learner")
	if list.Members[0].Host != "etcd-0" || list.Members[1].Host != learner.Host || len(list.PeerURLs[list.Members[1].ID]) != 1 || !strings.HasPrefix(list.Version, "3.") {
		t.Errorf("%+v", list)
	}
	if err := client.Promote(t.Context(), list.Members[1].ID); err == nil || !etcd.IsPassing(err) {
		t.Errorf("a learner that has not started is promoted: %v", err)
	}
	if err := client.AddLearner(t.Context(), "http://10.255.255.1:2380"); err == nil || etcd.IsPassing(err) {
		t.Errorf("a second learner: %v", err)
	}
	awaitFailedMessages(t, client, list.Members[1].ID)
	if err := client.RemoveMember(t.Context(), list.Members[1].ID); err != nil {
		t.Fatal(err)
	}
	await("etcd-0 voter healthy")
	if err := client.RemoveMember(t.Context(), list.Members[1].ID); err != nil { // an answer may be lost
		t.Errorf("a member that is gone is removed again: %v", err)
	}

	cluster.Members = cluster.Members[:1] // the other member was removed
	started := cluster.AddLearner(t)
	client = openCluster(t, newConfig(cluster))
	list = await("etcd-0 voter healthy; " + started.Name + " learner healthy caught up")
	if err := client.CheckPorts(t.Context(), "etcd-0", list.PeerURLs[list.Members[1].ID]); err != nil {
		t.Error(err)
	}
	if err := client.CheckPorts(t.Context(), "etcd-0", []string{"http://" + started.Address + ":1"}); err == nil {
		t.Error("a port that nobody listens on is reached")
	}
	if err := client.Promote(t.Context(), strconv.FormatUint(started.ID(), 16)); err != nil {
		t.Fatal(err)
	}
	await("etcd-0 voter healthy; " + started.Name + " voter healthy")
	if err := client.Promote(t.Context(), strconv.FormatUint(started.ID(), 16)); err != nil { // an answer may be lost
		t.Errorf("a voter is promoted again: %v", err)
	}
	if _, err := client.MoveLeader(t.Context(), "etcd-0"); err != nil {
		t.Fatal(err)
	}
	if err := client.RemoveMember(t.Context(), strconv.FormatUint(cluster.Members[0].ID(), 16)); err != nil {
		t.Fatal(err)
	}
	remaining := newConfig(cluster)
	remaining.Peers = remaining.Peers[1:] // a request may crash an etcd that stops after its removal
	client = openCluster(t, remaining)
	await(started.Name + " voter healthy")
	if err := client.RemoveMember(t.Context(), "nonsense"); err == nil {
		t.Error("a member without an ID is removed")
	}

	started.Stop()
	await("")
	if err := client.RemoveMember(t.Context(), "1"); err == nil || !etcd.IsPassing(err) { // members may answer again
		t.Errorf("without a healthy voter: %v", err)
	}
}

func describeList(list etcd.MemberList) string {
	text := list.Problem
	for _, m := range list.Members {
		if text != "" {
			text += "; "
		}
		text += describeMember(m)
	}
	return text
}

func describeMember(m membership.Member) string {
	name, role := m.Name, " voter"
	if name == "" {
		name = "?"
	}
	if m.Learner {
		role = " learner"
	}
	health := ""
	if m.Healthy {
		health = " healthy"
	}
	if m.CaughtUp {
		health += " caught up"
	}
	return fmt.Sprint(name, role, health)
}

// TestMembersWithoutReplaced checks that a host with data of a replaced cluster does not count, although its etcd
// answers.
func TestMembersWithoutReplaced(t *testing.T) {
	t.Parallel()
	cluster, old := etcdtest.Start(t, 1, etcdtest.Options{}), etcdtest.Start(t, 1, etcdtest.Options{})
	cfg := newConfig(cluster)
	back := newConfig(old).Peers[0]
	back.Host = "back"
	cfg.Peers = append(cfg.Peers, back)
	client := openCluster(t, cfg)
	if list := client.Members(t.Context()); list.Problem == "" {
		t.Errorf("two clusters are taken for one: %+v", list)
	}
	list := client.Members(t.Context(), "back")
	if list.Problem != "" || len(list.Members) != 1 || !list.Members[0].Healthy || list.Members[0].Host != "etcd-0" {
		t.Errorf("%+v", list)
	}
	if revision, err := client.Revision(t.Context(), "etcd-0"); err != nil || revision < 1 {
		t.Error(revision, err)
	}
}

// awaitFailedMessages waits until the member on etcd-0 counts messages to another member as failed.
func awaitFailedMessages(t *testing.T, client *etcd.Cluster, member string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		failed, err := client.FailedMessages(ctx, "etcd-0", member)
		if err != nil {
			t.Fatal(err)
		}
		if failed > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond) // etcd has no event to wait for
	}
}
