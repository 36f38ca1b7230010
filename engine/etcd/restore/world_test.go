package restore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
)

// world is a site in memory. It has the true state, of which holdfast knows
// only a part.
type world struct {
	voters   []string // IDs of the members of the cluster
	hosts    []*machine
	lost     []string
	snapshot *restore.Source

	checked, cleaned, failed map[string]bool // work of this run; a killed run forgets it

	founded  string // ID of the member of the new cluster, "" before it runs
	finished bool
	kill     string // moment at which runs are killed
	cut      map[string]bool
	log      []string
	lie      func(*restore.State) // nil, or breaks a law: holdfast believes the result
}

type machine struct {
	name        string
	unlisted    bool // not in the inventory
	apart       bool // unreachable, because the network is cut
	gone        bool // never comes back; only then may a person say so
	retired     bool
	disk        string // ID of the member whose data are on the disk; "": none
	revision    int64
	runs        bool
	unfit       bool // has no etcdutl
	certified   bool // has certificates that etcd can use
	record      membership.Record
	phase       restore.Phase
	of          string
	aside       []string
	diskAtFirst string // contents of disk at the beginning
}

const newMember = "new"

func (w *world) machine(name string) *machine {
	i := slices.IndexFunc(w.hosts, func(m *machine) bool { return m.name == name })
	return w.hosts[i]
}

// mayServe returns the number of voters that could serve together if somebody started them and the network came back.
func (w *world) mayServe() (n int) {
	for i, id := range w.voters {
		if m := w.hosts[i]; m.disk == id && !m.gone {
			n++
		}
	}
	return n
}

func (w *world) serving() (n int) {
	for i, id := range w.voters {
		if m := w.hosts[i]; m.disk == id && m.runs && !m.apart && !m.gone {
			n++
		}
	}
	return n
}

func (w *world) members() []membership.Member {
	var list []membership.Member
	for i, id := range w.voters {
		m := membership.Member{ID: id, Name: "name-" + id}
		if !w.hosts[i].unlisted {
			m.Host = w.hosts[i].name
		}
		list = append(list, m)
	}
	return list
}

func (w *world) state() restore.State {
	s := restore.State{Cluster: "main", Snapshot: w.snapshot, Lost: w.lost}
	if w.founded != "" {
		for _, m := range w.hosts {
			if m.disk == newMember && m.runs {
				s.Answers = []membership.Member{{ID: newMember, Host: m.name, Healthy: true}}
			}
		}
	} else if w.serving() > 0 {
		alive := 2*w.serving() > len(w.voters)
		for i, m := range w.members() {
			h := w.hosts[i]
			m.Healthy = alive && h.disk == m.ID && h.runs && !h.apart && !h.gone
			s.Answers = append(s.Answers, m)
		}
	}
	for _, m := range w.hosts {
		if m.unlisted {
			continue
		}
		h := restore.Host{Name: m.name, Retired: m.retired, Checked: w.checked[m.name], Cleaned: w.cleaned[m.name]}
		if !m.certified {
			h.Uncertified = "it has none"
		}
		if w.failed[m.name] {
			h.Failed = "no etcdutl"
		}
		if m.apart || m.gone {
			h.Unreachable = "cut"
		} else {
			h.HasData, h.DataOf, h.Running, h.Record, h.Phase, h.Of = m.disk != "", m.disk, m.runs, m.record, m.phase, m.of
			h.DataCluster = "old"
			h.Data = restore.Data{Revision: m.revision, Members: w.members()}
			if m.disk == newMember {
				h.DataCluster = newMember
				h.Data.Members = []membership.Member{{ID: newMember, Host: m.name}}
			}
		}
		s.Hosts = append(s.Hosts, h)
	}
	if w.lie != nil {
		w.lie(&s)
	}
	return s
}

// checkStep checks the laws for one step before the step is carried out.
func (w *world) checkStep(step restore.Step) error {
	m := w.machine(step.Host)
	if m.apart || m.gone || m.unlisted {
		return fmt.Errorf("a step on a host that is not there")
	}
	quorum := len(w.voters)/2 + 1
	touches := step.Action == restore.Build || step.Action == restore.SetAside || step.Action == restore.Replace
	if touches && w.founded == "" && w.mayServe() >= quorum && m.phase != restore.Placed && !w.anyPlaced() {
		return fmt.Errorf("%d of %d voters may serve: the quorum of %d may live", w.mayServe(), len(w.voters), quorum)
	}
	complete := slices.ContainsFunc(w.hosts, func(h *machine) bool { return h.phase == restore.Ready || h.phase == restore.Placed })
	switch step.Action {
	case restore.Build:
		if !w.checked[m.name] || m.retired && w.snapshot != nil {
			return fmt.Errorf("new data on a host that was not checked, or is to go")
		}
		if !m.certified {
			return fmt.Errorf("new data on a host on which they cannot be used")
		}
	case restore.SetAside:
		if !complete {
			return fmt.Errorf("old data are touched before the new ones are complete")
		}
		if m.disk == newMember {
			return fmt.Errorf("the new data are set aside")
		}
	case restore.Replace:
		if m.phase != restore.Ready {
			return fmt.Errorf("incomplete data are put in place")
		}
	case restore.Start:
		if m.disk != newMember {
			return fmt.Errorf("a start with the data of %q", m.disk)
		}
		if !m.certified {
			return fmt.Errorf("a start without certificates")
		}
	}
	if step.Action == restore.Replace || step.Action == restore.Start {
		for _, h := range w.hosts {
			if h != m && !h.apart && !h.gone && !h.unlisted && (h.disk != "" || h.runs) {
				return fmt.Errorf("%s still has data, or runs", h.name)
			}
		}
	}
	return nil
}

func (w *world) anyPlaced() bool {
	return slices.ContainsFunc(w.hosts, func(h *machine) bool { return h.phase == restore.Placed })
}

// halfDone reports whether a step must end in the middle. It returns true once
// for each step.
func (w *world) halfDone(step restore.Step) bool {
	key := fmt.Sprint(step.Action, step.Host)
	if w.kill != killedWithin || w.cut[key] {
		return false
	}
	w.cut[key] = true
	w.forget()
	return true
}

func (w *world) forget() { w.checked, w.cleaned = map[string]bool{}, map[string]bool{} }

func (w *world) act(step restore.Step, identity string) {
	m := w.machine(step.Host)
	switch step.Action {
	case restore.Preflight:
		w.checked[m.name], w.failed[m.name] = !m.unfit, m.unfit
	case restore.Issue:
		m.certified = !w.halfDone(step)
	case restore.Build:
		m.record, m.runs, m.phase = membership.Restoring, false, restore.Building
		if !w.halfDone(step) {
			m.phase, m.of = restore.Ready, identity
		}
	case restore.SetAside:
		m.runs = false
		if w.halfDone(step) {
			return
		}
		if m.disk != "" {
			m.aside = append(m.aside, m.disk)
		}
		m.disk, m.record, m.phase, w.cleaned[m.name] = "", membership.NoRecord, restore.NoPhase, true
	case restore.Replace:
		if m.disk != "" {
			m.aside, m.disk = append(m.aside, m.disk), ""
		}
		if !w.halfDone(step) {
			m.disk, m.phase = newMember, restore.Placed
			m.certified = w.kill == neverKilled // they expire meanwhile
		}
	case restore.Start:
		m.runs = true
		if !w.halfDone(step) {
			w.founded = newMember
		}
	case restore.Finish:
		w.finished = true
		m.record, m.phase = membership.NoRecord, restore.NoPhase
	}
}

// play lets a run work until it ends. It returns the refusal, or nil after
// success.
func (w *world) play(t *testing.T) *restore.Refusal {
	t.Helper()
	refusal, broken := w.run()
	if broken != nil {
		t.Fatalf("%v\n%s", broken, w)
	}
	return refusal
}

// run lets a run work until it ends, and returns the refusal, and the law that it breaks.
func (w *world) run() (_ *restore.Refusal, broken error) {
	for range 12 * (len(w.hosts) + 2) {
		s := w.state()
		step, err := restore.Next(s)
		if err != nil {
			return err.(*restore.Refusal), nil
		}
		w.log = append(w.log, fmt.Sprint(step.Action, " ", step.Host))
		if err := w.checkStep(step); err != nil {
			return nil, fmt.Errorf("%s: %w", step.Action, err)
		}
		w.act(step, s.Source().Identity)
		if w.finished {
			return nil, nil
		}
		if w.kill == killedBetween && step.Action != restore.Preflight && !w.cut[fmt.Sprint(step)] {
			w.cut[fmt.Sprint(step)] = true
			w.forget()
		}
	}
	return nil, errors.New("it does not end")
}

func (w *world) String() string {
	var b strings.Builder
	for _, m := range w.hosts {
		fmt.Fprintf(&b, "%+v\n", *m)
	}
	fmt.Fprintf(&b, "voters %v, lost %v, snapshot %v, kills %q\n%s\n", w.voters, w.lost, w.snapshot != nil, w.kill, strings.Join(w.log, "\n"))
	return b.String()
}
