package hostconfig

import (
	"os"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// memberDiff compares a host that has user core in these groups with a document
// that names other groups. joined has the groups that holdfast has added.
func memberDiff(t *testing.T, has, wanted, joined []string, recorded bool) (*configDiff, []engine.Change) {
	t.Helper()
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
		Users:  map[string]resource.Login{"core": {UID: 1000, GID: 1000, Group: "core", Groups: has, Home: "/home/core", Shell: "/bin/sh", Connects: true, Keys: []string{key1}}},
		Groups: map[string]int{"sudo": 27, "docker": 990, "adm": 4, "users": 100},
	}}
	if recorded {
		f.Config.Applied = &resource.Record{Schema: resource.RecordSchema, Config: resource.Config{Users: []resource.User{{Name: "core", SSHKeys: []string{key1}, Account: resource.Account{Groups: joined}}}}, Accounts: map[string]resource.AccountOrigin{"core": resource.FoundAccount}, Joined: map[string][]string{"core": joined}}
	}
	want := resource.Config{Users: []resource.User{{Name: "core", SSHKeys: []string{key1}, Account: resource.Account{Groups: wanted}}}}
	x, err := newConfigDiff(engine.Desired{Config: &want}, f, true)
	if err != nil {
		t.Fatal(err)
	}
	return x, x.listChanges()
}

// The groups of a document are added, as Ignition adds them. A user leaves only
// groups that holdfast has added, and the plan names each group.
func TestGroupsAreAdded(t *testing.T) {
	for name, c := range map[string]struct {
		has, wanted, joined []string
		recorded            bool
		after               string // "": nothing changes
		join, part          []string
	}{
		"one more":                       {has: []string{"sudo", "adm"}, wanted: []string{"docker"}, after: "1 SSH key, group docker added", join: []string{"docker"}},
		"all there already":              {has: []string{"sudo", "docker"}, wanted: []string{"docker"}},
		"the primary group":              {has: []string{"sudo"}, wanted: []string{"core"}},
		"one that holdfast had added":    {has: []string{"sudo", "docker"}, joined: []string{"docker"}, recorded: true, after: "1 SSH key, group docker removed", part: []string{"docker"}},
		"another one":                    {has: []string{"sudo", "docker"}, wanted: []string{"adm"}, joined: []string{"docker"}, recorded: true, after: "1 SSH key, group adm added, group docker removed", join: []string{"adm"}, part: []string{"docker"}},
		"already taken away by a person": {has: []string{"sudo"}, joined: []string{"docker"}, recorded: true},
		"drift":                          {has: []string{"sudo"}, wanted: []string{"docker"}, joined: []string{"docker"}, recorded: true, after: "1 SSH key, group docker added", join: []string{"docker"}},
	} {
		x, changes := memberDiff(t, c.has, c.wanted, c.joined, c.recorded)
		after := ""
		for _, change := range changes {
			if change.Resource == "user core" {
				after = change.After
			}
		}
		if after != c.after {
			t.Errorf("%s: %q, want %q", name, after, c.after)
		}
		w := x.buildWrite(engine.Target{Run: "r1", Desired: engine.Desired{Config: &x.want}})
		var join, part []string
		for _, u := range w.users {
			join, part = append(join, u.join...), append(part, u.part...)
		}
		if !slices.Equal(join, c.join) || !slices.Equal(part, c.part) {
			t.Errorf("%s: join %v and part %v, want %v and %v", name, join, part, c.join, c.part)
		}
	}
}

// The record has only groups that holdfast has added, before it adds them.
func TestTheRecordHasAddedGroups(t *testing.T) {
	x, _ := memberDiff(t, []string{"sudo", "docker"}, []string{"sudo", "adm"}, []string{"docker"}, true)
	before, after := x.buildRecords(engine.Target{Run: "r1"})
	if got := before.Joined["core"]; !slices.Equal(got, []string{"adm", "docker"}) {
		t.Errorf("before the write: %v", got)
	}
	if got := after.Joined["core"]; !slices.Equal(got, []string{"adm"}) {
		t.Errorf("after the write: %v", got)
	}
}

// A user who leaves the configuration leaves the groups that holdfast has added.
func TestAUserWhoLeavesTheConfigurationLeavesGroups(t *testing.T) {
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
		Users: map[string]resource.Login{"ann": {UID: 1001, GID: 1001, Group: "ann", Groups: []string{"sudo", "docker"}}},
		Applied: &resource.Record{
			Schema: resource.RecordSchema, Config: resource.Config{Users: []resource.User{{Name: "ann", Account: resource.Account{Groups: []string{"docker"}}}}},
			Accounts: map[string]resource.AccountOrigin{"ann": resource.FoundAccount}, Joined: map[string][]string{"ann": {"docker"}},
		},
	}}
	x, err := newConfigDiff(engine.Desired{Config: &resource.Config{}}, f, true)
	if err != nil {
		t.Fatal(err)
	}
	if list := x.listChanges(); len(list) != 1 || !strings.HasSuffix(list[0].After, "group docker removed") {
		t.Errorf("%+v", list)
	}
	w := x.buildWrite(engine.Target{Run: "r1"})
	if len(w.users) != 1 || !slices.Equal(w.users[0].part, []string{"docker"}) {
		t.Errorf("%+v", w.users)
	}
}

func TestMembershipsAreWritten(t *testing.T) {
	b := accountSite(t)
	b.Put("/etc/group", "core:x:1000:\nwheel:x:10:core\ndocker:x:990:ann\nold:x:7:ann,core,bob\n", 0o644)
	b.mustWrite(b.accountWrite(nil, loginEdit{want: resource.User{Name: "core"}, was: &core, account: true, join: []string{"docker"}, part: []string{"old"}}))
	if got, want := b.Read("/etc/group"), "core:x:1000:\nwheel:x:10:core\ndocker:x:990:ann,core\nold:x:7:ann,bob\n"; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// A group of the OS that is only in /usr/lib/group is copied to /etc/group first.
func TestAGroupOfTheOSIsJoined(t *testing.T) {
	longtest.SkipSlow(t)
	b := accountSite(t)
	b.Put("/usr/lib/group", "root:x:0:\ndialout:x:18:\ndialout2:x:19:\n", 0o644)
	b.mustWrite(b.accountWrite(nil, loginEdit{want: resource.User{Name: "core"}, was: &core, account: true, join: []string{"dialout"}}))
	if got, want := b.Read("/etc/group"), "wheel:x:10:\ndialout:x:18:core\n"; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	for _, name := range []string{"etc/group.lock", "etc/.group.holdfast"} {
		if b.Exists(name) {
			t.Errorf("%s is left", name)
		}
	}
}

// usermod ends with 0, and does nothing, for a group that only NSS has.
func TestAMembershipWithoutEffectIsUndone(t *testing.T) {
	b := accountSite(t)
	before := b.Read("/etc/group")
	w := b.accountWrite(nil, loginEdit{want: resource.User{Name: "core"}, was: &core, account: true, join: []string{"ldapgroup"}})
	b.Want(b.write(w), hostscript.ScriptCannot, "core is not in group ldapgroup")
	if b.Read("/etc/group") != before || b.Exists("etc/a") {
		t.Error("the write was not undone")
	}
}

// Another program that changes accounts is waited for, and not for ever.
func TestALockedGroupFileIsWaitedFor(t *testing.T) {
	longtest.SkipSlow(t)
	b := accountSite(t)
	b.Put("/usr/lib/group", "dialout:x:18:\n", 0o644)
	b.Put("/etc/group.lock", "1", 0o600)
	w := b.accountWrite(nil, loginEdit{want: resource.User{Name: "core"}, was: &core, account: true, join: []string{"dialout"}})
	b.Want(b.write(w), hostscript.ScriptCannot, "/etc/group is locked by another program")
	b.Put("/on-sleep", "rm \"$BOX/etc/group.lock\"\n", 0o755)
	b.Check(os.RemoveAll(b.At("/slept")))
	b.mustWrite(w)
}

// The warning comes before the approval.
func TestLosingTheKeysOfTheLoginWarns(t *testing.T) {
	login := resource.Login{UID: 1000, GID: 1000, Group: "core", Home: "/home/core", Connects: true, Keys: []string{key1}}
	for name, c := range map[string]struct {
		keys  []string
		other int
		warns bool
	}{"replaced": {[]string{key2}, 0, true}, "one more": {[]string{key1, key2}, 0, false}, "others stay": {[]string{key2}, 1, false}, "none": {nil, 0, true}} {
		login.OtherKeys = c.other
		f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{
			Users:   map[string]resource.Login{"core": login},
			Applied: &resource.Record{Schema: resource.RecordSchema, Config: resource.Config{Users: []resource.User{{Name: "core", SSHKeys: []string{key1}}}}, Accounts: map[string]resource.AccountOrigin{"core": resource.FoundAccount}},
		}}
		list, err := findChanges(engine.Desired{Config: &resource.Config{Users: []resource.User{{Name: "core", SSHKeys: c.keys}}}}, f)
		if err != nil || len(list) != 1 || len(list[0].Warnings) > 0 != c.warns || !list[0].Login {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// What the facts of the host foretell is refused before the host is drained.
func TestForetoldFailuresOfAccountsAreRefused(t *testing.T) {
	uid := 1001
	for name, c := range map[string]struct {
		want resource.Config
		says string // "": accepted
	}{
		"home of the login account":  {resource.Config{Users: []resource.User{{Name: "core", Account: resource.Account{HomeDir: "/srv/core"}}}}, "its home cannot change from /home/core to /srv/core, because core is the account that holdfast logs in with"},
		"home of another user":       {resource.Config{Users: []resource.User{{Name: "eve", Account: resource.Account{HomeDir: "/srv/eve"}}}}, "user eve: its home cannot change from /home/eve to /srv/eve, because holdfast moves no home"},
		"another name of the home":   {resource.Config{Users: []resource.User{{Name: "eve", Account: resource.Account{HomeDir: "/var/home/eve"}}}}, ""},
		"UID of a user in use":       {resource.Config{Users: []resource.User{{Name: "ann", Account: resource.Account{UID: &uid}}}}, "its UID cannot change from 1500 to 1001, because ann has processes"},
		"the home that it has":       {resource.Config{Users: []resource.User{{Name: "core", Account: resource.Account{HomeDir: "/home/core/"}}}}, ""},
		"owner that is missing":      {resource.Config{Files: []resource.File{{Path: "/etc/a", Owner: resource.Owner{User: "nobody-here", Group: "7"}}}}, "/etc/a: the host has no user nobody-here: create it in passwd.users"},
		"owner that is made":         {resource.Config{Files: []resource.File{{Path: "/etc/a", Owner: resource.Owner{User: "bob", Group: "bob"}}}, Users: []resource.User{{Name: "bob"}}}, ""},
		"owner that is removed":      {resource.Config{Files: []resource.File{{Path: "/etc/a", Owner: resource.Owner{User: "ann"}}}, Users: []resource.User{{Name: "ann", Account: resource.Account{Absent: true}}}}, "/etc/a: the host has no user ann"},
		"group that is missing":      {resource.Config{Users: []resource.User{{Name: "ann", Account: resource.Account{Groups: []string{"docker"}}}}}, "user ann: the host has no group docker: create it in passwd.groups"},
		"group that is made":         {resource.Config{Users: []resource.User{{Name: "ann", Account: resource.Account{Groups: []string{"docker"}}}}, Groups: []resource.Group{{Name: "docker"}}}, ""},
		"primary group that is gone": {resource.Config{Users: []resource.User{{Name: "ann", Account: resource.Account{PrimaryGroup: "web"}}}}, "user ann: the host has no group web"},
	} {
		c.want, _ = c.want.Compact()
		_, err := newConfigDiff(engine.Desired{Config: &c.want}, engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{OSLinks: resource.Links{"/home": "/var/home"}, Users: map[string]resource.Login{
			"core": {UID: 1000, GID: 1000, Group: "core", Home: "/home/core", Connects: true}, "ann": {UID: 1500, GID: 1500, Group: "ann", Home: "/home/ann", Busy: true},
			"eve": {UID: 1600, GID: 1600, Group: "eve", Home: "/home/eve"},
		}}}, true)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}
