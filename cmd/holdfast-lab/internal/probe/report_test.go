package probe

import (
	"testing"
	"time"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func timeAt(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }

func millis(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

// a, b and c are members.
var (
	a = Member{ID: 1, Name: "a", URL: "https://a"}
	b = Member{ID: 2, Name: "b", URL: "https://b"}
	c = Member{ID: 3, Name: "c", URL: "https://c"}
)

func listAt(after, by int, members ...Member) List {
	return List{After: timeAt(after), By: timeAt(by), Members: members}
}

func asLearner(m Member) Member {
	m.Learner = true
	return m
}

func newRecord(samples []Sample, writes []Write) Record {
	return Record{Start: t0, End: timeAt(1000), Lists: []List{listAt(0, 0, a, b, c)}, Samples: samples, Writes: writes}
}

func TestWrites(t *testing.T) {
	var writes []Write
	for i := range 20 {
		writes = append(writes, Write{Start: timeAt(50 * i), Took: millis(i + 1)})
	}
	writes[10].Err, writes[11].Err, writes[12].Err = "reset", "reset", "deadline"
	r := Summarize(newRecord(nil, writes))
	if r.Writes != 20 || r.Failed != 3 || len(r.Errors) != 2 {
		t.Errorf("writes %d, failed %d, errors %v", r.Writes, r.Failed, r.Errors)
	}
	// 17 writes were committed, with latencies of 1…10 and 14…20 ms.
	if r.P50 != millis(9) || r.P99 != millis(20) || r.Max != millis(20) {
		t.Errorf("p50 %s, p99 %s, max %s", r.P50, r.P99, r.Max)
	}
	// The gap lasts from 450+10 to 650+14.
	if r.Gap != millis(204) || !r.GapAt.Equal(timeAt(460)) {
		t.Errorf("gap %s at %s", r.Gap, r.GapAt)
	}
}

func TestGapCountsTheEnds(t *testing.T) {
	r := Summarize(newRecord(nil, []Write{{Start: timeAt(290), Took: millis(10)}}))
	if r.Gap != millis(700) || !r.GapAt.Equal(timeAt(300)) {
		t.Errorf("gap %s at %s", r.Gap, r.GapAt)
	}
	if r := Summarize(newRecord(nil, nil)); r.Gap != millis(1000) || r.P50 != 0 {
		t.Errorf("without a write: gap %s, p50 %s", r.Gap, r.P50)
	}
}

func TestQuantile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, millis(i+1))
	}
	for _, c := range []struct {
		q    float64
		want int
	}{{0, 1}, {0.01, 1}, {0.5, 50}, {0.99, 99}, {0.991, 100}, {1, 100}} {
		if got := quantileOf(hundred, c.q); got != millis(c.want) {
			t.Errorf("quantile %v = %s, want %d ms", c.q, got, c.want)
		}
	}
}

func TestAwayAndVoters(t *testing.T) {
	r := Summarize(newRecord([]Sample{
		{At: timeAt(100), Member: a.ID, Up: true, Leader: 1, Term: 2},
		{At: timeAt(100), Member: b.ID, Up: true, Leader: 1, Term: 2},
		{At: timeAt(200), Member: a.ID},
		{At: timeAt(300), Member: b.ID, Up: true, Leader: 1, Term: 2},
		{At: timeAt(350), Member: b.ID},
		{At: timeAt(500), Member: a.ID, Up: true, Leader: 1, Term: 2},
		{At: timeAt(600), Member: b.ID},
	}, nil))
	if got := r.Members[0].Longest(); got != millis(400) {
		t.Errorf("a was away %s", got)
	}
	if got := r.Members[1].Longest(); got != millis(700) {
		t.Errorf("b, which did not come back, was away %s", got)
	}
	if got := r.Members[2].Longest(); got != 0 {
		t.Errorf("c was away %s", got)
	}
	if r.MinVoters != 1 || r.Quorum != 2 {
		t.Errorf("fewest voters %d, quorum %d", r.MinVoters, r.Quorum)
	}
}

func TestOneAfterAnotherIsNotTwoAtOnce(t *testing.T) {
	r := Summarize(newRecord([]Sample{
		{At: timeAt(100), Member: a.ID, Up: true},
		{At: timeAt(200), Member: a.ID},
		{At: timeAt(300), Member: a.ID, Up: true},
		{At: timeAt(300), Member: b.ID, Up: true},
		{At: timeAt(400), Member: b.ID},
		{At: timeAt(500), Member: b.ID, Up: true},
	}, nil))
	if r.MinVoters != 2 {
		t.Errorf("fewest voters %d", r.MinVoters)
	}
	want := []int{3, 2, 3}
	if len(r.Voters) != len(want) {
		t.Fatalf("voters %v", r.Voters)
	}
	for i, n := range want {
		if r.Voters[i].Count != n {
			t.Errorf("voters %v, want %v", r.Voters, want)
		}
	}
}

func TestLeaders(t *testing.T) {
	sample := func(ms int, member Member, leader, term uint64) Sample {
		return Sample{At: timeAt(ms), Member: member.ID, Up: true, Leader: leader, Term: term}
	}
	r := Summarize(newRecord([]Sample{
		sample(100, a, 1, 2), sample(100, b, 1, 2),
		sample(150, a, 2, 3), sample(150, b, 1, 2), sample(200, b, 2, 3), // b learns of the new leader late
		sample(250, b, 0, 3), sample(300, a, 0, 3), sample(400, a, 2, 4), // the same leader again, in another term
		sample(450, a, 3, 5),
	}, nil))
	if r.LeaderChanges != 2 {
		t.Errorf("%d leader changes", r.LeaderChanges)
	}
	if r.Leaderless != millis(200) {
		t.Errorf("leaderless %s", r.Leaderless)
	}
}
