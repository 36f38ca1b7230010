package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Record contains all observations of a probe.
type Record struct {
	Start   time.Time
	End     time.Time
	Lists   []List // each differs from the one before
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
// member knows no leader. Term is the raft term of the member, or 0 if it was not
// asked who leads. Pending says that the watch of the member ended before it
// answered; At is then the time at which it was asked.
type Sample struct {
	At           time.Time
	Member       uint64 // ID
	Up, Pending  bool
	Leader, Term uint64
}

// Between returns the part of the record between two times. A write belongs to
// the part in which it started.
func (r Record) Between(from, to time.Time) Record {
	isWithin := func(t time.Time) bool { return !t.Before(from) && t.Before(to) }
	part := Record{Start: from, End: to, Lists: r.Lists}
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
	// Members has all members, in the order in which they came.
	Members []MemberReport
	// LeaderChanges counts how often the cluster got another leader. Leaderless
	// is the longest time in which members answered and knew no leader.
	LeaderChanges int
	Leaderless    time.Duration
	// Voters has the number of answering voters, one entry for each change.
	// MinVoters is the lowest number. Quorum is the number that the voters at the
	// beginning needed. Least has the fewest voters to spare.
	Voters    []Voters
	MinVoters int
	Quorum    int
	Least     Voters
	// Changes has the number of voters in the member list, one entry for each
	// change. Joined has the learners that became voters.
	Changes []int
	Joined  []Joining

	confirmed []Write // in the order in which they began
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

// Longest returns the longest time in which the member did not answer.
func (m MemberReport) Longest() time.Duration {
	var d time.Duration
	for _, s := range m.Away {
		d = max(d, s.To.Sub(s.From))
	}
	return d
}

// Summarize turns a record into a report.
func Summarize(rec Record) Report {
	r := Report{Took: rec.End.Sub(rec.Start), Writes: len(rec.Writes)}
	samples := slices.SortedStableFunc(slices.Values(rec.Samples), func(a, b Sample) int { return a.At.Compare(b.At) })
	members := listPresences(rec, samples)
	for _, m := range members {
		r.addMember(m)
	}
	r.addWrites(rec)
	r.addVoters(rec, members)
	r.Quorum = r.Voters[0].quorum()
	r.addChanges(rec)
	r.addLeaders(rec, samples)
	return r
}

// addMember adds the absences of a member. A member that was replaced by one of
// the same name is the same member to people. A member without a name never
// started.
func (r *Report) addMember(m presence) {
	if m.member.Name == "" {
		return
	}
	i := slices.IndexFunc(r.Members, func(known MemberReport) bool { return known.Name == m.member.Name })
	if i < 0 {
		i = len(r.Members)
		r.Members = append(r.Members, MemberReport{Name: m.member.Name})
	}
	r.Members[i].Away = append(r.Members[i].Away, m.away...)
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
		r.confirmed = append(r.confirmed, w)
	}
	slices.SortFunc(r.confirmed, func(a, b Write) int { return a.Start.Compare(b.Start) })
	slices.Sort(took)
	r.P50, r.P99, r.Max = quantileOf(took, 0.5), quantileOf(took, 0.99), quantileOf(took, 1)
	slices.SortFunc(commits, time.Time.Compare)
	for i := 1; i < len(commits); i++ {
		if gap := commits[i].Sub(commits[i-1]); gap > r.Gap {
			r.Gap, r.GapAt = gap, commits[i-1]
		}
	}
}

// quantileOf returns the smallest of the sorted values for which a share q of them
// is not larger.
func quantileOf(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(q * float64(len(sorted)))
	if float64(rank) < q*float64(len(sorted)) {
		rank++
	}
	return sorted[max(rank, 1)-1]
}

// addLeaders counts leaders by term: if a member learns of a new leader late,
// this must not count as another change.
func (r *Report) addLeaders(rec Record, samples []Sample) {
	var leader, term uint64
	seen, lost := rec.Start, false
	for _, s := range samples {
		if !s.Up || s.Term == 0 {
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
	fmt.Fprintf(&b, "longest time without a commit %s at %s; leader changes %d\n", formatMillis(r.Gap), r.GapAt.Format(time.TimeOnly), r.LeaderChanges)
	fmt.Fprintf(&b, "voters %s; fewest answering %d; smallest spare %s at %s\n", r.Sizes(), r.MinVoters, r.Least, r.Least.At.Format(time.TimeOnly))
	for _, j := range r.Joined {
		fmt.Fprintf(&b, "%s became a voter after %s\n", j.Name, j.Took.Round(100*time.Millisecond))
	}
	for _, m := range r.Members {
		fmt.Fprintf(&b, "%s away %s\n", m.Name, formatMillis(m.Longest()))
	}
	return b.String()
}

func formatMillis(d time.Duration) string { return d.Round(100 * time.Microsecond).String() }
