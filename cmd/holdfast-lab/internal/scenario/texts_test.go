package scenario

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/report/membersview"
)

// forEachScript calls check with each scenario and its text.
func forEachScript(t *testing.T, check func(s script, text []byte)) {
	t.Helper()
	all, err := listScripts()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		text, err := fs.ReadFile(scripts, s.path)
		if err != nil {
			t.Fatal(err)
		}
		check(s, text)
	}
}

// forEachText calls check with the commands and the files of each scenario.
func forEachText(t *testing.T, check func(name string, commands []string, files map[string]string)) {
	t.Helper()
	forEachScript(t, func(s script, text []byte) {
		archive, files := txtar.Parse(text), map[string]string{}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
		check(s.name, strings.Split(strings.TrimSpace(string(archive.Comment)), "\n"), files)
	})
}

// planTexts returns plans as people see them: those of the tests of their views, and one with all changes of members.
func planTexts(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("../../../../engine/report/planview/testdata/*.golden")
	if err != nil || len(paths) == 0 {
		t.Fatalf("plans: %d, %v", len(paths), err)
	}
	var b strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	var members membership.Forecast
	for _, a := range []membership.MemberAction{
		membership.Preflight, membership.Snapshot, membership.Issue, membership.TrustCA, membership.DropCA, membership.Create, membership.AddLearner, membership.Start,
		membership.Await, membership.Promote, membership.MoveLeader, membership.Remove, membership.SetAside, membership.Configure, membership.RunHook, membership.Forget,
	} {
		members.Steps = append(members.Steps, membership.PlannedStep{MemberStep: membership.MemberStep{Action: a, Host: "etcd-1"}})
	}
	var steps restore.Forecast
	for _, a := range []restore.Action{restore.Preflight, restore.Issue, restore.Build, restore.SetAside, restore.Replace, restore.Start, restore.Finish} {
		steps.Steps = append(steps.Steps, restore.Step{Action: a, Host: "etcd-1"})
	}
	if err := membersview.WriteForecast(&b, membership.State{Cluster: "main"}, members); err != nil {
		t.Fatal(err)
	}
	if err := membersview.WriteRestore(&b, restore.State{Cluster: "main"}, steps, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	hostPattern = regexp.MustCompile(`\$(leader|follower\d)|\b[a-z]+-(\d+|\[[-0-9]+\])`)
	quotePairs  = strings.NewReplacer("''", "'", "'", "")
)

// TestAwaitMatchesNoPlan: a run prints its plan first, so a scenario that awaits text of a plan goes on before anything has happened.
// The hosts of the plans are others than those of the scenarios, so any word counts as a host.
func TestAwaitMatchesNoPlan(t *testing.T) {
	plans, seen := planTexts(t), 0
	forEachText(t, func(name string, commands []string, _ map[string]string) {
		for _, line := range commands {
			words := strings.SplitN(line, " ", 3)
			if words[0] != "await" || !slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, "start "+words[1]+" ") }) {
				continue
			}
			seen++
			want := hostPattern.ReplaceAllString(quotePairs.Replace(words[2]), `\S+`)
			if found := regexp.MustCompile("(?m)" + want).FindString(plans); found != "" {
				t.Errorf("%s: %s matches the plan: %q", name, line, found)
			}
		}
	})
	if seen < 50 {
		t.Errorf("only %d lines were found", seen)
	}
}

// TestNegationEndsScript: with "set -e", a shell goes on after "! COMMAND" that fails. Only as the last line it is the result of the script.
func TestNegationEndsScript(t *testing.T) {
	negated := regexp.MustCompile(`^\s*! `)
	forEachText(t, func(name string, commands []string, files map[string]string) {
		for file, text := range files {
			if !slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, "script "+file+" ") }) {
				continue
			}
			lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
			for i, line := range lines[:len(lines)-1] {
				if negated.MatchString(line) && !strings.HasSuffix(line, " || exit 0") { // that one ends a loop that waits
					t.Errorf("%s: %s:%d: nothing ends the script: %s", name, file, i+1, line)
				}
			}
		}
	})
}

// TestFilesShowLostConnections: a file that waits on a host must fail if the host is away, so that the scenario does not go on too early.
func TestFilesShowLostConnections(t *testing.T) {
	ignored := regexp.MustCompile(`(?m)"\$HOLDFAST_LAB" ssh .*\|\| *(:|true)$`)
	forEachText(t, func(name string, _ []string, files map[string]string) {
		for file, text := range files {
			if line := ignored.FindString(text); line != "" {
				t.Errorf("%s: %s: %s", name, file, line)
			}
		}
	})
}

// TestOutputIsMoreThanAName: the plan has the names of hosts, so a name alone shows nothing.
func TestOutputIsMoreThanAName(t *testing.T) {
	forEachText(t, func(name string, commands []string, _ map[string]string) {
		for _, line := range commands {
			text, ok := strings.CutPrefix(line, "stdout ")
			if text = quotePairs.Replace(text); ok && hostPattern.FindString(text) == text {
				t.Errorf("%s: %s", name, line)
			}
		}
	})
}
