package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// summary folds the events of a run into what is worth knowing at its end:
// how long each host took, and what etcd went through meanwhile.
type summary struct {
	hosts    map[string]*hostSummary
	clusters map[string]*clusterSummary
}

type hostSummary struct {
	name                string
	staged              engine.Duration
	held, freed         time.Time
	ordered, back       time.Time // to reboot, and answering again
	updated, disrupted  bool
	failedAt, failCause string
}

type clusterSummary struct {
	samples, voters, least, quorum int
	slowest                        float64 // seconds
	where                          string
}

func newSummary() *summary {
	return &summary{hosts: map[string]*hostSummary{}, clusters: map[string]*clusterSummary{}}
}

// add takes the next event.
func (s *summary) add(e engine.Event) {
	switch {
	case e.Type == engine.EtcdSampled && e.Etcd != nil:
		s.cluster(e.Cluster).add(*e.Etcd)
	case e.Host == "":
	case e.Type == engine.StepStarted:
		s.host(e.Host).started(e)
	case e.Type == engine.StepEnded && e.Failure == nil:
		s.host(e.Host).ended(e)
	case e.Type == engine.HostDone:
		s.host(e.Host).updated = true
	case e.Type == engine.HostFailed && e.Failure != nil:
		h := s.host(e.Host)
		h.failedAt, h.failCause = e.Failure.Step, e.Failure.Cause
	}
}

func (s *summary) host(name string) *hostSummary {
	if s.hosts[name] == nil {
		s.hosts[name] = &hostSummary{name: name}
	}
	return s.hosts[name]
}

func (s *summary) cluster(name string) *clusterSummary {
	if s.clusters[name] == nil {
		s.clusters[name] = &clusterSummary{}
	}
	return s.clusters[name]
}

func (h *hostSummary) started(e engine.Event) {
	switch e.Step {
	case "hold":
		h.held = e.Time
	case "finalize":
		h.ordered, h.disrupted = e.Time, true
	}
}

func (h *hostSummary) ended(e engine.Event) {
	switch e.Step {
	case "stage":
		h.staged = e.Took
	case "wait for boot":
		h.back = e.Time
	case "release":
		h.freed = e.Time
	}
}

func (c *clusterSummary) add(s engine.Sample) {
	if s.Voters == 0 {
		return
	}
	if c.samples == 0 || s.Healthy < c.least {
		c.least = s.Healthy
	}
	c.samples++
	c.voters, c.quorum = s.Voters, engine.QuorumOf(s.Voters)
	for _, l := range s.Latency {
		if l.WALFsyncP99 > c.slowest {
			c.slowest, c.where = l.WALFsyncP99, l.Host
		}
	}
}

// few is how many hosts are shown one by one; of more, only the extremes are.
const few = 12

// text is the summary for people, or "" if no host was touched.
func (s *summary) text() string {
	var touched []*hostSummary
	for _, h := range s.hosts {
		if h.staged > 0 || h.disrupted {
			touched = append(touched, h)
		}
	}
	if len(touched) == 0 {
		return ""
	}
	slices.SortFunc(touched, func(a, b *hostSummary) int { return cmp.Compare(a.name, b.name) })
	var b strings.Builder
	if len(touched) <= few {
		oneByOne(&b, touched)
	} else {
		extremes(&b, touched)
	}
	s.etcd(&b)
	return b.String()
}

func oneByOne(b *strings.Builder, hosts []*hostSummary) {
	rows := [][]string{{"  HOST", "STAGED IN", "AWAY FOR", "HELD FOR", ""}}
	for _, h := range hosts {
		note := ""
		if h.failedAt != "" {
			note = "failed at " + h.failedAt
		}
		rows = append(rows, []string{"  " + h.name, orDash(h.staged), orDash(h.away()), orDash(h.heldFor()), note})
	}
	_ = table(b, rows) // a builder takes everything
}

// extremes shows of many hosts the median and the slowest.
func extremes(b *strings.Builder, hosts []*hostSummary) {
	for _, what := range []struct {
		name string
		of   func(*hostSummary) engine.Duration
	}{
		{"staged in", func(h *hostSummary) engine.Duration { return h.staged }},
		{"away for", (*hostSummary).away},
		{"held for", (*hostSummary).heldFor},
	} {
		with := slices.DeleteFunc(slices.Clone(hosts), func(h *hostSummary) bool { return what.of(h) <= 0 })
		if len(with) == 0 {
			continue
		}
		slices.SortStableFunc(with, func(x, y *hostSummary) int { return cmp.Compare(what.of(x), what.of(y)) })
		slowest := with[len(with)-1]
		fmt.Fprintf(b, "  %s: %d hosts, median %s, longest %s (%s)\n", what.name, len(with),
			brief(what.of(with[len(with)/2])), brief(what.of(slowest)), slowest.name)
	}
}

func (s *summary) etcd(b *strings.Builder) {
	var names []string
	for name, c := range s.clusters {
		if c.samples > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		c := s.clusters[name]
		fmt.Fprintf(b, "  etcd %s: %d of %d voters healthy at the least (quorum %d, looked at %d times)", name, c.least, c.voters, c.quorum, c.samples)
		if c.slowest > 0 {
			fmt.Fprintf(b, "; slowest WAL fsync p99 %.0f ms on %s", c.slowest*1000, c.where)
		}
		b.WriteString("\n")
	}
}

// away is the time from the order to reboot until the host answered again.
func (h *hostSummary) away() engine.Duration { return between(h.ordered, h.back) }

func (h *hostSummary) heldFor() engine.Duration { return between(h.held, h.freed) }

func between(from, to time.Time) engine.Duration {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return engine.Duration(to.Sub(from))
}

func orDash(d engine.Duration) string {
	if d <= 0 {
		return "-"
	}
	return brief(d)
}
