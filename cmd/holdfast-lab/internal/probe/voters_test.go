package probe

import (
	"slices"
	"testing"
	"time"
)

// A member grows a cluster of a, and votes from 500 to 550 ms on.
func growRecord(samples ...Sample) Record {
	unstarted := asLearner(Member{ID: b.ID})
	return Record{
		Start: t0, End: timeAt(1000), Samples: samples,
		Lists: []List{listAt(0, 0, a), listAt(100, 150, unstarted, a), listAt(300, 350, a, asLearner(b)), listAt(500, 550, a, b)},
	}
}

func countsOf(list []Voters) (counts [][2]int) {
	for _, v := range list {
		counts = append(counts, [2]int{v.Count, v.Listed})
	}
	return counts
}

func TestVotersFollowTheList(t *testing.T) {
	up := func(ms int, m Member) Sample { return Sample{At: timeAt(ms), Member: m.ID, Up: true} }
	down := func(ms int, m Member) Sample { return Sample{At: timeAt(ms), Member: m.ID} }
	for name, test := range map[string]struct {
		record Record
		voters [][2]int
		least  int
		atMS   int
	}{
		"a learner that answers becomes a voter": {growRecord(up(400, b)), [][2]int{{1, 1}, {2, 2}}, 0, 0},
		"a learner that does not answer":         {growRecord(down(400, b)), [][2]int{{1, 1}, {1, 2}}, -1, 550},
		"the new voter leaves later":             {growRecord(up(400, b), up(700, b), down(750, b)), [][2]int{{1, 1}, {2, 2}, {1, 2}}, -1, 700},
		"the new voter is away for a moment":     {growRecord(up(400, b), up(700, b), down(750, b), up(800, b)), [][2]int{{1, 1}, {2, 2}, {1, 2}, {2, 2}}, -1, 700},
		"a learner is away":                      {growRecord(up(360, b), down(400, b), up(450, b)), [][2]int{{1, 1}, {2, 2}}, 0, 0},
		"a voter that never started": {
			Record{Start: t0, End: timeAt(1000), Lists: []List{listAt(0, 0, a), listAt(100, 150, a, Member{ID: b.ID})}},
			[][2]int{{1, 1}, {1, 2}},
			-1, 150,
		},
		"a member stops when it is removed": {
			Record{
				Start: t0, End: timeAt(1000), Samples: []Sample{up(300, c), down(350, c), up(300, b)},
				Lists: []List{listAt(0, 0, a, c), listAt(250, 450, a)},
			}, [][2]int{{2, 2}, {1, 1}}, 0, 0,
		},
		"a member stops before it is removed": {
			Record{
				Start: t0, End: timeAt(1000), Samples: []Sample{up(100, c), down(150, c)},
				Lists: []List{listAt(0, 0, a, c), listAt(250, 450, a)},
			}, [][2]int{{2, 2}, {1, 2}, {1, 1}}, -1, 100,
		},
		"a dead member is removed before it is known to be dead": {
			Record{
				Start: t0, End: timeAt(1000), Samples: []Sample{up(300, a), {At: timeAt(50), Member: b.ID, Pending: true}},
				Lists: []List{listAt(0, 0, a, b, c), listAt(500, 700, a, c)},
			}, [][2]int{{3, 3}, {2, 3}, {2, 2}}, 0, 50,
		},
		"an answer is pending when the member is removed": {
			Record{
				Start: t0, End: timeAt(1000), Samples: []Sample{up(460, c), {At: timeAt(510), Member: c.ID, Pending: true}},
				Lists: []List{listAt(0, 0, a, c), listAt(500, 700, a)},
			}, [][2]int{{2, 2}, {1, 1}}, 0, 0,
		},
		"a dead member is replaced": {
			Record{
				Start: t0, End: timeAt(1000), Samples: []Sample{down(50, b), up(700, Member{ID: 9})},
				Lists: []List{
					listAt(0, 0, a, b, c), listAt(200, 250, a, c), listAt(300, 350, asLearner(Member{ID: 9}), a, c),
					listAt(400, 450, a, asLearner(Member{ID: 9, Name: "b", URL: b.URL}), c), listAt(800, 850, a, Member{ID: 9, Name: "b", URL: b.URL}, c),
				},
			}, [][2]int{{2, 3}, {2, 2}, {3, 3}}, 0, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Summarize(test.record)
			if got := countsOf(r.Voters); !slices.Equal(got, test.voters) {
				t.Errorf("voters %v, want %v", got, test.voters)
			}
			if r.Least.spare() != test.least || !r.Least.At.Equal(timeAt(test.atMS)) {
				t.Errorf("smallest spare %s at %s, want %d at %d ms", r.Least, r.Least.At.Sub(t0), test.least, test.atMS)
			}
			if test.least >= 0 && r.LongestWithoutQuorum() > 0 || test.least < 0 && r.LongestWithoutQuorum() == 0 {
				t.Errorf("without quorum for %s", r.LongestWithoutQuorum())
			}
		})
	}
}

func TestChanges(t *testing.T) {
	r := Summarize(growRecord(Sample{At: timeAt(400), Member: b.ID, Up: true}))
	if r.Sizes() != "1→2" {
		t.Errorf("voters %s", r.Sizes())
	}
	if want := []Joining{{Name: "b", Took: 400 * time.Millisecond}}; !slices.Equal(r.Joined, want) {
		t.Errorf("joined %v, want %v", r.Joined, want)
	}
	for _, m := range r.Members {
		if m.Longest() > 0 {
			t.Errorf("%s was away: a member that has not answered yet is not", m.Name)
		}
	}
	if r.Quorum != 1 {
		t.Errorf("quorum at the beginning %d", r.Quorum)
	}
}

// A write that was begun and confirmed while too few voters answered the probe shows that the cluster had its quorum.
func TestWritesProveTheQuorum(t *testing.T) {
	a, b := Member{ID: 1, Name: "a", URL: "a"}, Member{ID: 2, Name: "b", URL: "b"}
	record := Record{
		Start: t0, End: timeAt(2000), Lists: []List{listAt(0, 0, a, b)},
		Samples: []Sample{{At: timeAt(0), Member: b.ID, Up: true}, {At: timeAt(400), Member: b.ID}, {At: timeAt(1500), Member: b.ID, Up: true}},
	}
	if got := Summarize(record).LongestWithoutQuorum(); got != 1500*time.Millisecond {
		t.Errorf("without writes: without quorum for %s", got)
	}
	for at := 0; at < 1900; at += 50 {
		record.Writes = append(record.Writes, Write{Start: timeAt(at), Took: 20 * time.Millisecond})
	}
	if got := Summarize(record).LongestWithoutQuorum(); got != 70*time.Millisecond {
		t.Errorf("with writes: without quorum for %s", got)
	}
	for i := range record.Writes[10:20] { // from 500 ms to 950 ms
		record.Writes[10+i].Err = "timeout"
	}
	if got := Summarize(record).LongestWithoutQuorum(); got != 570*time.Millisecond {
		t.Errorf("with a gap: without quorum for %s", got)
	}
}
