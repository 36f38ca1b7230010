package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
	"holdfast/engine/simulator/laws"
)

// playHistory plays a history, repairs the site, and applies a last run.
func (h history) playHistory() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	site := newSite(h.inv)
	site.Labels = h.labels
	time.Sleep(h.begins)
	for _, host := range site.Hosts() {
		if slices.Contains(h.updated, host.Name) {
			host.Boot(simulator.V2)
		}
	}
	for _, host := range site.Hosts() {
		host.Change(func(t *simulator.Traits) {
			t.Upload = h.uploads[host.Name]
			t.SoftKind, t.Survives = slices.Contains(h.soft, host.Name), slices.Contains(h.survives, host.Name)
			t.KexecKind = slices.Contains(h.kexecs, host.Name)
		})
		if word := h.had[host.Name]; word != "" {
			host.Set(word)
		}
	}
	h.addNodeClusters(site)
	var all []*simulator.Bastion
	pasts := []*earlierRuns{{}, {}}
	for i, a := range h.acts {
		h.beginAct(site, i)
		dramas := h.simulatedRuns(site, i)
		for _, d := range dramas {
			all = append(all, d.run)
		}
		if err := a.playAct(site, dramas, pasts); err != nil {
			return fmt.Errorf("act %d: %w\n%s", i, err, siteTranscript(site, all))
		}
		time.Sleep(a.pause)
	}
	repairSite(site)
	h.beginAct(site, len(h.acts))
	last, err := h.finishHistory(site, pasts)
	if h.tell != nil {
		h.tell(siteTranscript(site, append(all, last)))
	}
	if err != nil {
		return fmt.Errorf("the last run: %w\n%s", err, siteTranscript(site, append(all, last)))
	}
	return nil
}

// beginAct sets the desired settings and the paused pools of an act.
func (h history) beginAct(site *simulator.Site, i int) {
	site.Inventory = h.inventoryOf(i)
	if h.wants == nil {
		return
	}
	for _, host := range h.inv.Hosts {
		site.Want(host.Name, h.wants[i][host.Name])
	}
}

func (h history) simulatedRuns(site *simulator.Site, i int) []*simulatedRun {
	var list []*simulatedRun
	for n, e := range h.acts[i].runs {
		d := newSimulatedRun(site, fmt.Sprintf("run-%d%c", i+1, 'a'+n), e.troubles)
		d.best, d.sabotage = e.best, h.sabotage
		d.asked = laws.Asked{Over: e.over, Full: e.full, Plays: e.plays}
		for _, before := range h.acts[:i+1] {
			for _, r := range before.runs {
				d.excused = d.excused || len(r.troubles) > 0 || len(before.runs) > 1
			}
		}
		list = append(list, d)
	}
	return list
}

// playAct plays the runs of an act, and verifies the end of a single run.
func (a act) playAct(site *simulator.Site, dramas []*simulatedRun, pasts []*earlierRuns) error {
	var wg conc.WaitGroup
	for i, d := range dramas {
		wg.Go(func() {
			time.Sleep(a.runs[i].later)
			d.applyRun(pasts[(a.by+i)%2])
		})
	}
	wg.Wait()
	err := checkLaws(site)
	for i, d := range dramas {
		pasts[(a.by+i)%2].addRun(d.run)
		if len(dramas) == 1 {
			err = errors.Join(err, d.verifyEnd())
		}
	}
	return err
}

// finishHistory applies runs without incidents, with the journals of all
// earlier runs, until a run succeeds. After a refusal or a failure with a known
// reason, the next run may continue over it.
func (h history) finishHistory(site *simulator.Site, pasts []*earlierRuns) (*simulator.Bastion, error) {
	var last *simulator.Bastion
	var end event.RunEnd
	var over, retries bool
	knowing := func(r *rollout.Run) {
		simulator.Inherit(r, slices.Concat(pasts[0].runs, pasts[1].runs)...)
		r.Interval, r.OverIncomplete, r.RetryRejected = pollInterval, over, retries
	}
	for _, id := range []string{"run-last", "run-last-2", "run-last-3", "run-last-4"} {
		last = site.Bastion(id)
		last.Asked, last.Latency = &laws.Asked{Over: over}, latencyByHost(last)
		end = applyRun(last, runSerially, knowing, func(r *rollout.Run) { last.Asked.Retry = r.Retry }, h.sabotageOf(site))
		switch {
		case end.Exit == engine.ExitRefused && len(end.Verdict.Unfinished) > 0:
			if over || !site.MayRefuse() {
				return last, fmt.Errorf("refused: %s", findingsText(end))
			}
			over = true
		case end.Exit == engine.ExitFailed && anyRejected(site):
			if err := checkNamed(site, knowing); err != nil {
				return last, err
			}
			retries = true
		case end.Exit == engine.ExitFailed && isSkewLimited(site, end):
			if err := checkNamed(site, knowing); err != nil {
				return last, err
			}
			removeSkewLimits(site)
		default:
			return last, h.checkFinished(site, end)
		}
	}
	return last, fmt.Errorf("it never ends: exit %d, %s", end.Exit, findingsText(end))
}

func (h history) checkFinished(site *simulator.Site, end event.RunEnd) error {
	exit, errs := engine.ExitOK, []error{checkLaws(site), checkNodesFree(site)}
	for _, h := range site.Hosts() {
		if isReportedDrift(site, h) {
			exit, errs = engine.ExitWork, append(errs, checkFree(h))
		} else {
			errs = append(errs, checkMatching(h))
		}
	}
	errs = append(errs, checkEnd(end, exit))
	before := site.Log()
	more := site.Bastion("run-more")
	more.Latency = latencyByHost(more)
	errs = append(errs, checkEnd(applyRun(more, runSerially, h.sabotageOf(site)), exit))
	if after := site.Log(); len(after) > len(before) {
		errs = append(errs, fmt.Errorf("a second run does something: %v", after[len(before):]))
	}
	return errors.Join(errs...)
}

func anyRejected(site *simulator.Site) bool {
	return slices.ContainsFunc(site.Hosts(), func(h *simulator.Host) bool {
		target := targetOf(site, h)
		return slices.Contains(h.Remembers().Rejected, target) && h.State().Booted != target
	})
}

func targetOf(site *simulator.Site, h *simulator.Host) string {
	host, _ := site.Inventory.Host(h.Name)
	if pool, _ := site.Inventory.Pool(host.Pool); pool.OS != nil {
		return pool.OS.Digest()
	}
	return ""
}

// isSkewLimited reports whether some hosts do not run their desired OS, and
// max_skew is the reason for each of them. One such host is enough if the host
// is held, because it uses up a budget, or its cluster is not safe without it.
func isSkewLimited(site *simulator.Site, end event.RunEnd) bool {
	kept := func(h *simulator.Host) bool { return site.TooFar(h.Name) }
	behind := slices.DeleteFunc(site.Hosts(), func(h *simulator.Host) bool { return h.State().Booted == targetOf(site, h) })
	if slices.ContainsFunc(behind, func(h *simulator.Host) bool { return kept(h) && h.Hold() != nil }) {
		return true
	}
	return len(end.Verdict.Refusals) == 0 && len(behind) > 0 && !slices.ContainsFunc(behind, func(h *simulator.Host) bool { return !kept(h) })
}

// removeSkewLimits removes max_skew from all pools.
func removeSkewLimits(site *simulator.Site) {
	site.Inventory.Pools = slices.Clone(site.Inventory.Pools)
	for i := range site.Inventory.Pools {
		site.Inventory.Pools[i].MaxSkew = nil
	}
}

// checkNamed checks that a plan names every host that does not match, with a reason. It may take a host that max_skew leaves
// out if it stages an OS first whose version is known only then.
func checkNamed(site *simulator.Site, knowing func(*rollout.Run)) error {
	r := site.Bastion("run-looks").Run()
	knowing(r)
	plan, _, err := r.Plan(context.Background())
	if err != nil || len(plan.Refusals) > 0 || len(plan.Unfinished) > 0 {
		return err
	}
	stages := slices.ContainsFunc(plan.Hosts, func(hp engine.HostPlan) bool { return len(hp.Stage) > 0 && site.TooFar(hp.Host) })
	for _, h := range site.Hosts() {
		says := func(x engine.Exclusion) bool { return x.Host == h.Name && x.Reason != "" }
		if stages && site.TooFar(h.Name) && plan.Host(h.Name) != nil {
			continue
		}
		if !h.State().Matches && !isReportedDrift(site, h) && !slices.ContainsFunc(plan.Excluded, says) {
			return fmt.Errorf("nothing says why %s does not match", h.Name)
		}
	}
	return nil
}

func (h history) sabotageOf(site *simulator.Site) func(*rollout.Run) {
	return func(r *rollout.Run) {
		if h.sabotage != nil {
			h.sabotage(site, r)
		}
	}
}

func repairSite(site *simulator.Site) {
	for _, h := range site.Hosts() {
		h.Change(func(t *simulator.Traits) {
			*t = simulator.Traits{Stage: t.Stage, Upload: t.Upload, Shutdown: t.Shutdown, Boot: t.Boot, Settle: t.Settle, SoftKind: t.SoftKind, Survives: t.Survives, KexecKind: t.KexecKind}
		})
		h.Heal()
		h.PowerOn()
		if h.State().Member {
			h.StartEtcd()
		}
		h.StartUnits()
		if hold := h.Hold(); hold != nil && hold.Run == "bobs" {
			h.SetHold(nil)
		}
	}
	repairNodes(site)
	time.Sleep(5 * time.Minute)
}

// isReportedDrift reports whether the host has drift that its pool only reports.
func isReportedDrift(site *simulator.Site, h *simulator.Host) bool {
	host, _ := site.Inventory.Host(h.Name)
	pool, _ := site.Inventory.Pool(host.Pool)
	return pool.Drift == engine.ReportDrift && h.State().Drifted
}

// earlierRuns lists the runs whose journals the next run of a bastion reads.
type earlierRuns struct{ runs []*simulator.Bastion }

func (p *earlierRuns) addRun(b *simulator.Bastion) { p.runs = append(p.runs, b) }

func (p *earlierRuns) configureRun(r *rollout.Run) { simulator.Inherit(r, p.runs...) }

// latencyByHost returns a different latency for each host of a batch, so that
// the holds and writes of these hosts have an order.
func latencyByHost(b *simulator.Bastion) func(simulator.Call) time.Duration {
	return func(c simulator.Call) time.Duration {
		if c.Verb != "hold" && c.Verb != "quiet" && c.Verb != "stage" && c.Verb != "node" {
			return 0
		}
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(b.ID + c.Host)) // a hash never returns an error
		return time.Duration(1+sum.Sum32()%999_999_937) * time.Nanosecond
	}
}

// siteTranscript returns the events of runs and the operations on hosts, in order.
func siteTranscript(site *simulator.Site, runs []*simulator.Bastion) string {
	var lines []string
	for _, l := range site.Log() {
		lines = append(lines, l[:21]+"   "+l[21:])
	}
	for _, b := range runs {
		for _, e := range b.Events() {
			if e.Type == event.EtcdSampled {
				continue
			}
			line := fmt.Sprintf("%s %s: %s", e.Time.UTC().Format("02 15:04:05.000000000"), b.ID, strings.Join([]string{string(e.Type), e.Cluster, e.Host, e.Step, e.Message}, " "))
			if e.Failure != nil {
				line += " FAILED " + string(e.Failure.Kind) + " " + e.Failure.Cause
			}
			if e.End != nil {
				line += fmt.Sprintf(" %d %s; updated %v, failed %v, left %v", e.End.Exit, report.EndText(*e.End), e.End.Updated, e.End.Failed, e.End.Untouched)
			}
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(a[:21], b[:21]) })
	return strings.Join(lines, "\n")
}
