package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Record contains all observations of a probe.
type Record struct {
	Members []string
	Start   time.Time
	End     time.Time
	Writes  []Write
	Samples []Sample
}

// Write is one attempt to write. Err is empty if the write was committed.
type Write struct {
	Key   string
	Start time.Time
	Took  time.Duration
	Err   string
}

// Sample is one answer of a member, or a missing answer. Leader is 0 while the
// member knows no leader. Term is the raft term of the member.
type Sample struct {
	At           time.Time
	Member       string
	Up           bool
	Leader, Term uint64
}

// Between returns the part of the record between two times. A write belongs to
// the part in which it started.
func (r Record) Between(from, to time.Time) Record {
	isWithin := func(t time.Time) bool { return !t.Before(from) && t.Before(to) }
	part := Record{Members: r.Members, Start: from, End: to}
	for _, w := range r.Writes {
		if isWithin(w.Start) {
			part.Writes = append(part.Writes, w)
		}
	}
	for _, s := range r.Samples {
		if isWithin(s.At) {
			part.Samples = append(part.Samples, s)
		}
	}
	return part
}

// Report contains the effects that clients would notice.
type Report struct {
	// Took is how long the probe ran.
	Took time.Duration
	// Writes counts all attempts. Failed counts the writes that were not
	// confirmed. Errors has their distinct reasons.
	Writes, Failed int
	Errors         []string
	// P50, P99 and Max are latencies of committed writes.
	P50, P99, Max time.Duration
	// Gap is the longest time without a commit. It starts at GapAt.
	Gap   time.Duration
	GapAt time.Time
	// Members has the members in the order of the record.
	Members []MemberReport
	// LeaderChanges counts how often the cluster got another leader. Leaderless
	// is the longest time in which members answered and knew no leader.
	LeaderChanges int
	Leaderless    time.Duration
	// Voters has the number of answering voters, one entry for each change.
	// MinVoters is the lowest number. Quorum is the required number.
	Voters    []Voters
	MinVoters int
	Quorum    int
}

// MemberReport lists the times in which a member did not answer.
type MemberReport struct {
	Name string
	Away []Span
}

// Span is the time between two answers of a member, if requests between them had
// no answer.
type Span struct {
	From, To time.Time
}

// Voters is the number of answering voters from a moment on.
type Voters struct {
	At    time.Time
	Count int
}

// Longest returns the longest time in which the member did not answer.
func (m MemberReport) Longest() time.Duration {
	var d time.Duration
	for _, s := range m.Away {
		d = max(d, s.To.Sub(s.From))
	}
	return d
}

// LongestBelow returns the longest time in which fewer than least voters
// answered.
func (r Report) LongestBelow(least int) time.Duration {
	var longest, short time.Duration
	for i, v := range r.Voters {
		if v.Count >= least {
			short = 0
			continue
		}
		until := r.Voters[0].At.Add(r.Took)
		if i+1 < len(r.Voters) {
			until = r.Voters[i+1].At
		}
		short += until.Sub(v.At)
		longest = max(longest, short)
	}
	return longest
}

// Summarize turns a record into a report.
func Summarize(rec Record) Report {
	r := Report{
		Took: rec.End.Sub(rec.Start), Writes: len(rec.Writes),
		Quorum: len(rec.Members)/2 + 1,
	}
	samples := slices.SortedStableFunc(slices.Values(rec.Samples), func(a, b Sample) int { return a.At.Compare(b.At) })
	r.addWrites(rec)
	for _, name := range rec.Members {
		r.Members = append(r.Members, MemberReport{Name: name, Away: findAbsences(name, rec, samples)})
	}
	r.addVoters(rec)
	r.addLeaders(rec, samples)
	return r
}

func (r *Report) addWrites(rec Record) {
	var took []time.Duration
	commits := []time.Time{rec.Start, rec.End}
	for _, w := range rec.Writes {
		if w.Err != "" {
			r.Failed++
			if !slices.Contains(r.Errors, w.Err) {
				r.Errors = append(r.Errors, w.Err)
			}
			continue
		}
		took = append(took, w.Took)
		commits = append(commits, w.Start.Add(w.Took))
	}
	slices.Sort(took)
	r.P50, r.P99, r.Max = quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1)
	slices.SortFunc(commits, time.Time.Compare)
	for i := 1; i < len(commits); i++ {
		if gap := commits[i].Sub(commits[i-1]); gap > r.Gap {
			r.Gap, r.GapAt = gap, commits[i-1]
		}
	}
}

// quantile returns the smallest of the sorted values for which a share q of them
// is not larger.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(q * float64(len(sorted)))
	if float64(rank) < q*float64(len(sorted)) {
		rank++
	}
	return sorted[max(rank, 1)-1]
}

// findAbsences finds the times in which a member did not answer: from the last
// answer before to the first answer after. Until its first sample, a member
// counts as answering.
func findAbsences(name string, rec Record, samples []Sample) []Span {
	var spans []Span
	last, gone := rec.Start, false
	for _, s := range samples {
		if s.Member != name {
			continue
		}
		if s.Up && gone {
			spans = append(spans, Span{From: last, To: s.At})
		}
		if s.Up {
			last = s.At
		}
		gone = !s.Up
	}
	if gone {
		spans = append(spans, Span{From: last, To: rec.End})
	}
	return spans
}

func (r *Report) addVoters(rec Record) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, m := range r.Members {
		for _, s := range m.Away {
			changes = append(changes, change{s.From, -1}, change{s.To, +1})
		}
	}
	// If members return and leave at the same moment, the returning ones count
	// first.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), b.by-a.by) })
	count := len(rec.Members)
	r.MinVoters = count
	r.Voters = []Voters{{At: rec.Start, Count: count}}
	for _, c := range changes {
		count += c.by
		r.MinVoters = min(r.MinVoters, count)
		r.Voters = append(r.Voters, Voters{At: c.at, Count: count})
	}
}

// addLeaders counts leaders by term: if a member learns of a new leader late,
// this must not count as another change.
func (r *Report) addLeaders(rec Record, samples []Sample) {
	var leader, term uint64
	seen, lost := rec.Start, false
	for _, s := range samples {
		if !s.Up {
			continue
		}
		if s.Leader == 0 {
			lost = true
			continue
		}
		if lost {
			r.Leaderless = max(r.Leaderless, s.At.Sub(seen))
		}
		seen, lost = s.At, false
		if s.Term > term {
			if leader != 0 && leader != s.Leader {
				r.LeaderChanges++
			}
			leader, term = s.Leader, s.Term
		}
	}
	if lost {
		r.Leaderless = max(r.Leaderless, rec.End.Sub(seen))
	}
}

// String returns a table for people.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "writes %d, failed %d; latency p50 %s, p99 %s, max %s\n", r.Writes, r.Failed, formatMillis(r.P50), formatMillis(r.P99), formatMillis(r.Max))
	fmt.Fprintf(&b, "longest time without a commit %s; leader changes %d; fewest voters %d of %d (quorum %d)\n",
		formatMillis(r.Gap), r.LeaderChanges, r.MinVoters, len(r.Members), r.Quorum)
	for _, m := range r.Members {
		fmt.Fprintf(&b, "%s away %s\n", m.Name, formatMillis(m.Longest()))
	}
	return b.String()
}

func formatMillis(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
