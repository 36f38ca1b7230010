package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/longtest"
)

func reached(host string, h *engine.Hold) map[string]engine.Facts {
	return map[string]engine.Facts{host: {Host: host, Hold: h}}
}

// recallOne returns the last hold of a host that does not answer.
func recallOne(m *journal.HoldMemory, host string) *engine.LastHold {
	facts := map[string]engine.Facts{host: {Host: host, Unreachable: "no route"}}
	m.Recall(facts)
	return facts[host].LastHold
}

// TestHoldMemory: the last hold of a host is known until the host is seen free. Holds of runs are not remembered.
func TestHoldMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := &journal.HoldMemory{Folder: filepath.Join(dir, "runs"), Site: "s", Warn: func(s string) { t.Error(s) }}
	if last := recallOne(m, "a"); last != nil {
		t.Errorf("%+v", last)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("a command that has nothing to remember writes %v", entries)
	}
	hold := engine.Hold{Schema: 1, Kind: engine.MaintenanceHold, Holder: "ann@b", Reason: "fans", Units: []string{"a.service"}, Drain: &engine.HoldDrain{Name: "pods", Done: true, Kubernetes: "main", Node: "n", Cordoned: true}}
	m.Recall(reached("a", &hold))
	run := engine.Hold{Schema: 1, Kind: engine.RunHold, Run: "r"}
	m.Recall(reached("b", &run))
	other := &journal.HoldMemory{Folder: m.Folder, Site: m.Site}
	last := recallOne(other, "a")
	if last == nil || last.Hold.Reason != "fans" || last.Hold.Units != nil || *last.Hold.Drain != *hold.Drain || time.Since(last.Seen) > time.Minute || recallOne(other, "b") != nil {
		t.Fatalf("%+v", last)
	}
	if recallOne(&journal.HoldMemory{Folder: m.Folder, Site: "t"}, "a") != nil {
		t.Error("another site has the hold")
	}
	facts := map[string]engine.Facts{"a": {HoldProblem: "not JSON"}}
	m.Recall(facts)
	if recallOne(other, "a") == nil {
		t.Error("a hold that cannot be read ends the memory")
	}
	m.Recall(reached("a", nil))
	if last := recallOne(other, "a"); last != nil {
		t.Errorf("%+v", last)
	}
}

// TestHoldMemoryIsBounded: the hold of a hostile host is cut and printable, also in a file that somebody has edited, and the oldest of too
// many holds are forgotten.
func TestHoldMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := &journal.HoldMemory{Folder: t.TempDir(), Site: "s", Warn: func(s string) { t.Error(s) }}
	m.Recall(reached("old", &engine.Hold{Kind: engine.MaintenanceHold}))
	evil := strings.Repeat("\x1b[2J\xff<&ü", 100)
	facts := map[string]engine.Facts{}
	for i := range 10_000 {
		h := fmt.Sprint("h", i)
		facts[h] = engine.Facts{Host: h, Hold: &engine.Hold{Kind: engine.MaintenanceHold}}
		if i >= longtest.Choose(100, 10_000, 10_000) {
			continue
		}
		facts[h] = engine.Facts{Host: h, Hold: &engine.Hold{Kind: engine.MaintenanceHold, Holder: evil, Run: evil, Bastion: evil, Reason: evil, Ticket: evil, Step: evil, Drain: &engine.HoldDrain{Name: evil, Undo: evil, Kubernetes: evil, Node: evil}}}
	}
	m.Recall(facts)
	info, err := os.Stat(filepath.Join(m.Folder, "s.holds.json"))
	if err != nil || info.Mode() != 0o600 || info.Size() > 48_000_000 {
		t.Fatalf("%v, %v", info, err)
	}
	away := map[string]engine.Facts{"h7": {Host: "h7", Unreachable: "no route"}, "old": {Host: "old", Unreachable: "no route"}}
	m.Recall(away)
	last := away["h7"].LastHold
	if last == nil || len(last.Hold.Reason) > 300 || strings.ContainsAny(last.Hold.String(), "\x1b\n") || last.Hold.Step != "" {
		t.Errorf("%+v", last)
	}
	if away["old"].LastHold != nil {
		t.Error("the oldest hold is not forgotten")
	}
}

// TestHoldMemoryThatIsDamaged: a damaged file, or a pipe in its place, is named once, and the next hold replaces it.
func TestHoldMemoryThatIsDamaged(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"cut": `{"a":{"hold":`, "list": "[]", "large": strings.Repeat(" ", 64<<20)} {
		var told []string
		m := &journal.HoldMemory{Folder: t.TempDir(), Site: "s", Warn: func(s string) { told = append(told, s) }}
		path := filepath.Join(m.Folder, "s.holds.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if last := recallOne(m, "a"); last != nil {
			t.Errorf("%s: %+v", name, last)
		}
		m.Recall(reached("a", &engine.Hold{Kind: engine.MaintenanceHold}))
		if last := recallOne(m, "a"); last == nil || len(told) != 1 || !strings.Contains(told[0], path) {
			t.Errorf("%s: %+v, %q", name, last, told)
		}
	}
}

// TestHoldMemoryOfManyCommands: commands that write at once lose no hold of each other.
func TestHoldMemoryOfManyCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			m := &journal.HoldMemory{Folder: dir, Site: "s", Warn: func(s string) { t.Error(s) }}
			m.Recall(reached(fmt.Sprint("h", i), &engine.Hold{Kind: engine.MaintenanceHold}))
		})
	}
	all.Wait()
	for i := range 8 {
		if recallOne(&journal.HoldMemory{Folder: dir, Site: "s"}, fmt.Sprint("h", i)) == nil {
			t.Errorf("h%d is lost", i)
		}
	}
}

// TestHoldMemoryOfAnotherSchema: a file of another version of holdfast is named once. It stays as it is, also if its text makes
// no sense to this version.
func TestHoldMemoryOfAnotherSchema(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"schema":2,"hosts":{"a":{"hold":{"kind":"maintenance"}}}}`, `{"schema":2,"hosts":[1]}`, `{"schema":2}`} {
		var told []string
		m := &journal.HoldMemory{Folder: t.TempDir(), Site: "s", Warn: func(s string) { told = append(told, s) }}
		path := filepath.Join(m.Folder, "s.holds.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m.Recall(reached("a", &engine.Hold{Kind: engine.MaintenanceHold}))
		m.Recall(reached("a", nil))
		if last := recallOne(m, "a"); last != nil {
			t.Errorf("%s: %+v", text, last)
		}
		want := "holds of hosts that do not answer are not remembered: " + path + " has schema 2, and this version of holdfast reads schema 1; use the version that wrote it"
		if len(told) != 1 || told[0] != want {
			t.Errorf("%s: %q", text, told)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s has become %s (%v)", text, now, err)
		}
	}
}
