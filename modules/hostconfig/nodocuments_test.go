package hostconfig

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/moduletest"
)

// noDocuments returns the desired state of a host for which the inventory names
// no documents.
func noDocuments() engine.Desired {
	return engine.Desired{Config: &resource.Config{}, NoDocuments: true}
}

// If a host has no documents and no record, holdfast changes nothing on the host.
func TestNothingIsDoneWithoutDocumentsAndRecord(t *testing.T) {
	s := observetest.NewHost(t)
	f := s.GatherFacts(noDocuments())
	changes, err := findChanges(noDocuments(), f)
	if err != nil || len(changes) > 0 || f.Config.Problem != "" {
		t.Errorf("%v %v %+v", changes, err, f.Config)
	}
}

// If a host has a record and no documents, the plan removes everything that the
// record lists, and warns about it.
func TestARecordWithoutDocumentsIsWork(t *testing.T) {
	s := observetest.NewHost(t)
	s.WriteFile("/etc/a", "1", 0o644)
	c := resource.Config{
		Files: []resource.File{observetest.EmptyFile("/etc/a")},
		Users: []resource.User{{Name: "bob", SSHKeys: []string{key1}}},
		Fixed: []resource.Fixed{{Name: "storage.disks /dev/sda", Digest: "x"}},
	}
	s.WriteRecord(resource.Record{Schema: resource.RecordSchema, Config: c})
	f := s.GatherFacts(noDocuments())
	changes, err := findChanges(noDocuments(), f)
	if err != nil || len(changes) != 2 {
		t.Fatalf("%v %v", changes, err)
	}
	if w := changes[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "EVERYTHING") || !strings.Contains(w[0], "1 file, 1 user") {
		t.Errorf("warnings %q", w)
	}
	if slices.ContainsFunc(changes, func(c engine.Change) bool { return c.Drift }) {
		t.Error("a removal is taken for drift, which a pool may only report")
	}
	// Afterwards nothing is left to do. Files that an installation has written
	// stay.
	x, err := newConfigDiff(noDocuments(), f, true)
	if err != nil {
		t.Fatal(err)
	}
	_, after := x.buildRecords(engine.Target{Run: "r"})
	f.Config.Applied = &after
	if changes, err := findChanges(noDocuments(), f); err != nil || len(changes) > 0 || len(after.Config.Fixed) != 1 {
		t.Errorf("%v %v %+v", changes, err, after)
	}
}

// A record that cannot be parsed is always a problem, with documents or without.
func TestARecordThatIsNotUnderstoodIsNoMatch(t *testing.T) {
	s := observetest.NewHost(t)
	s.WriteFile(record.Path, "hello\n", 0o600)
	if changes, err := findChanges(noDocuments(), s.GatherFacts(noDocuments())); err == nil {
		t.Errorf("%v", changes)
	}
}

// If a write would lock the account that holdfast logs in as, nothing is written.
func TestTheAccountOfHoldfastIsNotLocked(t *testing.T) {
	record := &resource.Record{
		Schema: resource.RecordSchema, Config: resource.Config{Users: []resource.User{{Name: "ops", SSHKeys: []string{key1}}}},
		Accounts: map[string]resource.AccountOrigin{"ops": resource.MadeAccount},
	}
	login := resource.Login{UID: 1001, Group: "ops", Keys: []string{key1}, Connects: true}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Applied: record, Users: map[string]resource.Login{"ops": login}}}
	if changes, err := findChanges(noDocuments(), f); err == nil || !strings.Contains(err.Error(), "logs in as ops") {
		t.Errorf("%v %v", changes, err)
	}
	// If the host had the account before holdfast, the plan only warns.
	record.Accounts["ops"] = resource.FoundAccount
	changes, err := findChanges(noDocuments(), f)
	if err != nil || len(changes) != 1 || !slices.ContainsFunc(changes[0].Warnings, func(w string) bool { return strings.Contains(w, "loses its last SSH key") }) {
		t.Errorf("%v %v", changes, err)
	}
	login.OtherKeys = 1
	f.Config.Users["ops"] = login
	if changes, _ := findChanges(noDocuments(), f); len(changes[0].Warnings) != 1 {
		t.Errorf("%q", changes[0].Warnings)
	}
}

// The plan reports symbolic links in paths, and file systems in memory.
func TestTheWayToAFileIsLookedAt(t *testing.T) {
	s := observetest.NewHost(t)
	s.WriteFile("/srv/app/x", "", 0o644)
	s.Link("/etc/app", "/srv/app")
	s.Link("/home", "srv")
	s.WriteRecord(resource.Record{Schema: resource.RecordSchema}) // on a live system everything is in memory; here it is if the folder of the test is
	d := engine.Desired{Config: &resource.Config{Files: []resource.File{observetest.EmptyFile("/etc/app/deep/x"), observetest.EmptyFile("/etc/app/y"), observetest.EmptyFile("/home/z")}}}
	f := s.GatherFacts(d)
	f.Config.Fleeting = nil // the folder of the test may be in memory
	_, err := findChanges(d, f)
	if err == nil || !strings.Contains(err.Error(), "/etc/app/deep/x: /etc/app is a symbolic link to /srv/app; write the path it leads to") || strings.Contains(err.Error(), "/home") {
		t.Errorf("%v", err)
	}
	if strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("a link is told twice: %v", err)
	}
	f.Config.Links, f.Config.Fleeting = nil, []string{"/etc/app"}
	if _, err := findChanges(d, f); err == nil || !strings.Contains(err.Error(), "a reboot removes the file") {
		t.Errorf("%v", err)
	}
}
