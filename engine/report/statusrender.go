package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// terminalSize is that of a terminal, in columns and lines. Zero is not known.
type terminalSize struct{ width, height int }

const (
	mostActive = 8 // lines about what goes on now
	mostPools  = 6 // more are shown as one
)

// renderStatus is the board on a terminal of that size, now. It leaves the terminal
// a line for what scrolls by above it.
func (b *liveStatus) renderStatus(on terminalSize, now time.Time) string {
	var lines []string
	rows := b.poolRows(on.height)
	wide := 0
	for _, p := range rows {
		wide = max(wide, ansi.StringWidth(p.name))
	}
	for _, p := range rows {
		lines = append(lines, firstFitting(on.width, b.poolVariants(p, wide)))
	}
	for _, name := range sortedKeys(b.clusters) {
		if s := b.clusters[name].sample; s.Voters == 0 && len(s.Problems) == 0 { // no news yet
			continue
		}
		lines = append(lines, b.clusterLine(name, *b.clusters[name], on.width, now))
	}
	most := mostActive
	if on.height > 0 {
		most = max(2, min(most, on.height-1-len(lines)))
	}
	lines = append(lines, b.stepLines(most, now)...)
	if on.height > 0 {
		lines = lines[:min(len(lines), max(1, on.height-1))]
	}
	for i, l := range lines {
		lines[i] = ansi.Truncate(oneLine.Replace(l), max(1, on.width), "…")
	}
	return strings.Join(lines, "\n")
}

// poolRows are the pools, or their sum if there are too many for the terminal.
func (b *liveStatus) poolRows(height int) []*poolCount {
	if len(b.pools) <= mostPools && (height == 0 || len(b.pools) < height/2) || len(b.pools) < 2 {
		return b.pools
	}
	sum := &poolCount{name: fmt.Sprintf("all %d pools", len(b.pools))}
	for _, p := range b.pools {
		sum.hosts += p.hosts
		sum.toStage += p.toStage
		sum.staged += p.staged
		sum.done += p.done
		sum.failed += p.failed
	}
	return []*poolCount{sum}
}

// firstFitting is the first of some ways to say the same that is not too wide, or the
// last.
func firstFitting(width int, ways []string) string {
	for _, w := range ways {
		if ansi.StringWidth(w) <= width {
			return w
		}
	}
	return ways[len(ways)-1]
}

// poolVariants says how far a pool is, in ways that get shorter; names are padded to
// wide columns.
func (b *liveStatus) poolVariants(p *poolCount, wide int) []string {
	name := b.style.bold(p.name) + strings.Repeat(" ", wide-ansi.StringWidth(p.name))
	done, staged, failed := fmt.Sprintf("  done %d/%d", p.done, p.hosts), "", ""
	if p.toStage > 0 {
		staged = fmt.Sprintf("  staged %d/%d", p.staged, p.toStage)
	}
	if p.failed > 0 {
		failed = b.style.red(fmt.Sprintf("  failed %d", p.failed))
	}
	if p.hosts == 0 { // its window is closed
		return []string{name + staged + failed}
	}
	return []string{name + " " + progressBar(p.done, p.hosts) + done + staged + failed, name + done + staged + failed, name + done + failed}
}

// clusterLine says how an etcd cluster is, and how old that news is.
func (b *liveStatus) clusterLine(name string, w etcdWatch, width int, now time.Time) string {
	s := w.sample
	if s.Voters == 0 {
		return b.style.yellow("etcd "+name+"  not known") + ": " + strings.Join(s.Problems, "; ")
	}
	quorum, healthy := engine.QuorumOf(s.Voters), w.healthyVoters()
	leader, away, age := ", no leader", "", ""
	if s.Leader != "" {
		leader = ", leader " + s.Leader
	}
	if hosts := w.downHosts(); len(hosts) > 0 {
		away = ", away: " + strings.Join(textutil.FoldNames(hosts), ", ")
	}
	if !w.at.IsZero() {
		age = ", seen " + formatElapsed(w.at, now) + " ago"
	}
	long := fmt.Sprintf("etcd %s  %d of %d voters healthy, quorum %d", name, healthy, s.Voters, quorum)
	short := fmt.Sprintf("etcd %s  %d/%d healthy, quorum %d", name, healthy, s.Voters, quorum)
	least := fmt.Sprintf("%s %d/%d, quorum %d", name, healthy, s.Voters, quorum)
	text := firstFitting(width, []string{long + leader + away + age, short + leader + away + age, short + away + age, least + leader + away, least + away, least})
	switch {
	case healthy < quorum:
		return b.style.red(text)
	case healthy < s.Voters:
		return b.style.yellow(text)
	}
	return text
}

// stepLines says what goes on now in at most that many lines: by host, or by step
// if there are more hosts than that. Hosts that are disrupted come first.
func (b *liveStatus) stepLines(most int, now time.Time) []string {
	names := sortedKeys(b.active)
	slices.SortStableFunc(names, func(x, y string) int { return cmp.Compare(b.calmRank(x), b.calmRank(y)) })
	if len(names) > most {
		return b.foldedStepLines(names, most, now)
	}
	wide := 0
	for _, n := range names {
		wide = max(wide, ansi.StringWidth(n))
	}
	var lines []string
	for _, n := range names {
		a := b.active[n]
		l := fmt.Sprintf("  %s%s  %s %s", n, strings.Repeat(" ", wide-ansi.StringWidth(n)), a.name, b.style.faint(formatElapsed(a.since, now)))
		if !a.until.IsZero() {
			l += "  " + formatElapsed(now, a.until) + " left"
		}
		if a.message != "" {
			l += "  " + shortHashes(a.message)
		}
		lines = append(lines, l)
	}
	return lines
}

// calmRank returns 1 for a step that disrupts nothing, which sorts it behind others.
func (b *liveStatus) calmRank(name string) int {
	if b.active[name].calm {
		return 1
	}
	return 0
}

func (b *liveStatus) foldedStepLines(names []string, most int, now time.Time) []string {
	hosts := map[string][]string{}
	since := map[string]time.Time{}
	var order []string
	for _, n := range names {
		a := b.active[n]
		if hosts[a.name] == nil {
			order, since[a.name] = append(order, a.name), a.since
		}
		hosts[a.name] = append(hosts[a.name], n)
		if a.since.Before(since[a.name]) {
			since[a.name] = a.since
		}
	}
	var lines []string
	for i, step := range order {
		if i == most-1 && len(order) > most {
			return append(lines, fmt.Sprintf("  and %d steps more", len(order)-i))
		}
		lines = append(lines, fmt.Sprintf("  %s %s  %s: %s", step, b.style.faint("up to "+formatElapsed(since[step], now)),
			formatCount(len(hosts[step]), "host", "hosts"), strings.Join(textutil.FoldNames(hosts[step]), ", ")))
	}
	return lines
}

// formatElapsed is the time since then, in whole seconds.
func formatElapsed(since, now time.Time) string {
	d := max(0, now.Sub(since)).Truncate(time.Second)
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.String()
}

// progressBar is done of all, ten wide.
func progressBar(done, all int) string {
	const width = 10
	full := 0
	if all > 0 {
		full = min(width, width*done/all)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}
