package membership_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
)

// world is a site in memory: what is true of it, not what holdfast knows. Its laws are stated in its own words.
type world struct {
	members []*peer
	hosts   []*machine
	leader  string // ID
	named   []string
	next    int

	// What a run remembers, and a killed run forgets.
	saved           bool
	outage          bool // a restart may cost the quorum
	checked, failed map[string]bool

	cutShort bool            // each change is cut short the first time
	cut      map[string]bool // changes that were
	log      []string

	lie func(*membership.State) // nil, or breaks a law: holdfast believes the result
}

// peer is a member in etcd's list.
type peer struct {
	id, host string
	learner  bool
	joined   bool // it has started once
}

// machine is a host of the site, or one that the inventory does not have.
type machine struct {
	name     string
	unlisted bool // not in the inventory
	retired  bool
	apart    bool // the network is cut: neither SSH nor etcd reaches it
	disk     string
	runs     bool
	slow     bool // a learner never catches up
	replaced bool // its data are of a cluster that a restore has replaced
	record   membership.Record
	settings string   // of its etcd; "": those of the inventory
	restarts int      // with other settings
	aside    []string // data that were set aside
}

const foreign = "data of somebody else"

func newWorld() *world {
	return &world{checked: map[string]bool{}, failed: map[string]bool{}, cut: map[string]bool{}}
}

func (w *world) addMachine(m machine) *machine {
	m.name = fmt.Sprintf("h%d", len(w.hosts))
	w.hosts = append(w.hosts, &m)
	return &m
}

func (w *world) addPeer(host string, learner, joined bool) *peer {
	w.next++
	p := &peer{id: fmt.Sprintf("m%d", w.next), host: host, learner: learner, joined: joined}
	w.members = append(w.members, p)
	return p
}

func (w *world) machine(name string) *machine {
	for _, m := range w.hosts {
		if m.name == name {
			return m
		}
	}
	return &machine{name: name, unlisted: true, apart: true}
}

func (w *world) peer(id string) *peer {
	for _, p := range w.members {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (w *world) peerOn(host string) *peer {
	for _, p := range w.members {
		if p.host == host {
			return p
		}
	}
	return nil
}

// serves reports whether the member runs with its own data where the others reach it.
func (w *world) serves(p *peer) bool {
	m := w.machine(p.host)
	return p.joined && m.runs && !m.apart && m.disk == p.id
}

func (w *world) tally() (voters, serving int) {
	for _, p := range w.members {
		if !p.learner {
			voters++
			if w.serves(p) {
				serving++
			}
		}
	}
	return voters, serving
}

func (w *world) state() membership.State {
	s := membership.State{Cluster: "main", Named: w.named, Saved: w.saved, AllowOutage: w.outage}
	for _, p := range w.members {
		m := membership.Member{ID: p.id, Learner: p.learner, Healthy: w.serves(p), Leader: w.leader == p.id && w.serves(p)}
		if p.joined {
			m.Name = "name-" + p.id
		}
		if h := w.machine(p.host); !h.unlisted {
			if m.Healthy || h.apart || h.disk != p.id {
				m.Host = p.host // else only its data tell its host: it has the name and the URLs of no host
			}
			m.CaughtUp = m.Healthy && p.learner && !h.slow
		}
		s.Members = append(s.Members, m)
	}
	for _, m := range w.hosts {
		if m.unlisted {
			continue
		}
		h := membership.Host{Name: m.name, Retired: m.retired, Checked: w.checked[m.name]}
		if w.failed[m.name] {
			h.Failed = "too slow"
		}
		if m.apart {
			h.Unreachable = "cut"
		} else {
			h.HasData, h.Running, h.Record, h.Replaced = m.disk != "", m.runs, m.record, m.replaced
			if m.disk != foreign {
				h.DataOf = m.disk
			}
			switch m.settings {
			case "old":
				h.Settings.Change = "old → new"
			case "harmful":
				h.Settings.Change, h.Settings.Clash = "old → new", "the new ones harm others"
			case "fixed":
				h.Settings.Fixed = "fixed"
			}
		}
		s.Hosts = append(s.Hosts, h)
	}
	s.Members = membership.PlaceByData(s.Members, s.Hosts)
	if w.lie != nil {
		w.lie(&s)
	}
	return s
}

// electLeader lets a serving voter lead where the leader is gone.
func (w *world) electLeader() {
	if p := w.peer(w.leader); p != nil && w.serves(p) && !p.learner {
		return
	}
	w.leader = ""
	for _, p := range w.members {
		if w.serves(p) && !p.learner {
			w.leader = p.id
			return
		}
	}
}

// halfDone reports, once for each change, that it is to be cut short after the record was written.
func (w *world) halfDone(step membership.MemberStep) bool {
	key := fmt.Sprint(step.Action, step.Host, step.Member)
	if !w.cutShort || w.cut[key] {
		return false
	}
	w.cut[key] = true
	return true
}

// act carries a step out.
func (w *world) act(step membership.MemberStep) {
	m := w.machine(step.Host)
	switch step.Action {
	case membership.Preflight:
		w.checked[m.name] = true
	case membership.Snapshot:
		w.saved = true
	case membership.Create:
		m.record = membership.Creating
		if w.halfDone(step) {
			return
		}
		m.disk = w.addPeer(m.name, false, true).id
		m.runs = true
	case membership.Configure:
		m.restarts++
		if !w.halfDone(step) {
			m.settings = ""
		}
	case membership.AddLearner:
		m.record = membership.Adding
		if !w.halfDone(step) {
			w.addPeer(m.name, true, false)
		}
	case membership.Start:
		m.runs = true
		if p := w.peer(step.Member); p != nil {
			p.joined, m.disk = true, p.id
		}
	case membership.Await:
		w.failed[m.name] = m.slow
	case membership.Promote:
		w.peer(step.Member).learner = false
	case membership.MoveLeader:
		for _, p := range w.members {
			if p.id != step.Member && w.serves(p) && !p.learner {
				w.leader = p.id
			}
		}
	case membership.Remove:
		if !m.apart {
			m.record = membership.Removing
		}
		if w.halfDone(step) {
			return
		}
		w.members = slices.DeleteFunc(w.members, func(p *peer) bool { return p.id == step.Member })
	case membership.SetAside:
		m.runs = false
		if w.halfDone(step) {
			return
		}
		if m.disk != "" {
			m.aside = append(m.aside, m.disk)
		}
		m.disk, m.record, m.replaced, m.settings = "", membership.NoRecord, false, ""
	case membership.Forget:
		m.record = membership.NoRecord
	}
	w.electLeader()
}

// isLastHalf reports whether one more voter would make their number even for good: no other host can follow, though some
// should.
func (w *world) isLastHalf(voters int) bool {
	able, unable := 0, 0
	for _, m := range w.hosts {
		switch {
		case m.unlisted || m.retired || w.peerOn(m.name) != nil:
		case m.apart || m.disk != "" || w.failed[m.name]:
			unable++
		default:
			able++
		}
	}
	return voters%2 == 1 && able == 1 && unable > 0
}

// checkStep states the laws of one step, before it is carried out.
func (w *world) checkStep(step membership.MemberStep) error {
	voters, serving := w.tally()
	m, p := w.machine(step.Host), w.peer(step.Member)
	if step.Action.ChangesMembership() {
		if 2*serving <= voters {
			return fmt.Errorf("%d of %d voters serve: no majority for a change", serving, voters)
		}
		if !w.saved {
			return fmt.Errorf("nothing was saved before the first change")
		}
	}
	switch step.Action {
	case membership.Create:
		for _, h := range w.hosts {
			if !h.unlisted && (h.apart || h.disk != "") {
				return fmt.Errorf("a second cluster, while %s may have a member of the first", h.name)
			}
		}
		fallthrough
	case membership.AddLearner:
		switch {
		case slices.ContainsFunc(w.members, func(p *peer) bool { return p.learner }):
			return fmt.Errorf("a second learner")
		case serving != voters:
			return fmt.Errorf("a learner, while a voter is down")
		case m.apart || m.retired || m.unlisted || m.disk != "" || w.peerOn(m.name) != nil:
			return fmt.Errorf("a member for a host that is not to have one, or cannot have one")
		case !w.checked[m.name]:
			return fmt.Errorf("a host without preflight")
		case slices.ContainsFunc(w.members, func(p *peer) bool { return w.stays(p) && w.machine(p.host).settings == "harmful" }):
			return fmt.Errorf("a new member with settings that harm others")
		case step.Action == membership.AddLearner && w.isLastHalf(voters):
			return fmt.Errorf("an even number of voters for the sake of one host, while others cannot have a member")
		}
	case membership.Configure:
		return w.checkConfigure(p, m)
	case membership.Start:
		if m.apart || m.disk != "" && (p != nil && m.disk != p.id || m.disk == foreign) {
			return fmt.Errorf("a start with the data of %q", m.disk)
		}
	case membership.Promote:
		if p == nil || !p.learner || !w.serves(p) || m.slow || m.retired || m.unlisted {
			return fmt.Errorf("a vote for a learner that is not ready, or not wanted")
		}
	case membership.Remove:
		return w.checkRemoval(p, m)
	case membership.SetAside:
		if m.record == membership.NoRecord && !m.replaced || w.peerOn(m.name) != nil {
			return fmt.Errorf("data set aside that no run is known to have left, or that a member needs")
		}
	}
	return nil
}

// stays reports whether a voter is to go on serving.
func (w *world) stays(p *peer) bool {
	m := w.machine(p.host)
	return !p.learner && !m.retired && !m.unlisted && !slices.Contains(w.named, p.id)
}

// checkConfigure states the laws of a restart of a member with other settings.
func (w *world) checkConfigure(p *peer, m *machine) error {
	voters, serving := w.tally()
	switch {
	case p == nil || !w.serves(p) || !w.stays(p):
		return fmt.Errorf("a restart of no voter that stays")
	case serving != voters:
		return fmt.Errorf("a second voter goes down")
	case 2*(serving-1) <= voters && !w.outage:
		return fmt.Errorf("a restart leaves %d of %d voters", serving-1, voters)
	case w.leader == p.id && voters > 1:
		return fmt.Errorf("the leader restarts")
	case slices.ContainsFunc(w.members, func(p *peer) bool { return p.learner }):
		return fmt.Errorf("a restart while a member learns")
	case m.settings != "old":
		return fmt.Errorf("a restart with settings that are %q", m.settings)
	case m.restarts > 1 || m.restarts == 1 && !w.cutShort:
		return fmt.Errorf("a restart for nothing")
	}
	for _, h := range w.hosts {
		if q := w.peerOn(h.name); !h.unlisted && !h.retired && q == nil {
			return fmt.Errorf("a restart before %s has a member: more could be spared then", h.name)
		}
	}
	for _, q := range w.members {
		if w.stays(q) && w.machine(q.host).settings == "harmful" {
			return fmt.Errorf("a restart with settings that harm %s", q.host)
		}
	}
	return nil
}

func (w *world) checkRemoval(p *peer, m *machine) error {
	if p == nil {
		return fmt.Errorf("a removal of nobody")
	}
	named := slices.Contains(w.named, p.id)
	meantToGo := named || m.retired && !m.unlisted
	switch {
	case p.learner && !meantToGo && m.disk == p.id && !w.failed[m.name]:
		return fmt.Errorf("a learner that may still finish is taken back")
	case p.learner:
		return nil
	case w.serves(p) && !meantToGo:
		return fmt.Errorf("a voter that serves and that nobody said is to go")
	case w.serves(p) && w.leader == p.id:
		return fmt.Errorf("the leader is removed")
	case !w.serves(p) && !named && (m.apart || m.unlisted || m.disk == p.id):
		return fmt.Errorf("a voter that may come back")
	}
	if voters, serving := w.tally(); w.serves(p) {
		if 2*(serving-1) <= voters-1 {
			return fmt.Errorf("no majority would be left")
		}
		for _, h := range w.hosts {
			if q := w.peerOn(h.name); !h.retired && !h.unlisted && (q == nil || q.learner) {
				return fmt.Errorf("the cluster shrinks before it grows: %s has no voter", h.name)
			}
		}
	}
	return nil
}

// play lets a run work until it ends, and returns why it ended.
func (w *world) play(t *testing.T, forgets bool) *membership.Refusal {
	t.Helper()
	refusal, broken := w.run(forgets)
	if broken != nil {
		t.Fatalf("%v\n%s", broken, w)
	}
	return refusal
}

// run lets a run work until it ends, and returns why it ended, and the law that it breaks.
func (w *world) run(forgets bool) (_ *membership.Refusal, broken error) {
	w.electLeader()
	for range 12 * (len(w.hosts) + len(w.members) + 2) {
		step, err := membership.Next(w.state())
		if err != nil {
			return err.(*membership.Refusal), nil
		}
		if step.Action == membership.Done {
			return nil, nil
		}
		w.log = append(w.log, strings.TrimSpace(fmt.Sprint(step.Action, " ", step.Host, " ", step.Member)))
		if err := w.checkStep(step); err != nil {
			return nil, err
		}
		before, _ := w.tally()
		w.act(step)
		if after, serving := w.tally(); step.Action.ChangesMembership() && (2*serving <= after || max(before-after, after-before) > 1) {
			return nil, fmt.Errorf("%d of %d voters serve after %s", serving, after, step.Action)
		}
		if forgets && step.Action != membership.Preflight && step.Action != membership.Snapshot {
			w.saved, w.checked = false, map[string]bool{}
		}
	}
	return nil, errors.New("it does not end")
}

func (w *world) String() string {
	var b strings.Builder
	for _, m := range w.hosts {
		fmt.Fprintf(&b, "%+v\n", *m)
	}
	for _, p := range w.members {
		fmt.Fprintf(&b, "%+v\n", *p)
	}
	fmt.Fprintf(&b, "named %v\n%s\n", w.named, strings.Join(w.log, "\n"))
	return b.String()
}
