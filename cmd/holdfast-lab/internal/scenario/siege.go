package scenario

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// planted matches a secret that a scenario has written to its hosts.
var planted = regexp.MustCompile(`PLANTED-[0-9a-f]{16}`)

// siegeBound limits one run. A run gathers facts twice, for at most a minute
// each, and writes once.
const siegeBound = 3 * time.Minute

// siegeCodes lists the exit codes that a besieged apply or plan may have.
var siegeCodes = []int{0, 2, 3, 4}

// cmdSiege applies two versions of a document by turns while something may make
// runs fail. It checks that each run ends in time with a fitting exit code and
// shows no secret.
func cmdSiege(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "siege TIMES DOCUMENT OLD NEW")
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	s, began, longest := stageOf(ts), time.Now(), time.Duration(0)
	codes := map[int]int{}
	for i := range times {
		text := ts.ReadFile(args[2+i%2])
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
		if i%10 == 0 {
			s.runBounded(ts, siegeCodes, "plan")
		}
		start := time.Now()
		codes[s.runBounded(ts, siegeCodes, "apply", "--yes")]++
		longest = max(longest, time.Since(start))
	}
	s.printReport(ts, "%d runs in %.0f s, the longest %.1f s; how many ended with which exit code: %v", times, time.Since(began).Seconds(), longest.Seconds(), codes)
}

// cmdRepeat repeats a command that only reads, with the checks of cmdSiege.
func cmdRepeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: repeat TIMES CODE ARGUMENT…")
	}
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	var allowed []int
	for code := range strings.SplitSeq(args[1], "|") {
		n, err := strconv.Atoi(code)
		ts.Check(err)
		allowed = append(allowed, n)
	}
	s, codes := stageOf(ts), map[int]int{}
	for range times {
		codes[s.runBounded(ts, allowed, args[2:]...)]++
	}
	s.printReport(ts, "%d times %s; how many ended with which exit code: %v", times, strings.Join(args[2:], " "), codes)
}

func (s *stage) runBounded(ts *testscript.TestScript, codes []int, args ...string) int {
	cmdStart(ts, false, append([]string{"besieged"}, args...))
	j := s.jobs["besieged"]
	select {
	case <-j.done:
	case <-time.After(siegeBound):
		text, _ := j.out.textSoFar()
		ts.Fatalf("holdfast %s did not end within %s; it printed:\n%s", args[0], siegeBound, text)
	}
	delete(s.jobs, "besieged")
	text, _ := j.out.textSoFar()
	ts.Logf("[holdfast %s printed]\n%s", args[0], text)
	if secret := planted.FindString(text); secret != "" {
		ts.Fatalf("a secret of a host is in the output of %s: %s", args[0], secret)
	}
	code := j.cmd.ProcessState.ExitCode()
	if !slices.Contains(codes, code) {
		ts.Fatalf("holdfast %s: exit code %d", args[0], code)
	}
	return code
}

func (s *stage) printReport(ts *testscript.TestScript, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	ts.Logf("%s", text)
	s.trial.addNote(text)
}

// traceFile is the file on a host to which scripts append the points that they
// reach.
const traceFile = "/run/holdfast/trace"

// writeCounts has the number of runs that wrote to any host, and the number of
// writes to all hosts that reached certain points.
type writeCounts struct {
	runs                                     map[string]bool
	writes, removals, undos, restored, ended int
}

func (t *writeCounts) addTrace(trace string) {
	seen := map[string]bool{}
	for line := range strings.Lines(trace) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		run, point, kind := words[0], words[1], words[len(words)-1]
		if point == "rename" {
			point += " " + kind
		}
		if seen[run+" "+point] {
			continue
		}
		seen[run+" "+point] = true
		switch point {
		case "before":
			t.runs[run] = true
			t.writes++
		case "rename gone":
			t.removals++
		case "undoing":
			t.undos++
		case "undone":
			t.restored++
		case "written":
			t.ended++
		}
	}
}

func (t *writeCounts) checkMinimums(demands []string) error {
	have := map[string]int{"runs": len(t.runs), "writes": t.writes, "removals": t.removals, "undos": t.undos, "struck": t.undos - t.restored}
	for _, d := range demands {
		key, value, _ := strings.Cut(d, "=")
		got, known := have[key]
		want, err := strconv.Atoi(value)
		switch {
		case !known || err != nil:
			return fmt.Errorf("there is nothing like %q to demand", d)
		case got < want:
			return fmt.Errorf("%s: only %d, not %d", key, got, want)
		}
	}
	return nil
}

func cmdToll(ts *testscript.TestScript, neg bool, args []string) {
	first := slices.IndexFunc(args, func(a string) bool { return !strings.Contains(a, "=") })
	if neg || first < 0 {
		ts.Fatalf("usage: toll [runs=N] [writes=N] [removals=N] [undos=N] [struck=N] HOST…")
	}
	s := stageOf(ts)
	t := &writeCounts{runs: map[string]bool{}}
	for _, name := range args[first:] {
		trace, err := s.findHost(ts, name).Output(s.ctx, "sudo sh -c 'cat "+traceFile+" && : >"+traceFile+"'")
		ts.Check(err)
		t.addTrace(trace)
	}
	s.printReport(ts, "%d runs wrote: %d writes begun over all hosts, %d ended, %d came to removals, %d were undone, %d of these wholly",
		len(t.runs), t.writes, t.ended, t.removals, t.undos, t.restored)
	ts.Check(t.checkMinimums(args[:first]))
}
