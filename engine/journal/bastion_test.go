package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"holdfast/engine/journal"
)

func TestBastionKeepsItsIdentity(t *testing.T) {
	dir, here := filepath.Join(t.TempDir(), "a", "b"), journal.Machine{MachineID: "4d1f", Hostname: "b1"}
	if b, err := journal.ReadBastion(dir, here); err != nil || b.Identity != "" {
		t.Fatalf("%+v, %v", b, err)
	}
	found := make([]string, 8)
	var runs sync.WaitGroup
	for i := range found { // runs of several sites may begin at once
		runs.Go(func() {
			b, err := journal.EnsureBastion(dir, here)
			if err != nil {
				t.Error(err)
			}
			found[i] = b.Identity
		})
	}
	runs.Wait()
	for _, identity := range found {
		if len(identity) < 32 || identity != found[0] {
			t.Fatalf("identities %q", found)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	for _, copied := range []journal.Machine{{MachineID: "77aa", Hostname: "b1"}, {MachineID: "4d1f", Hostname: "b2"}} {
		if b, err := journal.ReadBastion(dir, copied); err != nil || b.Identity != "" {
			t.Errorf("%+v took the identity of another machine: %+v, %v", copied, b, err)
		}
	}
	copied := journal.Machine{MachineID: "77aa", Hostname: "b2"}
	b, err := journal.EnsureBastion(dir, copied)
	if err != nil || b.Identity == found[0] || b.Replaced != here {
		t.Errorf("%+v, %v", b, err)
	}
	if again, err := journal.EnsureBastion(dir, copied); err != nil || again.Identity != b.Identity || again.Replaced != (journal.Machine{}) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestBastionThatCannotKeepItsIdentity(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.EnsureBastion(filepath.Join(file, "x"), journal.Machine{Hostname: "b1"}); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("error %v", err)
	}
	if err := os.Rename(file, filepath.Join(dir, "bastion.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.EnsureBastion(dir, journal.Machine{Hostname: "b1"}); err == nil || !strings.Contains(err.Error(), "is damaged; remove it") {
		t.Errorf("error %v", err)
	}
}

// TestBastionOfAnotherSchema checks that the identity of another version of holdfast stays, and that nobody is told to remove it.
func TestBastionOfAnotherSchema(t *testing.T) {
	dir, here := t.TempDir(), journal.Machine{Hostname: "b1"}
	path := filepath.Join(dir, "bastion.json")
	b, err := journal.EnsureBastion(dir, here)
	if text, _ := os.ReadFile(path); err != nil || string(text) != `{"schema":1,"identity":"`+b.Identity+`","machine_id":"","hostname":"b1"}`+"\n" {
		t.Errorf("%v: %s", err, text)
	}
	for _, text := range []string{`{"schema":2,"identity":"0123456789abcdef0123456789abcdef","machine_id":"","hostname":"b1"}`, `{"schema":2,"identity":[]}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := "read the identity of this bastion: " + path + " has schema 2, and this version of holdfast reads schema 1; use the version that wrote it"
		if _, err := journal.EnsureBastion(dir, here); err == nil || err.Error() != want {
			t.Errorf("%s: error %v", text, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s has become %s (%v)", text, now, err)
		}
	}
}
