package membership

import (
	"fmt"
	"slices"
)

// listMisconfigured returns the voters that stay and whose settings satisfy differs. The leader is the last.
func (s State) listMisconfigured(differs func(Settings) bool) []Member {
	var list, last []Member
	for _, m := range s.listVoters() {
		h, _ := s.findHost(m.Host)
		switch {
		case s.isLeaving(m) || h.Unreachable != "" || !differs(h.Settings):
		case m.Leader:
			last = append(last, m)
		default:
			list = append(list, m)
		}
	}
	return append(list, last...)
}

// checkClash refuses settings of the inventory that no member may have while another member has the old settings.
func (d decision) checkClash() (MemberStep, error) {
	for _, m := range d.listMisconfigured(func(t Settings) bool { return t.Clash != "" }) {
		h, _ := d.findHost(m.Host)
		return MemberStep{}, d.refuseMember(SettingsClash, m, fmt.Sprintf("member %s: %s", m.DisplayName(), h.Settings.Clash))
	}
	return MemberStep{}, nil
}

// nextConfigured returns the next step towards voters with the settings of the inventory. Before a call, all voters must be
// healthy, and each host that should have a voter must have one.
func (d decision) nextConfigured() (MemberStep, error) {
	list := d.listMisconfigured(func(t Settings) bool { return t.Change != "" })
	if len(list) == 0 {
		return MemberStep{}, nil
	}
	away := slices.IndexFunc(d.Hosts, func(h Host) bool { return h.Unreachable != "" && d.hasMember(h) })
	if away >= 0 {
		h := d.Hosts[away]
		return MemberStep{}, d.refuseHost(h, fmt.Sprintf("settings of etcd are to change, and host %s is unreachable (%s): the settings of its etcd are not known", h.Name, h.Unreachable))
	}
	m := list[max(0, slices.IndexFunc(list, d.hasUnread))]
	if before, err := d.prepareRestart(m, "the settings of etcd change", "add voters"); err != nil || before.Action != Done {
		return before, err
	}
	h, _ := d.findHost(m.Host)
	return MemberStep{Action: Configure, Host: m.Host, Member: m.ID, Reason: h.Settings.Change}, nil
}

// hasUnread reports whether a run ended early on the host of a member. Its script may still be about to restart etcd: another script there
// waits for it, but one on another host would restart a second voter.
func (s State) hasUnread(m Member) bool {
	h, _ := s.findHost(m.Host)
	return h.Settings.Unread
}

// checkFixed refuses members with settings that only a new member can have. It is the last check of all.
func (d decision) checkFixed() (MemberStep, error) {
	for _, m := range d.listMisconfigured(func(t Settings) bool { return t.Fixed != "" }) {
		h, _ := d.findHost(m.Host)
		return MemberStep{}, d.refuseMember(SettingFixed, m, fmt.Sprintf("%s: a member cannot change that; undo it in the inventory, or replace member %s: "+
			"set etcd_retired = true on host %s, members apply, remove it again, members apply", h.Settings.Fixed, m.DisplayName(), m.Host))
	}
	return MemberStep{}, nil
}
