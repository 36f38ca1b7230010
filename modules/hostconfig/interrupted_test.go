package hostconfig

import (
	"fmt"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// A write is interrupted before it removes a hash, keys or an account, or after
// it has set them. The next complete write removes everything that holdfast has
// set, also after a reboot in between.
func TestAccountsLeaveAfterAWriteWasCutShort(t *testing.T) {
	user := func(change func(*resource.User)) resource.Config {
		u := resource.User{Name: "bob"}
		change(&u)
		return resource.Config{Users: []resource.User{u}}
	}
	const early, late, whole = 2, 3, -1 // where a write is cut short: before and after the account changes
	hashed := user(func(u *resource.User) { u.PasswordHash = passwordDigest() })
	keyed := user(func(u *resource.User) { u.SSHKeys = []string{key1} })
	plain, gone, none := user(func(*resource.User) {}), user(func(u *resource.User) { u.Account.Absent = true }), resource.Config{}
	type run struct {
		config resource.Config
		stop   int
	}
	for name, test := range map[string]struct {
		missing bool // the host does not have the account
		runs    []run
		drift   string
		last    resource.Config
	}{
		"deletion":                         {runs: []run{{hashed, whole}, {gone, early}}, drift: intruder, last: none},
		"deletion, then desired":           {runs: []run{{hashed, whole}, {gone, early}}, drift: intruder, last: plain},
		"password":                         {runs: []run{{hashed, whole}, {plain, early}}, drift: intruder, last: none},
		"password, desired again":          {runs: []run{{hashed, whole}, {plain, early}}, drift: intruder, last: plain},
		"keys":                             {runs: []run{{keyed, whole}, {plain, early}}, drift: "bob's own", last: plain},
		"leaving":                          {runs: []run{{hashed, whole}, {none, early}}, drift: intruder, last: none},
		"first password":                   {runs: []run{{plain, whole}, {hashed, late}}, drift: intruder, last: plain},
		"first keys":                       {runs: []run{{plain, whole}, {keyed, late}}, drift: "bob's own", last: plain},
		"first password, then deletion":    {runs: []run{{none, whole}, {hashed, late}, {gone, early}}, drift: intruder, last: none},
		"first password, then none":        {runs: []run{{none, whole}, {hashed, late}, {plain, early}}, drift: intruder, last: none},
		"two deletions":                    {runs: []run{{hashed, whole}, {gone, early}, {gone, early}}, drift: intruder, last: none},
		"making an account after deletion": {missing: true, runs: []run{{gone, whole}, {hashed, late}}, drift: intruder, last: none},
	} {
		for _, reboots := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reboot %v", name, reboots), func(t *testing.T) {
				t.Parallel()
				h := newAccountHost(map[string]resource.Login{})
				if !test.missing {
					h.users["bob"] = resource.Login{UID: 1000, Group: "bob", Password: "bob's own"}
				}
				for _, r := range test.runs {
					h.runOnce(t, r.config, r.stop)
				}
				login := h.users["bob"]
				login.Password = test.drift
				h.users["bob"] = login
				if reboots {
					h.boot++
				}
				h.runOnce(t, test.last, whole)
				h.checkAccounts(t, test.last)
				want := map[bool]string{false: "bob's own", true: lockHash}[test.missing]
				if got := h.users["bob"].Password; got != want {
					t.Errorf("bob has the password %q, want %q", got, want)
				}
				h.runOnce(t, hashed, whole)
				h.checkAccounts(t, hashed)
			})
		}
	}
}

// The documents desired an account to be absent, and the account exists although
// holdfast has deleted it. It belongs to the host, and holdfast never locks it.
func TestAnAccountThatShouldHaveGoneStaysTheHosts(t *testing.T) {
	for name, stop := range map[string]int{"not deleted": 2, "made again": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := resource.Login{UID: 1000, Group: "bob", Password: "bob's own"}
			h := newAccountHost(map[string]resource.Login{"bob": own})
			h.runOnce(t, resource.Config{Users: []resource.User{{Name: "bob", Account: resource.Account{Absent: true}}}}, stop)
			h.users["bob"] = own
			for _, c := range []resource.Config{{}, {Users: []resource.User{{Name: "bob", PasswordHash: passwordDigest()}}}, {}} {
				h.runOnce(t, c, -1)
				h.checkAccounts(t, c)
			}
			if got := h.users["bob"]; got.Retired() || got.Password != own.Password {
				t.Errorf("bob is %+v", got)
			}
		})
	}
}

// If a run dies between the reboot that deletes an account and its record, the
// next run does not reboot the host again.
func TestADeletedAccountTakesNoSecondReboot(t *testing.T) {
	h := newAccountHost(map[string]resource.Login{"bob": {UID: 1000, Group: "bob", Password: "bob's own"}})
	h.runOnce(t, resource.Config{Users: []resource.User{{Name: "bob", PasswordHash: passwordDigest()}}}, -1)
	gone := resource.Config{Users: []resource.User{{Name: "bob", Account: resource.Account{Absent: true}}}}
	h.runOnce(t, gone, 3)
	h.boot++
	changes, err := findChanges(engine.Desired{Config: &gone}, h.gatherFacts())
	if err != nil || len(changes) != 1 || changes[0].Resource != engine.RecordResource {
		t.Errorf("%+v, %v", changes, err)
	}
}

// A run dies between a soft reboot and its record. The next run reboots the host again only if the soft reboot did not bring
// all changes into effect: changes of a class that needs a full reboot, the replacement of an action that failed, and earlier
// changes that were not in effect.
func TestSoftRebootBeforeTheRecord(t *testing.T) {
	files := func(paths ...string) *resource.Config {
		c := &resource.Config{}
		for _, p := range paths {
			mode := 0o644
			c.Files = append(c.Files, resource.File{Path: p, Contents: []byte("1"), Mode: &mode})
		}
		compact, _ := c.Compact()
		return &compact
	}
	fail := func(h *modelHost) { h.applied.Unfinished.FailedAction = "reload x.service" }
	for name, test := range map[string]struct {
		earlier *resource.Config // an interrupted write before
		config  *resource.Config
		policy  []engine.Rule
		after   func(*modelHost) // after the interrupted write
		again   bool             // the change is still to do
	}{
		"soft reboot":                     {config: files("/etc/a"), after: (*modelHost).simulateSoftReboot},
		"two soft reboots":                {config: files("/etc/a"), after: func(h *modelHost) { h.simulateSoftReboot(); h.simulateSoftReboot() }},
		"full reboot":                     {config: files(keptByKernel), after: (*modelHost).simulateReboot},
		"no reboot":                       {config: files("/etc/a"), after: func(*modelHost) {}, again: true},
		"full reboot needed":              {config: files(keptByKernel), after: (*modelHost).simulateSoftReboot, again: true},
		"full reboot needed for one":      {config: files("/etc/a", keptByKernel), after: (*modelHost).simulateSoftReboot, again: true},
		"full reboot needed before":       {earlier: files(keptByKernel), config: files("/etc/a"), after: (*modelHost).simulateSoftReboot, again: true},
		"soft reboot enough before":       {earlier: files("/etc/b"), config: files("/etc/a"), after: (*modelHost).simulateSoftReboot},
		"full class without a reboot":     {config: files(keptByKernel), policy: []engine.Rule{{Path: "/etc/sysctl.d", Actions: []engine.Action{{Type: engine.RestartUnit, Unit: "x.service"}}}}, after: (*modelHost).simulateSoftReboot},
		"an action failed":                {config: files("/etc/a"), after: func(h *modelHost) { fail(h); h.simulateSoftReboot() }, again: true},
		"an action failed, then rebooted": {config: files("/etc/a"), after: func(h *modelHost) { fail(h); h.simulateReboot() }},
	} {
		t.Run(name, func(t *testing.T) {
			h := &modelHost{nodes: map[string]resource.PathFacts{}, saved: map[string]resource.PathFacts{}, applied: &resource.Record{Schema: resource.RecordSchema}}
			write := func(c *resource.Config) {
				d := engine.Desired{Config: c, Policy: test.policy}
				x, err := newConfigDiff(d, h.gatherFacts(), true)
				if err != nil {
					t.Fatal(err)
				}
				h.carryOut(x.buildWrite(engine.Target{Desired: d, Facts: h.gatherFacts(), Run: "r"}), -3)
			}
			if test.earlier != nil {
				write(test.earlier)
			}
			write(test.config)
			test.after(h)
			changes, err := findChanges(engine.Desired{Config: test.config, Policy: test.policy}, h.gatherFacts())
			if err != nil {
				t.Fatal(err)
			}
			if again := len(changes) != 1 || changes[0].Resource != engine.RecordResource; again != test.again {
				t.Errorf("changes: %+v", changes)
			}
		})
	}
}

// A write that restores the hash of a group is interrupted. The next write
// restores the hash, also after a reboot in between, and keeps no other hash as
// the original.
func TestAGroupGetsItsHashBackAfterAWriteWasCutShort(t *testing.T) {
	hashed := resource.Config{Groups: []resource.Group{{Name: "web", PasswordHash: passwordDigest()}}}
	for name, test := range map[string]struct{ before, unfinished, last resource.Config }{
		"leaving":        {before: hashed},
		"hash":           {before: hashed, unfinished: resource.Config{Groups: []resource.Group{{Name: "web"}}}, last: resource.Config{Groups: []resource.Group{{Name: "web"}}}},
		"deletion":       {before: hashed, unfinished: resource.Config{Groups: []resource.Group{{Name: "web", Absent: true}}}},
		"first password": {unfinished: hashed},
	} {
		for _, bootThen := range []resource.BootID{moduletest.Boot, "boot-earlier"} {
			t.Run(name+", "+string(bootThen), func(t *testing.T) {
				t.Parallel()
				f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Groups: map[string]int{"web": 77}, Applied: &resource.Record{
					Schema: resource.RecordSchema, Config: test.before, Accounts: map[string]resource.AccountOrigin{"group/web": resource.FoundAccount},
					Unfinished: &resource.UnfinishedWrite{Run: "r", Boot: bootThen, Config: test.unfinished},
				}}}
				d := engine.Desired{Config: &test.last}
				x, err := newConfigDiff(d, f, true)
				if err != nil {
					t.Fatal(err)
				}
				w := x.buildWrite(engine.Target{Desired: d, Facts: f, Run: "s"})
				if len(w.groups) != 1 || !w.groups[0].back || w.groups[0].keep {
					t.Errorf("%+v", w.groups)
				}
				if passwordHashes(decodeRecord(w.before).Unfinished.Config)["group/web"] == "" {
					t.Errorf("the record forgets the hash: %s", w.before)
				}
			})
		}
	}
}

// The record of a provisioned host has no origins of accounts. These
// origins count as unknown.
func TestAccountsOfAnEarlierRecord(t *testing.T) {
	record := &resource.Record{Schema: 1, Config: resource.Config{Users: []resource.User{
		{Name: "core", PasswordHash: passwordDigest()}, {Name: "bob", PasswordHash: passwordDigest()}, {Name: "etcd", PasswordHash: passwordDigest()},
	}}}
	f := engine.Facts{BootID: moduletest.Boot, Config: &resource.ConfigFacts{Applied: record, Users: map[string]resource.Login{
		"core": {UID: 1000, Group: "core", Password: passwordDigest(), Connects: true}, "bob": {UID: 1001, Group: "bob", Password: passwordDigest()}, "etcd": {UID: 998, Group: "etcd", Password: passwordDigest()},
	}}}
	x, err := newConfigDiff(engine.Desired{Config: &resource.Config{}}, f, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range x.buildWrite(engine.Target{Desired: engine.Desired{Config: &resource.Config{}}, Facts: f, Run: "r"}).users {
		if u.back || u.keep || u.retire != (u.want.Name == "bob") || !u.password {
			t.Errorf("%+v", u)
		}
	}
	if _, after := x.buildRecords(engine.Target{Run: "r"}); after.Accounts["bob"] != resource.MadeAccount || after.Accounts["core"] != "" {
		t.Errorf("%+v", after.Accounts)
	}
}
