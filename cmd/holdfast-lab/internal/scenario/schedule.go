package scenario

import (
	"cmp"
	_ "embed" // embeds the durations
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// durationList has the name of each scenario and how many seconds it takes on an idle machine with two processors.
//
//go:embed durations.txt
var durationList string

// defaultDuration is the expected time of a scenario that is not in durationList.
const defaultDuration = time.Minute

func parseDurations(text string) (map[string]time.Duration, error) {
	known := map[string]time.Duration{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		seconds, err := strconv.Atoi(strings.TrimSpace(value))
		if !ok || err != nil || seconds <= 0 || known[name] > 0 {
			return nil, fmt.Errorf("read durations: line %q", line)
		}
		known[name] = time.Duration(seconds) * time.Second
	}
	return known, nil
}

// Part is one of several parts of a run: part Number of Of, from 1 on. The zero Part is the whole run.
type Part struct{ Number, Of int }

// ParsePart parses "I/N".
func ParsePart(text string) (Part, error) {
	number, of, ok := strings.Cut(text, "/")
	n, err1 := strconv.Atoi(number)
	all, err2 := strconv.Atoi(of)
	if !ok || errors.Join(err1, err2) != nil || n < 1 || n > all {
		return Part{}, fmt.Errorf("%q is not a part such as 1/3", text)
	}
	return Part{Number: n, Of: all}, nil
}

// choosePart returns the scenarios of one part. Every scenario is in one part. All parts take about the same time, also with
// scenarios side by side: those that run alone are shared out first.
func choosePart(all []script, p Part) []script {
	if p.Of <= 1 {
		return all
	}
	parts, totals := make([][]script, p.Of), make([]time.Duration, p.Of)
	for _, s := range orderByTime(all) {
		least := slices.Index(totals, slices.Min(totals))
		parts[least] = append(parts[least], s)
		totals[least] += s.expected
	}
	return slices.DeleteFunc(slices.Clone(all), func(s script) bool { return !slices.Contains(parts[p.Number-1], s) })
}

// orderByTime returns the scenarios that run alone, and then the others, the longest of each first.
func orderByTime(all []script) []script {
	return slices.SortedStableFunc(slices.Values(all), func(a, b script) int {
		return cmp.Or(compareBools(b.alone, a.alone), cmp.Compare(b.expected, a.expected), cmp.Compare(a.name, b.name))
	})
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// schedule is the order of scenarios in a number of labs.
type schedule struct {
	shared []script // run side by side, the longest first
	alone  []script // run one after the other, when all others have ended
}

// planRun returns the schedule of scenarios for this number of labs. In one lab, scenarios with the same hosts follow each
// other. In several labs, the longest begin, so that all labs end at about the same time.
func planRun(all []script, labs int) schedule {
	if labs <= 1 {
		return schedule{alone: all}
	}
	var s schedule
	for _, one := range orderByTime(all) {
		if !one.alone {
			s.shared = append(s.shared, one)
		}
	}
	for _, one := range all {
		if one.alone {
			s.alone = append(s.alone, one)
		}
	}
	return s
}

// queue has the scenarios that run side by side, and gives each lab its next one.
type queue struct {
	mu   sync.Mutex
	left []script // the longest first
	labs int
}

// takeNext removes the next scenario of a lab in which last has run. It is one with the same hosts if there is any, because
// to reset hosts is faster than to make others. But a scenario that is long compared with all that is left goes first: else it
// would begin last, and the other labs would wait for its end.
func (q *queue) takeNext(last script) (next script, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.left) == 0 {
		return script{}, false
	}
	var total time.Duration
	for _, s := range q.left {
		total += s.expected
	}
	chosen := 0
	if q.left[0].expected < total/time.Duration(2*q.labs) {
		chosen = max(0, slices.IndexFunc(q.left, last.hasSameHosts))
	}
	next = q.left[chosen]
	q.left = slices.Delete(q.left, chosen, chosen+1)
	return next, true
}

func (s script) hasSameHosts(other script) bool {
	return s.lab == other.lab && s.suite == other.suite && s.nodes == other.nodes
}

// labMemory is the memory that a lab needs whose folder is in memory. labDisk is the space for its image and the disks of its
// hosts, which grow during scenarios. Both are in bytes.
const labMemory, labDisk = 4 << 30, 4 << 30

// ChooseJobs returns how many scenarios can run side by side on a machine with so many bytes of available memory and of free
// disk space. It returns an error if there is no room for one: hosts whose disks cannot grow would fail in ways that look like
// bugs of holdfast.
func ChooseJobs(processors int, availableMemory, freeDisk int64) (int, error) {
	if freeDisk < labDisk {
		return 0, fmt.Errorf("%.1f GiB of disk space are free, and a scenario needs %d GiB", float64(freeDisk)/(1<<30), labDisk>>30)
	}
	return max(1, min(processors, int(availableMemory/labMemory), int(freeDisk/labDisk))), nil
}
