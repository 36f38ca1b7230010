package hostconfig

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/record"
)

// A host that was provisioned with a configuration and its record needs no
// change. When the configuration shrinks, holdfast removes the resources that
// left it.
func TestProvisionedHostsMatch(t *testing.T) {
	mode, folder := 0o600, 0o755
	owner := resource.Owner{User: "0", Group: "0"}
	full, _ := resource.Config{
		OSImage: "q.example/os@sha256:4", KernelArgs: []string{"nosmt"},
		Files:       []resource.File{{Path: "/etc/a", Contents: []byte("a"), Mode: &mode, Owner: owner}},
		Directories: []resource.Directory{{Path: "/etc/d", Mode: &folder, Owner: owner}},
	}.Compact()
	facts := engine.Facts{BootID: "boot", Config: &resource.ConfigFacts{
		Applied: decodeRecord(record.Initial(full)),
		Nodes: map[string]resource.PathFacts{
			"/etc/a": {Type: resource.PathFile, Digest: resource.Digest([]byte("a")), Mode: mode},
			"/etc/d": {Type: resource.PathDirectory, Mode: folder},
		},
	}}
	if changes, err := findChanges(engine.Desired{Config: &full}, facts); err != nil || len(changes) > 0 {
		t.Errorf("%v; changes %+v", err, changes)
	}
	changes, err := findChanges(engine.Desired{Config: &resource.Config{OSImage: full.OSImage, KernelArgs: full.KernelArgs}}, facts)
	if err != nil || len(changes) != 1 || changes[0].Resource != "file /etc/a" || changes[0].Verb != "delete" {
		t.Errorf("%v; changes %+v", err, changes)
	}
	if a := facts.Config.Applied; len(a.Existed) != 1 || a.Existed[0] != "/etc/d" {
		t.Errorf("directories that stay: %v", a.Existed)
	}
}

func decodeRecord(text []byte) *resource.Record {
	a, err := record.Decode(string(text))
	if err != nil {
		panic(err)
	}
	return a
}

// TestARecordWithUnknownFields checks that a record of a later holdfast is refused, because it would lose its fields when it is
// written again.
func TestARecordWithUnknownFields(t *testing.T) {
	const unknown, newer = `has an unknown field "blessing", which this version of holdfast would lose; use the version that wrote it, or a later one`, "is of schema 2, and this version of holdfast knows 1; use the version that wrote it, or a later one"
	for text, want := range map[string]string{
		`{"about":["unit a"],"schema":1,"config":{}}`: "", `{"about":[],"schema":1,"config":{},"blessing":1}`: unknown,
		`{"schema":1,"config":{"blessing":[]}}`: unknown, `{"schema":1,"config":{},"unfinished":{"run":"r","boot":"b","config":{},"blessing":{}}}`: unknown,
		`{"schema":2,"config":{},"blessing":1}`: newer, `{"schema":2,"config":[]}`: newer,
		`{"schema":1,"config":[],"blessing":1}`: "is not a record (json: cannot unmarshal array", `{"schema":1,"config":{}} more`: "is not a record (invalid character 'm' after",
	} {
		a, err := record.Decode(text)
		if want == "" && (a == nil || err != nil) || want != "" && (a != nil || err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
}
