package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/cmd/holdfast-lab/internal/probe"
	"holdfast/engine"
)

// run is the record of one run: one line of the results.
type run struct {
	key
	Began time.Time       `json:"began"`
	Took  engine.Duration `json:"took"` // time of the run, with making the hosts
	Host  string          `json:"host,omitempty"`

	// Failed is why the run failed. The figures of such a run are incomplete.
	// Unmeasured means that it failed before the staging began, so it says nothing
	// about its way.
	Failed     string     `json:"failed,omitempty"`
	Failure    failure    `json:"failure,omitempty"`
	Unmeasured bool       `json:"unmeasured,omitempty"`
	Repeated   string     `json:"repeated,omitempty"` // why an attempt before this one failed
	Members    []member   `json:"members,omitempty"`
	Clients    clients    `json:"clients"`
	Machine    machineUse `json:"machine"`

	LeadersLost int             `json:"leaders_lost"` // in the whole update, except for the reboot of the leader
	Away        engine.Duration `json:"away"`         // time for which the cluster lacked the member
	Staged      engine.Duration `json:"staged"`       // time of the staging; in (a) and (r), of the whole update
	Slowed      engine.Duration `json:"slowed"`       // time for which the governor slowed the staging
	Paused      engine.Duration `json:"paused"`       // time for which the governor paused the staging
}

// failure is the kind of a failure, in a word for the table.
type failure string

const (
	failedByAbort    failure = "abort"    // the governor stopped the staging, because limits were exceeded or a member did not answer
	failedByDeadline failure = "deadline" // the staging took too long
	failedOtherwise  failure = "other"
)

// member has the latencies of one member.
type member struct {
	Host    string             `json:"host"`
	Idle    histograms         `json:"idle"`
	Staging histograms         `json:"staging"`
	Worst   [2]engine.Duration `json:"worst"` // p99 of the worst window
}

// clients has the effects on a client that writes all the time.
type clients struct {
	Idle          engine.Duration `json:"idle"`           // p99 of writes before the update
	Staging       engine.Duration `json:"staging"`        // p99 of writes while staging
	StagingGap    engine.Duration `json:"staging_gap"`    // longest time without a commit while staging
	StagingFailed int             `json:"staging_failed"` // failed writes while staging
	Gap           engine.Duration `json:"gap"`            // longest time without a commit in the whole update, with the reboot
	Failed        int             `json:"failed"`         // failed writes in the whole update
	Errors        []string        `json:"errors,omitempty"`
}

// measurement has all observations of a run.
type measurement struct {
	moments
	samples []sample
	record  probe.Record
	watched []watched
}

func (r *run) addFigures(m measurement, hosts []string) {
	w := wayOf(r.Way)
	r.Staged, r.Slowed, r.Paused = engine.Duration(m.staged.Sub(m.began)), engine.Duration(m.slowed), engine.Duration(m.paused)
	for _, host := range hosts {
		s := seriesOf(m.samples, host)
		staging := s.scrapesBetween(m.began, m.staged)
		r.Members = append(r.Members, member{
			Host: host, Idle: s.scrapesBetween(m.idleBegan, m.idleBegan.Add(idleTime)).measureLatencies(), Staging: staging.measureLatencies(), Worst: staging.worstP99(),
		})
	}
	staging, whole := probe.Summarize(m.record.Between(m.began, m.staged)), probe.Summarize(m.record.Between(m.began, m.ended))
	r.Clients = clients{
		Idle:    engine.Duration(probe.Summarize(m.record.Between(m.idleBegan, m.idleBegan.Add(idleTime))).P99),
		Staging: engine.Duration(staging.P99), StagingGap: engine.Duration(staging.Gap), StagingFailed: staging.Failed,
		Gap: engine.Duration(whole.Gap), Failed: whole.Failed, Errors: whole.Errors,
	}
	r.LeadersLost = max(whole.LeaderChanges-1, 0)
	if !w.offline {
		r.LeadersLost = max(r.LeadersLost, staging.LeaderChanges)
	}
	for _, member := range whole.Members {
		if member.Name == r.Host {
			r.Away = engine.Duration(member.Longest())
		}
	}
	r.Machine = useOf(m.watched, m, slices.Index(hosts, r.Host), r.Disk)
}

// shownMembers returns the members whose latencies stand for the run: the member that
// is staged. If it is away meanwhile, these are the others.
func (r run) shownMembers() []member { return r.membersWhere(!wayOf(r.Way).offline) }

func (r run) unstagedMembers() []member { return r.membersWhere(false) }

func (r run) membersWhere(staged bool) []member {
	return slices.DeleteFunc(slices.Clone(r.Members), func(m member) bool { return (m.Host == r.Host) != staged })
}

// limitedBy names the limits of the machine and of holdfast that the staging
// reached.
func (r run) limitedBy() string {
	var names []string
	u := r.Machine
	if u.Taken > 0.9 || u.Waiting > 0.5 {
		names = append(names, "the processors")
	}
	if u.DiskBytes > 0.7 {
		names = append(names, "the bandwidth of the disk")
	}
	if u.DiskOps > 0.7 {
		names = append(names, "the IOPS of the disk")
	}
	if r.Slowed+r.Paused > r.Staged/2 {
		names = append(names, "the governor")
	}
	if len(names) == 0 {
		return "nothing that the bench measures"
	}
	return strings.Join(names, ", ")
}

func (r run) String() string {
	if r.Failed != "" {
		return r.Failed
	}
	var b strings.Builder
	for kind, name := range latencyNames {
		idle, during := highestEstimate(r.shownMembers(), kind, member.idleP99), highestEstimate(r.shownMembers(), kind, member.stagingP99)
		fmt.Fprintf(&b, "%s p99 %s, in %s (idle %s, in %s; other members %s; %s); ", name, formatTime(during.Value), formatBucket(during), formatTime(idle.Value), formatBucket(idle),
			formatTime(highestEstimate(r.unstagedMembers(), kind, member.stagingP99).Value), r.describeShares(kind))
	}
	e := r.latencyExcess()
	fmt.Fprintf(&b, "%.2f of the limit, between %.2f and %.2f; staged in %s, limited by %s; without the member %s; while staging %d writes failed, longest gap %s; in all %d, %s; %d leaders lost; %s",
		e.value, e.least, e.most, formatTime(time.Duration(r.Staged)), r.limitedBy(), formatTime(time.Duration(r.Away)), r.Clients.StagingFailed, formatTime(time.Duration(r.Clients.StagingGap)),
		r.Clients.Failed, formatTime(time.Duration(r.Clients.Gap)), r.LeadersLost, r.Machine)
	for _, e := range r.Clients.Errors {
		b.WriteString("\n    a write failed: " + e)
	}
	return b.String()
}

// describeShares returns the shares of the observations within the bounds around
// the limit.
func (r run) describeShares(kind int) string {
	var texts []string
	for _, bound := range boundsAround(kind) {
		texts = append(texts, fmt.Sprintf("%s within %s", formatShare(r.shareWithin(kind, bound)), formatTime(bound)))
	}
	return strings.Join(texts, ", ")
}
