package hostconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/engine/resource"
)

// accountHost is a host with accounts, in memory. It carries out writes by the
// rules that loginEdit documents.
type accountHost struct {
	users   map[string]resource.Login
	kept    map[string]string // original hashes
	applied *resource.Record
	boot    int
	set     map[string]bool     // accounts whose hash holdfast has set; it may have drifted since
	own     map[string][]string // hashes that an account had before holdfast set one
	keyed   map[string]bool     // accounts that have SSH keys from holdfast
	made    map[string]bool     // accounts that holdfast made
	wrong   []string            // edits that holdfast must never make
}

// newAccountHost returns a host with these accounts.
func newAccountHost(users map[string]resource.Login) *accountHost {
	return &accountHost{
		users: users, kept: map[string]string{}, set: map[string]bool{}, own: map[string][]string{}, keyed: map[string]bool{}, made: map[string]bool{},
	}
}

func (h *accountHost) gatherFacts() engine.Facts {
	return engine.Facts{BootID: resource.BootID(fmt.Sprint("boot-", h.boot)), Config: &resource.ConfigFacts{
		Applied: h.applied, Nodes: map[string]resource.PathFacts{}, Users: maps.Clone(h.users),
	}}
}

// The password hashes that the model uses.
const (
	starHash  = "*"
	lockHash  = "!"
	emptyHash = ""
	intruder  = "intruder"
)

// carryOut carries out a write. It stops after that number of steps; a negative
// number means to finish.
func (h *accountHost) carryOut(w hostWrite, stop int) {
	step := func() bool { stop--; return stop == -1 }
	if step() {
		return
	}
	for _, u := range w.users {
		if u.keep {
			h.kept[u.want.Name] = h.users[u.want.Name].Password
		}
	}
	if step() {
		return
	}
	h.applied = decodeRecord(w.before)
	var over []string
	for _, u := range w.users {
		if step() {
			return
		}
		over = append(over, h.applyEdit(u)...)
	}
	if step() {
		return
	}
	h.applied = decodeRecord(w.after)
	for _, name := range over {
		delete(h.kept, name)
		h.set[name], h.own[name] = false, nil
	}
}

// applyEdit changes an account. It returns the name of the account if the
// original hash must be removed.
func (h *accountHost) applyEdit(u loginEdit) []string {
	name := u.want.Name
	login, exists := h.users[name]
	switch {
	case u.want.Account.Absent:
		delete(h.users, name)
		h.set[name], h.keyed[name], h.made[name] = false, false, false
		return nil
	case u.account && !exists:
		login = resource.Login{UID: 1001, Group: name, Password: starHash}
		h.made[name] = true
	}
	if leaves := u.retire || u.password && u.want.PasswordHash == "" && !u.back; leaves && !h.made[name] {
		h.wrong = append(h.wrong, name+", which the host had, is locked")
	}
	if u.back && !slices.Contains(h.own[name], h.kept[name]) {
		h.wrong = append(h.wrong, fmt.Sprintf("%s gets back %q, and had one of %q", name, h.kept[name], h.own[name]))
	}
	if u.revive {
		login.Expires = ""
	}
	var over []string
	switch {
	case u.retire:
		login.Expires, login.Password = resource.RetiredExpiry, lockHash
		over = []string{name}
	case u.back && h.kept[name] != "":
		login.Password = h.kept[name]
		over = []string{name}
	case u.password && u.want.PasswordHash == "":
		login.Password = starHash
		over = []string{name}
	case u.password:
		login.Password = u.want.PasswordHash
		h.set[name] = true
	}
	if u.keys {
		login.Keys = u.want.SSHKeys
		h.keyed[name] = len(login.Keys) > 0
	}
	h.users[name] = login
	return over
}

// anyAccounts draws a configuration of some accounts.
func anyAccounts(t *rapid.T, name string) resource.Config {
	var c resource.Config
	for _, user := range []string{"ann", "bob"} {
		switch rapid.IntRange(0, 4).Draw(t, name+user) {
		case 0:
		case 1:
			c.Users = append(c.Users, resource.User{Name: user, Account: resource.Account{Absent: true}})
		default:
			u := resource.User{Name: user}
			if n := rapid.IntRange(0, 2).Draw(t, name+user+"'s password"); n > 0 {
				u.PasswordHash = resource.Digest([]byte{byte(n)})
			}
			if rapid.Bool().Draw(t, name+user+"'s key") {
				u.SSHKeys = []string{key1}
			}
			c.Users = append(c.Users, u)
		}
	}
	return c
}

// driftRandomly changes an account like somebody on the host.
func (h *accountHost) driftRandomly(t *rapid.T, name string) {
	user := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, name+"drifts")
	login, exists := h.users[user]
	if !exists {
		return
	}
	switch rapid.IntRange(0, 4).Draw(t, name+"how") {
	case 0:
		login.Password = emptyHash
	case 1:
		login.Password = intruder
	case 2:
		login.Expires = resource.RetiredExpiry
	case 3:
		login.Keys = []string{key2}
	case 4:
		return
	}
	h.users[user] = login
}

func (h *accountHost) runOnce(t rapid.TB, c resource.Config, stop int) {
	d := engine.Desired{Config: &c}
	changes, err := findChanges(d, h.gatherFacts())
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) == 0 {
		return
	}
	x, err := newConfigDiff(d, h.gatherFacts(), true)
	if err != nil {
		t.Fatal(err)
	}
	w := x.buildWrite(engine.Target{Desired: d, Facts: h.gatherFacts(), Run: "r"})
	for name, login := range h.users {
		if !h.set[name] {
			h.own[name] = append(h.own[name], login.Password)
		}
	}
	h.carryOut(w, stop)
}

// With any drift and any interruption, three things hold. An account that
// holdfast created is locked when it leaves, and unlocked when it returns. An
// account of the host gets back the hash that it had before holdfast set one, and
// never a later hash. A complete run leaves nothing to do.
func TestAccountsConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newAccountHost(map[string]resource.Login{})
		if rapid.Bool().Draw(t, "the host has bob") {
			h.users["bob"] = resource.Login{UID: 1000, Group: "bob", Password: "bob's own"}
		}
		for i := range rapid.IntRange(1, 6).Draw(t, "runs") {
			name := fmt.Sprint("run ", i, " ")
			c := anyAccounts(t, name)
			h.runOnce(t, c, rapid.IntRange(-1, 6).Draw(t, name+"stop"))
			if rapid.Bool().Draw(t, name+"reboot") {
				h.boot++
			}
			h.driftRandomly(t, name)
			if rapid.Bool().Draw(t, name+"repaired") {
				h.runOnce(t, c, -1)
				h.runOnce(t, c, -1)
				h.checkAccounts(t, c)
			}
		}
		c := anyAccounts(t, "last ")
		h.runOnce(t, c, -1)
		h.checkAccounts(t, c)
		if changes, err := findChanges(engine.Desired{Config: &c}, h.gatherFacts()); err != nil || len(changes) > 0 {
			t.Fatalf("not done: %v %v", changes, err)
		}
		h.runOnce(t, resource.Config{}, -1)
		h.checkAccounts(t, resource.Config{})
		for name, login := range h.users { // if somebody unlocks an account after it left, the account belongs to the host
			leaves := slices.ContainsFunc(c.Users, func(u resource.User) bool { return u.Name == name })
			if h.made[name] && leaves && !(login.Retired() && login.Password == lockHash && len(login.Keys) == 0) {
				t.Fatalf("%s was made by holdfast, has left, and is %+v", name, login)
			}
		}
	})
}

// checkAccounts requires that the accounts match an applied configuration.
func (h *accountHost) checkAccounts(t rapid.TB, c resource.Config) {
	hashed, keyed := map[string]bool{}, map[string]bool{}
	for _, u := range c.Users {
		hashed[u.Name], keyed[u.Name] = u.PasswordHash != "", len(u.SSHKeys) > 0
	}
	for name, login := range h.users {
		switch {
		case h.set[name] && !hashed[name]:
			t.Fatalf("%s still has a hash from holdfast, or one that drifted from it: %q", name, login.Password)
		case h.keyed[name] && !keyed[name]:
			t.Fatalf("%s still has SSH keys from holdfast: %q", name, login.Keys)
		}
	}
	if len(h.wrong) > 0 {
		t.Fatal(h.wrong)
	}
	for _, u := range c.Users {
		login, exists := h.users[u.Name]
		switch {
		case exists == u.Account.Absent:
			t.Fatalf("%s is there: %v", u.Name, exists)
		case !exists:
		case u.PasswordHash != "" && login.Password != u.PasswordHash:
			t.Fatalf("%s has the password %q, want %q", u.Name, login.Password, u.PasswordHash)
		case h.applied.Accounts[u.Name] == resource.MadeAccount && login.Retired():
			t.Fatalf("%s is desired, and locked", u.Name)
		}
	}
	for name := range h.users {
		if kept, had := h.kept[name]; had && !slices.Contains(h.own[name], kept) {
			t.Fatalf("the original of %s is %q, and was one of %q", name, kept, h.own[name])
		}
	}
}

// holdfast creates bob. His password drifts and is repaired, and then he leaves.
func TestAMadeAccountIsLocked(t *testing.T) {
	longtest.SkipSlow(t)
	for name, drift := range map[string]string{"emptied": emptyHash, "an intruder's": "$6$intruder$x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := accountSite(t)
			bob := resource.User{Name: "bob", PasswordHash: passwordDigest(), SSHKeys: []string{key1}}
			b.mustWrite(b.accountWrite(nil, loginEdit{want: bob, account: true, keys: true}))
			login := resource.Login{UID: 1500, Group: "bob", Home: "/home/bob", Keys: []string{key1}}
			b.Put("/etc/shadow", strings.Replace(b.Read("/etc/shadow"), "bob:"+newHash+":", "bob:"+drift+":", 1), 0o600)
			b.mustWrite(b.accountWrite(nil, loginEdit{want: bob, was: &login, password: true}))
			if b.Exists("var/lib/holdfast/originals/password-bob") {
				t.Errorf("drift is kept as an original: %q", b.Read("/var/lib/holdfast/originals/password-bob"))
			}
			b.AddTool("loginctl", "printf '%s\\n' ' 7 1500 bob seat0' '12 1000 core -' 'c3 1500 bob -'\n")
			leaving := b.accountWrite(nil, loginEdit{want: resource.User{Name: "bob"}, was: &login, retire: true, password: true, keys: true})
			out := b.write(leaving)
			if b.Want(out, 0, ""); !strings.Contains(out.Stdout+out.Stderr, "has sessions that go on until they end (loginctl terminate-user bob): 7 c3\n") {
				t.Errorf("the sessions are not told: %s%s", out.Stdout, out.Stderr)
			}
			b.record(leaving)
			if shadow := b.Read("/etc/shadow"); !strings.Contains(shadow, "bob:!:20000:0:99999:7::1:\n") {
				t.Errorf("shadow:\n%s", shadow)
			}
			if b.Exists("home/bob/.ssh/authorized_keys") {
				t.Error("the keys are left")
			}
			b.mustWrite(b.accountWrite(nil, loginEdit{want: bob, was: &login, revive: true, password: true, keys: true}))
			if shadow := b.Read("/etc/shadow"); !strings.Contains(shadow, "bob:"+newHash+":20000:0:99999:7:::\n") {
				t.Errorf("shadow:\n%s", shadow)
			}
		})
	}
}
