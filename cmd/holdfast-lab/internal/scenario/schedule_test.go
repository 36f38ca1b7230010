package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"
)

func namesOf(all []script) []string {
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}

// TestPartsAreDisjointAndBalanced: the parts of a run have each scenario once, and take about the same time.
func TestPartsAreDisjointAndBalanced(t *testing.T) {
	all, err := listScripts()
	if err != nil {
		t.Fatal(err)
	}
	for of := 1; of <= 5; of++ {
		var seen []string
		var shortest, longest, aloneMost, aloneLeast time.Duration
		for n := 1; n <= of; n++ {
			part := choosePart(all, Part{Number: n, Of: of})
			var total, alone time.Duration
			for _, s := range part {
				total += s.expected
				if s.alone {
					alone += s.expected
				}
			}
			if n == 1 || total < shortest {
				shortest = total
			}
			if n == 1 || alone < aloneLeast {
				aloneLeast = alone
			}
			longest, aloneMost = max(longest, total), max(aloneMost, alone)
			seen = append(seen, namesOf(part)...)
		}
		slices.Sort(seen)
		if want := slices.Sorted(slices.Values(namesOf(all))); !slices.Equal(seen, want) {
			t.Errorf("%d parts have %d scenarios, not %d", of, len(seen), len(want))
		}
		if longest-shortest > 2*time.Minute || aloneMost-aloneLeast > 2*time.Minute {
			t.Errorf("%d parts take from %s to %s, and alone from %s to %s", of, shortest, longest, aloneLeast, aloneMost)
		}
	}
}

func TestPartsStayTheSame(t *testing.T) {
	var all []script
	for i := range 7 {
		all = append(all, script{name: fmt.Sprint("s", i), expected: time.Duration(i+1) * time.Minute, alone: i%3 == 0})
	}
	for n, want := range map[int][]string{1: {"s1", "s4", "s6"}, 2: {"s0", "s2", "s3", "s5"}} {
		if got := namesOf(choosePart(all, Part{Number: n, Of: 2})); !slices.Equal(got, want) {
			t.Errorf("part %d has %v, not %v", n, got, want)
		}
	}
}

func TestParsePart(t *testing.T) {
	for text, want := range map[string]Part{"1/3": {1, 3}, "3/3": {3, 3}, "1/1": {1, 1}, "0/3": {}, "4/3": {}, "1": {}, "a/b": {}, "1/3/5": {}, "": {}} {
		got, err := ParsePart(text)
		if got != want || (err == nil) == (want == Part{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestScenariosThatMeasureRunAlone(t *testing.T) {
	all := []script{{name: "a", expected: 1}, {name: "b", alone: true, expected: 9}, {name: "c", expected: 5}, {name: "d", alone: true, expected: 10}}
	one := planRun(all, 1)
	if len(one.shared) > 0 || !slices.Equal(namesOf(one.alone), []string{"a", "b", "c", "d"}) {
		t.Errorf("one lab: %+v", one)
	}
	two := planRun(all, 2)
	if !slices.Equal(namesOf(two.shared), []string{"c", "a"}) || !slices.Equal(namesOf(two.alone), []string{"b", "d"}) {
		t.Errorf("two labs: %+v", two)
	}
}

// TestQueueKeepsHosts: two labs run all scenarios once, end at about the same time, and make other hosts for few of them.
func TestQueueKeepsHosts(t *testing.T) {
	all, err := listScripts()
	if err != nil {
		t.Fatal(err)
	}
	shared := planRun(all, 2).shared
	q := &queue{left: slices.Clone(shared), labs: 2}
	var seen []string
	var last [2]script
	var took [2]time.Duration
	changes := 0
	for {
		lab := slices.Index(took[:], slices.Min(took[:]))
		next, ok := q.takeNext(last[lab])
		if !ok {
			break
		}
		if !next.hasSameHosts(last[lab]) {
			changes++
		}
		last[lab], took[lab], seen = next, took[lab]+next.expected, append(seen, next.name)
	}
	slices.Sort(seen)
	if want := slices.Sorted(slices.Values(namesOf(shared))); !slices.Equal(seen, want) {
		t.Errorf("%d scenarios run, not %d", len(seen), len(want))
	}
	if waits := (took[0] - took[1]).Abs(); waits > time.Minute || changes > len(shared)/3 {
		t.Errorf("one lab waits %s for the other; %d of %d scenarios have other hosts than the one before", waits, changes, len(shared))
	}
	t.Logf("%v, %d changes of hosts in %d scenarios", took, changes, len(shared))
}

// TestMeasuringScenariosAreMarked: a scenario beside others takes processors and disks from them.
func TestMeasuringScenariosAreMarked(t *testing.T) {
	// A slow machine makes nodes not Ready. A host in qemu takes minutes to boot, and nothing depends on how many: it does so beside others.
	measures := regexp.MustCompile(`(?m)^(govern$|slow |unwatch .*gap=\d+ms|lab .* kubernetes$|cluster @)`)
	losesNothing := regexp.MustCompile(`(?m)^unwatch .*failed=0`) // in a soft reboot, which members survive
	judgesServices := regexp.MustCompile(`keeps ending|only just started|does not keep running`)
	known, err := parseDurations(durationList)
	if err != nil {
		t.Fatal(err)
	}
	forEachScript(t, func(s script, text []byte) {
		if needsAlone := measures.Match(text) || s.suite != "" && losesNothing.Match(text); needsAlone != s.alone {
			t.Errorf("%s: it must run alone: %v; it does: %v", s.name, needsAlone, s.alone)
		}
		if judgesServices.Match(text) && !s.patient {
			t.Errorf("%s: it must be patient", s.name)
		}
		if known[s.name] == 0 {
			t.Errorf("durations.txt has no %s", s.name)
		}
		delete(known, s.name)
	})
	for name := range known {
		t.Errorf("durations.txt has %s, which is no scenario", name)
	}
}

func TestDurationsOfMistakes(t *testing.T) {
	for _, text := range []string{"a", "a b", "a 0", "a 5\na 6", "a 5 6"} {
		if _, err := parseDurations(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestJobsFitTheMachine(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		processors   int
		memory, disk int64
		want         int // 0: an error
	}{
		{2, 20 * gib, 90 * gib, 2},
		{2, 5 * gib, 90 * gib, 1},
		{1, 64 * gib, 90 * gib, 1},
		{8, 17 * gib, 90 * gib, 4},
		{4, 1 * gib, 90 * gib, 1},
		{8, 64 * gib, 13 * gib, 3},
		{8, 64 * gib, 4 * gib, 1},
		{8, 64 * gib, 4*gib - 1, 0},
		{1, 1 * gib, 0, 0},
	} {
		got, err := ChooseJobs(c.processors, c.memory, c.disk)
		if got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%d processors, %d and %d bytes: %d, %v, not %d", c.processors, c.memory, c.disk, got, err, c.want)
		}
	}
}
