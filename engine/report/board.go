package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
)

// board is what the live view shows below the lines: how far each pool is,
// which hosts are in which step, and how etcd is. It is a fold over events.
type board struct {
	pools    []*poolCount
	poolOf   map[string]*poolCount
	active   map[string]activeStep
	clusters map[string]engine.Sample
	style    Style
}

type poolCount struct {
	name                        string
	hosts, staged, done, failed int
	toStage                     int
}

type activeStep struct {
	name  string
	since time.Time
}

func newBoard(style Style) *board {
	return &board{poolOf: map[string]*poolCount{}, active: map[string]activeStep{}, clusters: map[string]engine.Sample{}, style: style}
}

// add takes the next event.
func (b *board) add(e engine.Event) {
	e = safe(e)
	switch e.Type {
	case engine.Planned:
		if e.Plan != nil && len(b.pools) == 0 {
			b.plan(*e.Plan)
		}
	case engine.StepStarted:
		b.active[where(e)] = activeStep{e.Step, e.Time}
	case engine.StepEnded:
		delete(b.active, where(e))
		if p := b.poolOf[e.Host]; p != nil && e.Step == "stage" && e.Failure == nil {
			p.staged++
		}
	case engine.HostDone:
		if p := b.poolOf[e.Host]; p != nil {
			p.done++
		}
	case engine.HostFailed:
		if p := b.poolOf[e.Host]; p != nil {
			p.failed++
		}
	case engine.EtcdSampled:
		if e.Etcd != nil {
			b.clusters[e.Cluster] = *e.Etcd
		}
	}
}

func where(e engine.Event) string {
	if e.Host != "" {
		return e.Host
	}
	return e.Cluster
}

// plan takes the hosts with work; a later plan has fewer, as they are done.
func (b *board) plan(p engine.Plan) {
	byName := map[string]*poolCount{}
	for _, hp := range p.Hosts {
		c := byName[hp.Pool]
		if c == nil {
			c = &poolCount{name: hp.Pool}
			byName[hp.Pool] = c
			b.pools = append(b.pools, c)
		}
		c.hosts++
		if len(hp.Stage) > 0 {
			c.toStage++
		}
		b.poolOf[hp.Host] = c
	}
}

// shown is how many hosts in a step are shown; a batch may have more.
const shown = 8

// render is the board on a terminal of that width, now.
func (b *board) render(width int, now time.Time) string {
	var lines []string
	for _, p := range b.pools {
		lines = append(lines, b.pool(p))
	}
	for _, name := range sortedKeys(b.clusters) {
		lines = append(lines, b.cluster(name, b.clusters[name]))
	}
	names := sortedKeys(b.active)
	for i, name := range names {
		if i == shown {
			lines = append(lines, fmt.Sprintf("  and %d more", len(names)-shown))
			break
		}
		a := b.active[name]
		lines = append(lines, fmt.Sprintf("  %s  %s %s", name, a.name, b.style.faint(brief(engine.Duration(max(0, now.Sub(a.since).Truncate(time.Second)))))))
	}
	for i, l := range lines {
		lines[i] = ansi.Truncate(l, max(1, width), "…")
	}
	return strings.Join(lines, "\n")
}

func (b *board) pool(p *poolCount) string {
	s := fmt.Sprintf("%s %s", b.style.bold(p.name), bar(p.done, p.hosts))
	if p.toStage > 0 {
		s += fmt.Sprintf("  staged %d/%d", p.staged, p.toStage)
	}
	s += fmt.Sprintf("  done %d/%d", p.done, p.hosts)
	if p.failed > 0 {
		s += b.style.red(fmt.Sprintf("  failed %d", p.failed))
	}
	return s
}

func (b *board) cluster(name string, s engine.Sample) string {
	text := fmt.Sprintf("etcd %s  %d of %d voters healthy (quorum %d)", name, s.Healthy, s.Voters, engine.QuorumOf(s.Voters))
	switch {
	case s.Healthy < engine.QuorumOf(s.Voters):
		text = b.style.red(text)
	case s.Healthy < s.Voters:
		text = b.style.yellow(text)
	}
	if s.Leader != "" {
		text += "  leader " + s.Leader
	}
	return text
}

// bar is done of all, ten wide.
func bar(done, all int) string {
	const width = 10
	full := 0
	if all > 0 {
		full = width * done / all
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
