package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine/etcdfacts"
	"holdfast/engine/report/termtext"
	"holdfast/engine/report/voters"
	"holdfast/engine/textutil"
)

// Size is the size of a terminal in columns and lines. Zero means unknown.
type Size struct{ Width, Height int }

const (
	mostActive = 8 // number of lines about active steps
	mostPools  = 6 // number of pools with a line each; a larger number is summed up in one line

	fewestForForecast = 10 // lines of a terminal that has room for the forecast
)

// Render renders the status for a terminal. It leaves one line free for the output that scrolls above.
func (b *Status) Render(on Size, now time.Time) string {
	var lines []string
	rows := b.poolRows(on.Height)
	wide := 0
	for _, p := range rows {
		wide = max(wide, ansi.StringWidth(p.name))
	}
	for _, p := range rows {
		lines = append(lines, firstFitting(on.Width, b.poolVariants(p, wide)))
	}
	for _, name := range slices.Sorted(maps.Keys(b.clusters)) {
		if s := b.clusters[name].Sample; s.Voters == 0 && len(s.Problems) == 0 { // no sample yet
			continue
		}
		lines = append(lines, b.clusterLine(name, *b.clusters[name], on.Width, now))
	}
	if text := b.forecast.formatForecast(now); text != "" && (on.Height == 0 || on.Height >= fewestForForecast) {
		lines = append(lines, b.style.Faint(text))
	}
	most := mostActive
	if on.Height > 0 {
		most = max(2, min(most, on.Height-1-len(lines)))
	}
	lines = append(lines, b.stepLines(most, now)...)
	if on.Height > 0 {
		lines = lines[:min(len(lines), max(1, on.Height-1))]
	}
	for i, l := range lines {
		lines[i] = ansi.Truncate(termtext.OneLine(l), max(1, on.Width), "…")
	}
	return strings.Join(lines, "\n")
}

func (b *Status) poolRows(height int) []*poolCount {
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

func firstFitting(width int, ways []string) string {
	for _, w := range ways {
		if ansi.StringWidth(w) <= width {
			return w
		}
	}
	return ways[len(ways)-1]
}

func (b *Status) poolVariants(p *poolCount, wide int) []string {
	name := b.style.Bold(p.name) + strings.Repeat(" ", wide-ansi.StringWidth(p.name))
	done, staged, failed := fmt.Sprintf("  done %d/%d", p.done, p.hosts), "", ""
	if p.toStage > 0 {
		staged = fmt.Sprintf("  staged %d/%d", p.staged, p.toStage)
	}
	if p.failed > 0 {
		failed = b.style.Red(fmt.Sprintf("  failed %d", p.failed))
	}
	if p.hosts == 0 { // the window of the pool is closed
		return []string{name + staged + failed}
	}
	return []string{name + " " + progressBar(p.done, p.hosts) + done + staged + failed, name + done + staged + failed, name + done + failed}
}

func (b *Status) clusterLine(name string, w voters.Watch, width int, now time.Time) string {
	s := w.Sample
	if s.Voters == 0 {
		return b.style.Yellow("etcd "+name+"  not known") + ": " + strings.Join(s.Problems, "; ")
	}
	quorum, healthy := etcdfacts.QuorumOf(s.Voters), w.HealthyVoters()
	if since := w.Silence.Since; !since.IsZero() {
		long := fmt.Sprintf("etcd %s  no answer since %s UTC, for %s", name, since.UTC().Format(time.TimeOnly), formatElapsed(since, now))
		before := fmt.Sprintf("; before: %d of %d voters healthy, quorum %d", healthy, s.Voters, quorum)
		return b.style.Yellow(firstFitting(width, []string{long + before, long, name + ": no answer"}))
	}
	leader, away, age := ", no leader", "", ""
	if s.Leader != "" {
		leader = ", leader " + s.Leader
	}
	if hosts := w.DownHosts(); len(hosts) > 0 {
		away = ", away: " + strings.Join(textutil.FoldNames(hosts), ", ")
	}
	if !w.At.IsZero() {
		age = ", seen " + formatElapsed(w.At, now) + " ago"
	}
	long := fmt.Sprintf("etcd %s  %d of %d voters healthy, quorum %d", name, healthy, s.Voters, quorum)
	short := fmt.Sprintf("etcd %s  %d/%d healthy, quorum %d", name, healthy, s.Voters, quorum)
	least := fmt.Sprintf("%s %d/%d, quorum %d", name, healthy, s.Voters, quorum)
	text := firstFitting(width, []string{long + leader + away + age, short + leader + away + age, short + away + age, least + leader + away, least + away, least})
	switch {
	case healthy < quorum:
		return b.style.Red(text)
	case healthy < s.Voters:
		return b.style.Yellow(text)
	}
	return text
}

// stepLines returns at most that many lines about active steps, disrupted hosts
// first. It groups by step if there are more hosts.
func (b *Status) stepLines(most int, now time.Time) []string {
	names := slices.Sorted(maps.Keys(b.active))
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
		l := fmt.Sprintf("  %s%s  %s %s", n, strings.Repeat(" ", wide-ansi.StringWidth(n)), a.name, b.style.Faint(formatElapsed(a.since, now)))
		if !a.until.IsZero() {
			l += "  " + formatElapsed(now, a.until) + " left"
		}
		if a.message != "" {
			l += "  " + termtext.ShortHashes(a.message)
		}
		lines = append(lines, l)
	}
	return lines
}

func (b *Status) calmRank(name string) int {
	if b.active[name].calm {
		return 1
	}
	return 0
}

func (b *Status) foldedStepLines(names []string, most int, now time.Time) []string {
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
		lines = append(lines, fmt.Sprintf("  %s %s  %s: %s", step, b.style.Faint("up to "+formatElapsed(since[step], now)),
			termtext.FormatCount(len(hosts[step]), "host", "hosts"), strings.Join(textutil.FoldNames(hosts[step]), ", ")))
	}
	return lines
}

func formatElapsed(since, now time.Time) string {
	d := max(0, now.Sub(since)).Truncate(time.Second)
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.String()
}

func progressBar(done, all int) string {
	const width = 10
	full := 0
	if all > 0 {
		full = min(width, width*done/all)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}
