package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"time"

	"holdfast/engine"
)

// Run is a run as its journal tells it.
type Run struct {
	ID       string            `json:"id"`
	Site     string            `json:"site"`
	Holder   string            `json:"holder"`
	Bastion  string            `json:"bastion,omitempty"` // identity of the bastion
	Started  time.Time         `json:"started"`
	Last     time.Time         `json:"last"` // of its last event
	End      *engine.RunEnd    `json:"end,omitempty"`
	Updated  []string          `json:"updated,omitempty"`
	Failed   []string          `json:"failed,omitempty"`
	Steps    map[string]string `json:"steps,omitempty"`     // the last step that began on each host that is not done
	Rebooted map[string]bool   `json:"rebooted,omitempty"`  // hosts that were, or may have been, ordered to reboot and are not done
	Problem  string            `json:"problem,omitempty"`   // why the journal could not be read to its end
	UnderWay bool              `json:"under_way,omitempty"` // it has not ended, and its process has the site's lock
}

// ListRuns reads the journals in dir, the newest first. A folder that does not
// exist has none.
func ListRuns(dir string) ([]Run, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var runs []Run
	for _, e := range newestJournals(entries) {
		if id := runID(e.Name()); id != "" && e.Type().IsRegular() {
			run := readRun(dir, id)
			run.UnderWay = run.End == nil && hasLock(dir, run.Site, id)
			runs = append(runs, run)
		}
	}
	sort.Slice(runs, func(i, j int) bool { return runs[i].ID > runs[j].ID })
	return runs, nil
}

// maxJournals is how many journals are read, the newest: what older ones tell does not matter to the next run.
const maxJournals = 1000

// newestJournals returns the journals of a folder that are read, sorted by name and so by time.
func newestJournals(entries []fs.DirEntry) []fs.DirEntry {
	journals := slices.DeleteFunc(slices.Clone(entries), func(e fs.DirEntry) bool { return runID(e.Name()) == "" || !e.Type().IsRegular() })
	return journals[max(0, len(journals)-maxJournals):]
}

// withoutPlan is the line of an event without its plan, which is most of a
// journal, takes long to read, and says nothing about what became of the run.
// It cuts where the plan begins: a quote inside a text is always escaped, so
// that these bytes are nothing else, and no field of the event follows.
func withoutPlan(line []byte) []byte {
	head, _, found := bytes.Cut(line, []byte(`,"plan":{`))
	if !found || !bytes.Contains(head, []byte(`"type":"`+engine.Planned+`"`)) {
		return line
	}
	return append(slices.Clip(head), '}')
}

func readRun(dir, id string) Run {
	run := Run{ID: id, Steps: map[string]string{}, Rebooted: map[string]bool{}}
	err := readLines(journalPath(dir, id), func(line []byte) error {
		var e engine.Event
		if err := json.Unmarshal(withoutPlan(line), &e); err != nil {
			return err
		}
		run.addEvent(e)
		return nil
	})
	if err != nil {
		run.Problem = err.Error()
	}
	return run
}

// addEvent folds one event into what is known of a run.
func (r *Run) addEvent(e engine.Event) {
	r.Last = e.Time
	switch e.Type {
	case engine.RunStarted:
		r.Started = e.Time
		if e.Start != nil {
			r.Site, r.Holder, r.Bastion = e.Start.Site, e.Start.Holder, e.Start.Bastion
		}
	case engine.StepStarted:
		if e.Host != "" {
			r.Steps[e.Host] = e.Step
			r.Rebooted[e.Host] = r.Rebooted[e.Host] || e.Kind == engine.RebootStep
		}
	case engine.HostDone:
		r.Updated = append(r.Updated, e.Host)
		r.forgetHost(e.Host)
	case engine.HostFailed:
		if e.Failure == nil || e.Failure.Kind != engine.StoppedFailure {
			r.Failed = append(r.Failed, e.Host)
			r.forgetHost(e.Host)
		}
	case engine.RunEnded:
		r.End = e.End
	}
}

func (r *Run) forgetHost(host string) {
	delete(r.Steps, host)
	delete(r.Rebooted, host)
}

// wasCutShort reports whether the run did not come to its own end.
func (r Run) wasCutShort() bool { return r.End == nil || r.End.Exit == engine.ExitStopped }

// EarlierRuns is what earlier runs of a bastion left behind, for the next one.
type EarlierRuns struct {
	Dead      []string          // runs that are over, whose holds may be taken over
	Rebooting map[string]string // hosts that the latest of them, cut short, may have been rebooting, and its ID

	History
}

// SummarizeRuns reads the journals of a site. It must be called with the site's
// lock held: then no other run of this bastion is alive, so all are over. Runs of
// other bastions, whose journals are here because the folder was copied, may live.
func SummarizeRuns(runs []Run, site string, self engine.HoldOwner) EarlierRuns {
	left := EarlierRuns{Rebooting: map[string]string{}, History: foldRuns(runs, site, self.Run)}
	latest := true
	for _, r := range runs {
		if r.ID == self.Run || (r.Site != site && r.Site != "") || (r.Bastion != self.Bastion && r.Bastion != "") {
			continue
		}
		if r.End == nil || r.End.Exit != engine.ExitOK { // one that ended well holds nothing
			left.Dead = append(left.Dead, r.ID)
		}
		if latest = latest && r.wasCutShort(); !latest {
			continue
		}
		for host, rebooted := range r.Rebooted {
			if rebooted && left.Rebooting[host] == "" {
				left.Rebooting[host] = r.ID
			}
		}
	}
	return left
}

// PlannedHosts returns the hosts that a run which is under way has in its latest plan;
// none if it is over.
func PlannedHosts(dir string, run Run) ([]string, error) {
	if !run.UnderWay {
		return nil, nil
	}
	var hosts []string
	err := Read(journalPath(dir, run.ID), func(e engine.Event) error {
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
