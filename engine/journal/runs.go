package journal

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// Run is the summary of the journal of one run.
type Run struct {
	ID            string                   `json:"id"`
	Site          string                   `json:"site"`
	Holder        string                   `json:"holder"`
	Bastion       string                   `json:"bastion,omitempty"`     // identity of the bastion
	Cluster       string                   `json:"cluster,omitempty"`     // etcd cluster whose members the run changes; missing: the run is a roll-out, or of a person
	Maintenance   engine.MaintenanceAction `json:"maintenance,omitempty"` // work of a person on holds; missing: the run is no such work
	Started       time.Time                `json:"started"`
	Last          time.Time                `json:"last"` // time of the last event
	End           *event.RunEnd            `json:"end,omitempty"`
	Updated       []string                 `json:"updated,omitempty"`
	Failed        []string                 `json:"failed,omitempty"`
	LastSteps     map[string]string        `json:"last_steps,omitempty"`     // the last step that began on each unfinished host
	RebootedHosts map[string]bool          `json:"rebooted_hosts,omitempty"` // unfinished hosts that were ordered to reboot, or may have been
	Problem       string                   `json:"problem,omitempty"`        // why the journal could not be read to its end
	Pools         []string                 `json:"-"`                        // pools in which another OS may have begun; "": all pools
	Done          []string                 `json:"-"`                        // hosts that a play finished; a host is there once for each play
	Aims          map[string]string        `json:"-"`                        // aims of the changes that began on hosts which were not updated
	Regained      []string                 `json:"-"`                        // hosts that an earlier run had lost, and that match or are updated
	UnderWay      bool                     `json:"under_way,omitempty"`      // the run has not ended, and its process lives

	hasPlays   bool // an updated host need not match its desired state
	marksNewOS bool // the journal tells from which step on a host may get another OS

	plays playWork

	adopting     []string // runs from the future whose holds the run was to adopt
	isFromFuture bool     // see markFutureRuns

	isPartial      bool // only the first and the last line were read
	hasNewerSchema bool // an event has a newer schema, so the run may have done anything
}

// playWork follows the work of the plays of a run.
type playWork struct {
	begun bool            // the last play has begun
	due   map[string]bool // hosts that the last play has not finished
	owed  map[string]bool // hosts that an earlier play did not finish
}

func (w *playWork) addEvent(e event.Event) {
	switch {
	case e.Type == event.Planned:
		if w.begun {
			maps.Copy(w.owed, w.due)
		}
		w.begun, w.due = false, map[string]bool{}
		for _, host := range e.Hosts {
			w.due[host] = true
		}
	case e.Type == event.HostDone:
		delete(w.due, e.Host)
	case e.Kind == engine.StageStep && e.Type == event.StepStarted: // a later play may finish the host
		w.begun = true
	case e.Host != "" && (e.Type == event.StepStarted || e.Type == event.HostFailed): // plans of earlier versions name no hosts
		w.begun, w.due[e.Host] = true, true
	case e.Type == event.StepStarted, e.Type == event.StageStarted, e.Type == event.BatchStarted:
		w.begun = true
	}
}

// isUpdated reports whether all plays that began have finished their work on a host.
func (w *playWork) isUpdated(host string) bool { return !w.owed[host] && !(w.begun && w.due[host]) }

// ListRuns reads the journals in dir and returns their runs, the newest first, and runs that seem to begin in the future last.
// A folder that does not exist has no journals. Of the journals beyond the newest
// maxJournals, it returns only roll-outs and changes of members that did not succeed,
// because they may still hold hosts. It leaves out those that cannot be read.
func ListRuns(dir string) ([]Run, error) {
	runs, err := listAllRuns(dir)
	return slices.DeleteFunc(runs, func(r Run) bool {
		return r.isPartial && (r.Problem != "" || r.Maintenance != "" || r.End != nil && r.End.Exit == engine.ExitOK)
	}), err
}

func listAllRuns(dir string) ([]Run, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var runs []Run
	journals := journalsOf(entries)
	old := max(0, len(journals)-maxJournals)
	for i, e := range journals[max(0, old-maxOldJournals):] {
		id := runID(e.Name())
		run := Run{}
		if i < min(old, maxOldJournals) {
			run = readOldRun(dir, id)
		} else {
			run = readRun(dir, id)
		}
		run.UnderWay = run.End == nil && hasLock(dir, run.Site, id)
		runs = append(runs, run)
	}
	markFutureRuns(runs, time.Now())
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Or(a.futureRank()-b.futureRank(), strings.Compare(b.ID, a.ID)) })
	return runs, nil
}

// maxJournals is the number of journals that are read. Of the maxOldJournals before
// them, only the first and the last line are read: their runs may hold hosts.
const (
	maxJournals    = 1000
	maxOldJournals = 20_000
)

// journalsOf returns the journals of a folder, the oldest name first.
func journalsOf(entries []fs.DirEntry) []fs.DirEntry {
	return slices.DeleteFunc(slices.Clone(entries), func(e fs.DirEntry) bool { return runID(e.Name()) == "" || !e.Type().IsRegular() })
}

func newestJournals(entries []fs.DirEntry) []fs.DirEntry {
	journals := journalsOf(entries)
	return journals[max(0, len(journals)-maxJournals):]
}

func readOldRun(dir, id string) Run {
	run, err := readStartAndEnd(dir, id)
	if err != nil {
		run = Run{ID: id, Problem: fmt.Errorf("read journal: %w", err).Error()}
	}
	run.isPartial = true
	return run
}

// withoutPlan cuts the plan out of the line of a Planned event, because plans
// are most of a journal, slow to parse, and not used here. No other field
// follows the plan in such an event. A quote inside a text is always escaped, so
// the bytes that withoutPlan looks for occur only at the start of the plan.
func withoutPlan(line []byte) []byte {
	head, _, found := bytes.Cut(line, []byte(`,"plan":{`))
	if !found || !bytes.Contains(head, []byte(`"type":"`+event.Planned+`"`)) {
		return line
	}
	return append(slices.Clip(head), '}')
}

func readRun(dir, id string) Run {
	f, err := openRegular(journalPath(dir, id), os.O_RDONLY)
	if err != nil {
		return Run{ID: id, Problem: fmt.Errorf("read journal: %w", err).Error()}
	}
	defer func() { _ = f.Close() }()
	return ParseRun(id, f.Name(), f)
}

// ParseRun summarizes the text of the journal of a run. A problem names the journal.
func ParseRun(id, journal string, text io.Reader) Run {
	run := Run{ID: id, LastSteps: map[string]string{}, RebootedHosts: map[string]bool{}, Aims: map[string]string{}, plays: playWork{due: map[string]bool{}, owed: map[string]bool{}}}
	err := readableLimits().scanLines(journal, text, func(line []byte) error {
		e, err := decodeEvent(withoutPlan(line))
		run.hasNewerSchema = e.Schema > event.Schema
		if err == nil || run.hasNewerSchema && e.Type == event.RunStarted { // the start names at least the site and the time
			run.addEvent(e)
		}
		return err
	})
	if err != nil {
		run.Problem = err.Error()
	}
	run.Updated = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(run.Done))), func(host string) bool { return run.hasPlays && !run.plays.isUpdated(host) })
	if run.End != nil && run.Cluster == "" && run.Maintenance == "" {
		run.Updated = run.End.Updated // a later play may have left a host unfinished
	}
	return run
}

func (r *Run) addEvent(e event.Event) {
	r.Last = e.Time
	r.plays.addEvent(e)
	switch e.Type {
	case event.RunStarted:
		r.Started = e.Time
		if e.Start != nil {
			r.Site, r.Holder, r.Bastion, r.Cluster, r.Maintenance = e.Start.Site, e.Start.Holder, e.Start.Bastion, e.Start.Cluster, e.Start.Maintenance
			r.marksNewOS, r.hasPlays = e.Start.MarksNewOS, e.Start.HasPlays
			r.adopting = futureRuns(e.Start.Adopting)
		}
	case event.StepStarted, event.HostDone, event.HostFailed:
		r.addAim(e)
		r.Regained = append(r.Regained, e.Regained...)
		r.addHostEvent(e)
	case event.Planned:
		r.Regained = append(r.Regained, e.Regained...)
	case event.RunEnded:
		r.End = e.End
	default: // the other events change nothing that a list of runs shows
	}
}

// addHostEvent leaves out the work of people on holds, which updates no host.
func (r *Run) addHostEvent(e event.Event) {
	switch {
	case r.Maintenance != "":
	case e.Type == event.StepStarted:
		if (e.NewOS || e.Pool != "" && !r.marksNewOS) && !slices.Contains(r.Pools, e.Pool) {
			r.Pools = append(r.Pools, e.Pool)
		}
		if e.Host != "" {
			r.LastSteps[e.Host] = e.Step
			r.RebootedHosts[e.Host] = r.RebootedHosts[e.Host] || e.Kind == engine.RebootStep
		}
	case e.Type == event.HostDone:
		r.Done = append(r.Done, e.Host)
		r.forgetHost(e.Host)
	case e.Failure == nil || e.Failure.Kind != engine.StoppedFailure:
		r.Failed = append(r.Failed, e.Host)
		r.forgetHost(e.Host)
	}
}

func (r *Run) addAim(e event.Event) {
	switch {
	case e.Type == event.StepStarted && e.Aim != "":
		r.Aims[e.Host] = e.Aim
	case e.Type == event.HostDone, e.Outcome == event.GivenBackOutcome: // a change that was rolled back has failed
		delete(r.Aims, e.Host)
	}
}

func (r *Run) forgetHost(host string) {
	delete(r.LastSteps, host)
	delete(r.RebootedHosts, host)
}

// PlannedHosts returns the hosts in the latest plan of an active run. It
// returns no hosts if the run is over.
func PlannedHosts(dir string, run Run) ([]string, error) {
	if !run.UnderWay {
		return nil, nil
	}
	var hosts []string
	err := Read(journalPath(dir, run.ID), func(e event.Event) error {
		if e.Plan != nil {
			hosts = nil
			for _, hp := range e.Plan.Hosts {
				hosts = append(hosts, hp.Host)
			}
		}
		return nil
	})
	return hosts, err
}
