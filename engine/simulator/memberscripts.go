package simulator

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/change"
	"holdfast/engine/hold"
	"holdfast/engine/rollout"
)

// memberHost is the state that changes of members leave on a host.
type memberHost struct {
	enabled  bool // etcd starts with the host
	started  time.Time
	record   string
	settings map[string]string // settings of etcd, by name
	tuned    string            // settings of the inventory
}

// RunMemberScript runs a script of package change on a host.
func (b *Bastion) RunMemberScript(ctx context.Context, host engine.Host, s change.Script) (rollout.Reply, error) {
	if _, err := b.Connect(ctx, host); err != nil {
		return rollout.Reply{}, err
	}
	h := b.site.hosts[host.Name]
	var reply rollout.Reply
	err := b.deliverCall(ctx, Call{Verb: string(s.Purpose), Host: h.Name}, func(now time.Time) error {
		if !h.up || h.cut {
			return errLost
		}
		reply = h.runMemberScript(b, s, now)
		return nil
	})
	if errors.Is(err, errFails) {
		return rollout.Reply{Code: 1, Stderr: err.Error() + "\n"}, nil
	}
	return reply, err
}

func (h *Host) runMemberScript(b *Bastion, s change.Script, now time.Time) rollout.Reply {
	if s.Purpose == change.Purpose(hold.ReadScript) {
		b.lawNotes().See(&h.law)
	}
	if reply, known := h.runHoldScript(b, hold.Script{Purpose: hold.Purpose(s.Purpose), Text: s.Text}, now); known {
		return reply
	}
	switch s.Purpose {
	case change.ProbeHost:
		return rollout.Reply{Stdout: h.answerLook(now)}
	case change.AskVersion:
		return rollout.Reply{Stdout: "etcd Version: 3.6.4\n"}
	case change.CheckNewHost:
		return rollout.Reply{Stdout: "sync 0.001 200\n"}
	default:
		return h.changeMember(b, s, now)
	}
}

// changeMember carries out a script that needs the hold of the run.
func (h *Host) changeMember(b *Bastion, s change.Script, now time.Time) rollout.Reply {
	if !h.isHolder(b.holdOwner()) {
		return h.refuseHeld()
	}
	h.site.addToLog("%s: %s on %s", b.ID, s.Purpose, h.Name)
	vars := scriptVariables(s.Text)
	switch s.Purpose {
	case change.RecordChange:
		h.members.record = vars["newrecord"]
	case change.EndChange:
		h.members.record = ""
		if h.members.settings["ETCD_INITIAL_CLUSTER_STATE"] == "new" {
			h.members.settings["ETCD_INITIAL_CLUSTER_STATE"] = "existing"
		}
	case change.StartEtcd:
		h.members.settings, h.members.enabled = map[string]string{}, true
		for line := range strings.Lines(vars["newsettings"]) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			h.members.settings[name] = value
		}
		h.members.tuned = vars["tunedtext"]
		h.startEtcd(b, now)
		h.units = h.enabledUnits()
	case change.ConfigureEtcd:
		b.law().CheckConfigure(b.site.observedCluster(h.host.Cluster), &h.law)
		h.members.tuned = vars["tunedtext"]
		h.restartMember(now)
	case change.SetDataAside:
		b.law().CheckSetAside(&h.law, h.member != nil && h.member.id == h.data)
		h.members, h.etcd, h.data = memberHost{}, false, ""
		h.units = slices.DeleteFunc(h.units, func(u string) bool { return u == "etcd.service" })
	default: // of a restore or of certificates, which the simulator does not have
		return notFound
	}
	return rollout.Reply{}
}

func (h *Host) answerLook(now time.Time) string {
	text := fmt.Sprintf("clock %d\n", h.clockTime(now).Unix())
	if h.etcd {
		text += "running\n"
	}
	if h.members.record != "" {
		text += "record " + h.members.record + "\n"
	}
	for line := range strings.Lines(h.members.tuned) {
		text += "setting " + line
	}
	if h.data != "" {
		text += "data\nwal " + hex.EncodeToString(encodeWAL(h.data)) + "\n"
	}
	return text
}

func (h *Host) restartMember(now time.Time) {
	h.etcd, h.since, h.lost = !h.traits.NoEtcd, now, now
	h.noteMemberStart()
}

func (h *Host) noteMemberStart() { h.memberOS, h.stale, h.runsOn = h.booted, false, false }

// startEtcd starts the etcd of the host. Without data, its settings decide: etcd founds a new cluster, or it joins the cluster
// that lists it. It joins only if the settings name exactly the listed members. The bastion is nil at a boot.
func (h *Host) startEtcd(b *Bastion, now time.Time) {
	c := h.site.clusters[h.host.Cluster]
	h.etcd, h.members.started = false, now
	h.noteMemberStart()
	switch {
	case h.traits.NoEtcd:
	case h.data != "":
		h.etcd = true
	case h.members.settings["ETCD_INITIAL_CLUSTER_STATE"] == "new":
		c.foundCluster(h)
	case h.member != nil && !h.member.joined && c.leader != nil && maps.Equal(c.peerURLs(h), settingsURLs(h.members.settings)):
		h.data, h.etcd = h.member.id, true
	}
}

// foundCluster makes a host the only voter of a new cluster, which replaces the cluster before.
func (c *cluster) foundCluster(h *Host) {
	h.site.observe().CheckFounded(&h.law, slices.ContainsFunc(c.peers, func(p *peer) bool { return p.host.data == p.id }))
	for _, p := range c.peers {
		p.host.member = nil
	}
	c.peers = nil
	h.data, h.etcd = c.addPeer(h, false).id, true
}

// peerURLs returns the names of the members by URL, as the settings of a joining member must have them.
func (c *cluster) peerURLs(joins *Host) map[string]string {
	names := map[string]string{}
	for _, p := range c.peers {
		names[PeerURL(p.host.host)] = p.name()
		if p.host == joins {
			names[PeerURL(p.host.host)] = joins.Name
		}
	}
	return names
}

// PeerURL returns the URL at which other members reach the member of a host.
func PeerURL(h engine.Host) string { return "http://" + h.Address + ":2380" }

func settingsURLs(settings map[string]string) map[string]string {
	names := map[string]string{}
	for _, entry := range strings.Split(settings["ETCD_INITIAL_CLUSTER"], ",") {
		name, url, _ := strings.Cut(entry, "=")
		names[url] = name
	}
	return names
}

// Operations of tests on members, without holdfast.

// LeaveCluster removes the member of the host and all its traces, as if the host never had a member.
func (h *Host) LeaveCluster() {
	h.site.withLock(func(time.Time) {
		if h.member != nil {
			h.site.clusters[h.host.Cluster].removePeer(h.member)
		}
		h.members, h.etcd, h.data, h.units = memberHost{}, false, "", nil
		h.units = h.enabledUnits()
	})
}

// RestartMember starts the etcd of a host that has the data of a listed member.
func (h *Host) RestartMember() {
	h.site.withLock(func(time.Time) {
		if !h.etcd && h.up && h.member != nil && h.member.id == h.data {
			h.etcd = true
			h.noteMemberStart()
		}
	})
}

// LoseData replaces the disk of etcd by an empty one. Its service ends.
func (h *Host) LoseData() {
	h.site.withLock(func(now time.Time) { h.data, h.etcd, h.lost = "", false, now })
}

// Alarm raises an alarm of the cluster, or clears it ("").
func (s *Site) Alarm(cluster, alarm string) {
	s.withLock(func(time.Time) {
		s.clusters[cluster].alarms = nil
		if alarm != "" {
			s.clusters[cluster].alarms = []string{alarm}
		}
	})
}

// Membership has the members of a cluster, and the records and old data on its hosts.
type Membership struct {
	Voters, Healthy, Learners []string // hosts
	Records, Data             []string // hosts that have a record, and hosts that have data of no listed member
	Leader                    string
}

// Membership returns the members of a cluster.
func (s *Site) Membership(cluster string) (m Membership) {
	s.withLock(func(now time.Time) {
		c := s.clusters[cluster]
		for _, p := range c.peers {
			switch {
			case p.learner:
				m.Learners = append(m.Learners, p.host.Name)
				continue
			case p.host.hasHealthyMember(now):
				m.Healthy = append(m.Healthy, p.host.Name)
			}
			m.Voters = append(m.Voters, p.host.Name)
		}
		if c.leader != nil {
			m.Leader = c.leader.Name
		}
		for _, h := range s.all {
			if h.host.Cluster != cluster {
				continue
			}
			if h.members.record != "" {
				m.Records = append(m.Records, h.Name)
			}
			if h.data != "" && (h.member == nil || h.member.id != h.data) {
				m.Data = append(m.Data, h.Name)
			}
		}
	})
	return m
}

// EtcdSettings returns the settings of the inventory that the etcd of the host has, as lines.
func (h *Host) EtcdSettings() (lines string) {
	h.site.withLock(func(time.Time) { lines = h.members.tuned })
	return lines
}

// HasMember reports whether a host has the data of a member that etcd lists.
func (h *Host) HasMember() (has bool) {
	h.site.withLock(func(time.Time) { has = h.member != nil && h.member.id == h.data })
	return has
}
