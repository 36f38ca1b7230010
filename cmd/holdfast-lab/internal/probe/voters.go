package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Voters is the number of answering voters, and of all voters, from a moment on.
type Voters struct {
	At            time.Time
	Count, Listed int
}

// quorum returns how many voters a write needs.
func (v Voters) quorum() int { return v.Listed/2 + 1 }

// spare returns how many more voters may fail. If it is negative, the quorum is
// lost.
func (v Voters) spare() int { return v.Count - v.quorum() }

func (v Voters) String() string {
	return fmt.Sprintf("%d (%d of %d voters answered, quorum %d)", v.spare(), v.Count, v.Listed, v.quorum())
}

// Joining is how long a member took from its entry in the member list until it
// voted.
type Joining struct {
	Name string
	Took time.Duration
}

// LongestBelow returns the longest time in which fewer than least voters
// answered.
func (r Report) LongestBelow(least int) time.Duration {
	var longest time.Duration
	for _, s := range r.spansWhile(func(v Voters) bool { return v.Count < least }) {
		longest = max(longest, s.To.Sub(s.From))
	}
	return longest
}

// LongestWithoutQuorum returns the longest time in which fewer voters answered
// than the quorum of the moment, and in which no write was begun and confirmed. A
// voter may answer other voters before it answers the probe: a write that is
// confirmed has had a quorum.
func (r Report) LongestWithoutQuorum() time.Duration {
	var longest time.Duration
	for _, s := range r.spansWhile(func(v Voters) bool { return v.spare() < 0 }) {
		since := s.From
		for _, w := range r.confirmed {
			if end := w.Start.Add(w.Took); !w.Start.Before(s.From) && !end.After(s.To) {
				longest, since = max(longest, end.Sub(since)), w.Start
			}
		}
		longest = max(longest, s.To.Sub(since))
	}
	return longest
}

func (r Report) spansWhile(isShort func(Voters) bool) (spans []Span) {
	goesOn := false
	for i, v := range r.Voters {
		if !isShort(v) {
			goesOn = false
			continue
		}
		until := r.Voters[0].At.Add(r.Took)
		if i+1 < len(r.Voters) {
			until = r.Voters[i+1].At
		}
		if goesOn {
			spans[len(spans)-1].To = until
		} else {
			spans = append(spans, Span{From: v.At, To: until})
		}
		goesOn = true
	}
	return spans
}

// Sizes returns the numbers of voters that the cluster had, one after the other,
// such as 1→2→3.
func (r Report) Sizes() string {
	texts := make([]string, 0, len(r.Changes))
	for _, n := range r.Changes {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, "→")
}

// presence has the observations of one member.
type presence struct {
	member   Member
	from, to time.Time // in the list
	first    bool      // it was in the first list
	started  time.Time // since when the list has its URL; zero: it never had
	away     []Span    // not before it first answered
	silent   []Span    // away, and the time from its entry in the list until it first answered
}

// listPresences returns all members of the lists, in the order of their entries.
func listPresences(rec Record, samples []Sample) []presence {
	var all []presence
	for i, list := range rec.Lists {
		for _, m := range list.Members {
			k := slices.IndexFunc(all, func(p presence) bool { return p.member.ID == m.ID })
			if k < 0 {
				k = len(all)
				all = append(all, presence{from: laterOf(list.After, rec.Start), first: i == 0})
			}
			all[k].member, all[k].to = m, rec.End
			if i+1 < len(rec.Lists) {
				all[k].to = rec.Lists[i+1].By
			}
			if all[k].started.IsZero() && m.URL != "" {
				all[k].started = laterOf(list.By, rec.Start)
			}
		}
	}
	for i := range all {
		all[i].findAbsences(samples)
	}
	return all
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// findAbsences finds the times in which a member did not answer: from the last
// answer before to the first answer after. A member is silent until the list has
// its URL, and then counts as answering until its first sample.
func (p *presence) findAbsences(samples []Sample) {
	if p.started.IsZero() {
		p.silent = []Span{{From: p.from, To: p.to}}
		return
	}
	last, gone, answered := p.started, false, p.first
	if p.from.Before(last) {
		p.silent = append(p.silent, Span{From: p.from, To: last})
	}
	add := func(until time.Time) {
		p.silent = append(p.silent, Span{From: last, To: until})
		if answered {
			p.away = append(p.away, Span{From: last, To: until})
		}
	}
	for _, s := range samples {
		if s.Member != p.member.ID {
			continue
		}
		switch {
		case s.Up && gone:
			add(s.At)
			last, answered = s.At, true
		case s.Up:
			last, answered = s.At, true
		case s.Pending && !gone:
			last = s.At
		}
		gone = !s.Up
	}
	if gone && last.Before(p.to) {
		add(p.to)
	}
}

func (p *presence) answersAt(t time.Time) bool {
	return !slices.ContainsFunc(p.silent, func(s Span) bool { return !t.Before(s.From) && t.Before(s.To) })
}

// addVoters counts the voters at each moment at which their number can have
// changed. Between two readings of the member list it is not known which of the
// two lists is in force. Then the one with more voters to spare counts.
func (r *Report) addVoters(rec Record, members []presence) {
	var moments []time.Time
	for _, l := range rec.Lists {
		moments = append(moments, l.After, l.By)
	}
	for _, m := range members {
		for _, s := range m.silent {
			moments = append(moments, s.From, s.To)
		}
	}
	moments = slices.DeleteFunc(moments, func(t time.Time) bool { return !t.After(rec.Start) || !t.Before(rec.End) })
	moments = append(moments, rec.Start)
	slices.SortFunc(moments, time.Time.Compare)
	for _, t := range slices.CompactFunc(moments, time.Time.Equal) {
		v := votersAt(t, rec.Lists, members)
		if n := len(r.Voters); n == 0 || r.Voters[n-1].Count != v.Count || r.Voters[n-1].Listed != v.Listed {
			r.Voters = append(r.Voters, v)
		}
	}
	r.Least, r.MinVoters = r.Voters[0], r.Voters[0].Count
	for _, v := range r.Voters {
		if v.spare() < r.Least.spare() {
			r.Least = v
		}
		r.MinVoters = min(r.MinVoters, v.Count)
	}
}

func votersAt(t time.Time, lists []List, members []presence) Voters {
	best, found := Voters{At: t}, false
	for i, l := range lists {
		if i > 0 && t.Before(l.After) || i+1 < len(lists) && !t.Before(lists[i+1].By) {
			continue
		}
		v := Voters{At: t}
		for _, m := range l.listVoters() {
			v.Listed++
			if i := slices.IndexFunc(members, func(p presence) bool { return p.member.ID == m.ID }); members[i].answersAt(t) {
				v.Count++
			}
		}
		if !found || v.spare() >= best.spare() {
			best, found = v, true
		}
	}
	return best
}

func (r *Report) addChanges(rec Record) {
	entered := map[uint64]time.Time{} // learners
	for _, l := range rec.Lists {
		if n := len(l.listVoters()); len(r.Changes) == 0 || r.Changes[len(r.Changes)-1] != n {
			r.Changes = append(r.Changes, n)
		}
		for _, m := range l.Members {
			since, waits := entered[m.ID]
			switch {
			case m.Learner && !waits:
				entered[m.ID] = l.By
			case !m.Learner && waits:
				r.Joined = append(r.Joined, Joining{Name: m.Name, Took: l.By.Sub(since)})
				delete(entered, m.ID)
			}
		}
	}
}
