package playbook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/docstest"
	"holdfast/engine/inventory"
	"holdfast/engine/playbook"
)

const reference = "../../docs/playbooks.md"

// TestReference: the reference in the documentation is up to date.
func TestReference(t *testing.T) {
	docstest.Page{Path: reference, Arguments: "./engine/playbook -update", Update: *update}.CheckGenerated(t, playbook.Reference())
}

// exampleVars returns values for variables of the examples that have none.
func exampleVars() map[string]string { return map[string]string{"service": "chronyd"} }

var fence = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestDocumented: the playbooks in the documentation are valid for Load and
// for the schema.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	found := fence.FindAllStringSubmatch(string(page), -1)
	if len(found) < 4 {
		t.Errorf("only %d examples", len(found))
	}
	s := compileSchema(t)
	for _, m := range found {
		if _, err := loadText(m[1], playbook.Options{Vars: exampleVars()}); err != nil {
			t.Errorf("%s\n%v", m[1], err)
		}
		if ok, _ := validateText(s, m[1]); !ok {
			t.Errorf("the schema refuses\n%s", m[1])
		}
	}
}

// TestDocumentedMistake: the documentation shows the actual error message.
func TestDocumentedMistake(t *testing.T) {
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	_, err = loadText("- hosts: worker\n  tasks: [stage]\n  serail: \"30%\"\n", playbook.Options{Name: "upgrade.yaml"})
	if err == nil {
		t.Fatal("no mistake")
	}
	want := "    holdfast: " + strings.ReplaceAll(err.Error(), "\n", "\n    ")
	if !strings.Contains(string(page), want) {
		t.Errorf("%s lacks\n%s", reference, want)
	}
}

// prepareExample reads an example inventory.
func prepareExample(t *testing.T, file string) []engine.Host {
	l, err := inventory.Load(inventory.Source{FS: os.DirFS("../.."), Paths: []string{file}, Home: "/home/ann", Vars: []string{"commit=" + strings.Repeat("4d1f", 16)}})
	if err != nil {
		t.Fatal(err)
	}
	return l.Inventory.Hosts
}

// TestReady: the example playbooks load with the example inventory, name their
// schema, and contain the expected plays.
func TestReady(t *testing.T) {
	hosts := prepareExample(t, "inventories/three-nodes.hcl")
	want := map[string]string{ // plays with their hosts and modules
		"upgrade.yaml":         "all:stage etcd:etcd_snapshot,config,finalize,wait_for worker:config,finalize",
		"config-only.yaml":     "all:config",
		"restart-service.yaml": "all:service,wait_for",
		"etcd-defrag.yaml":     "cluster=?*:etcd_snapshot,etcd_defrag",
		"reboot-all.yaml":      "all:reboot",
	}
	files, err := filepath.Glob("../../playbooks/*.yaml")
	if err != nil || len(files) != len(want) {
		t.Errorf("%d playbooks, want %d (%v)", len(files), len(want), err)
	}
	s := compileSchema(t)
	for _, file := range files {
		name := filepath.Base(file)
		book, err := playbook.Load(os.DirFS("../../playbooks"), name, playbook.Options{Hosts: hosts, Vars: exampleVars()})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := formatOutline(book); got != want[name] {
			t.Errorf("%s: %s; want %s", name, got, want[name])
		}
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), "# yaml-language-server: $schema=playbook.schema.json\n") {
			t.Errorf("%s does not name its schema first (%v)", name, err)
		}
		if ok, _ := validateText(s, string(text)); !ok {
			t.Errorf("the schema refuses %s", name)
		}
	}
}

func formatOutline(book engine.Playbook) string {
	var plays []string
	for _, p := range book.Plays {
		var modules []string
		for _, task := range append(append(p.PreTasks, p.Tasks...), p.PostTasks...) {
			modules = append(modules, task.Module)
		}
		plays = append(plays, p.Hosts+":"+strings.Join(modules, ","))
	}
	return strings.Join(plays, " ")
}

// TestServiceHasToBeGiven: without --var, no service is restarted.
func TestServiceHasToBeGiven(t *testing.T) {
	_, err := playbook.Load(os.DirFS("../../playbooks"), "restart-service.yaml", playbook.Options{Hosts: testHosts()})
	if err == nil || !strings.Contains(err.Error(), "set one with --var service=…") {
		t.Errorf("%v", err)
	}
}
