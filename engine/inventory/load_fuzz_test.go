package inventory_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory"
)

// canary matches a secret that nobody writes by chance, in clear text or in
// base64.
var canary = regexp.MustCompile(`(?i)zq7secret7qz|enE3c2VjcmV0N3F6`)

// placed matches the beginning of each error: its place, or the text of an
// error that has no place.
var placed = regexp.MustCompile(`^(a\.hcl:[0-9]+:[0-9]+: .|the inventory has no site block|a\.hcl is not text in UTF-8)`)

// FuzzLoad checks that loading any file ends, that each error names its place,
// and that neither an error nor the JSON of the inventory shows a secret.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"site \"s\" {}\n", largeSite(3, 2), "locals { a = local.a }", "hosts \"a\" { range = \"1-9\" }",
		"site \"s\" { ssh { identity = [null, 1, \"~\"] } }", "locals { a = tonumber(var.secret) }",
		"site \"s\" {}\npool \"p\" {\n gate \"g\" {\n  command = upper(var.secret)\n  when = [\"after-host\"]\n }\n}",
		"site \"s\" {}\nhost \"h\" {\n address = \"${var.secret}\"\n pool = { for k in [1, 1] : var.secret => k }\n}",
		"site \"s\" {}\nlocals {\n a = templatefile(\"t\", { x = base64encode(var.secret) })\n b = [for x in [var.secret] : env(x)]\n}",
		"site \"s\" {}\npool \"p\" {\n config \"a.bu\" { content = \"x ${upper(var.secret)}\" }\n policy {\n path = var.secret\n actions = [\"x\"]\n }\n}",
		"site \"s\" {\n failure_budget = \"5%\"\n window {\n from = \"22:00\"\n to = \"04:00\"\n timezone = var.secret\n }\n}\npool \"p\" {\n canary { hosts = 0 }\n gate \"g\" {\n when = [\"before-run\"]\n http {\n url = \"http://${var.secret}/{host}\"\n match = var.secret\n }\n }\n}",
		"locals {\n a = [var.secret][*].x\n b = keys(local)\n c = local[\"a\"]\n}", "pool \"p\" { max_unavailable = \"${var.secret}%\" }",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		loaded, err := inventory.Load(inventory.Source{
			FS:    fstest.MapFS{"a.hcl": {Data: []byte(src)}, "v.hcl": {Data: []byte("variable \"secret\" { sensitive = true }")}, "t": {Data: []byte("${env(x)}")}},
			Paths: []string{"a.hcl", "v.hcl"}, Home: "/home/ann",
			Env: func(name string) (string, bool) { return "zq7secret7qz", name == "HOLDFAST_VAR_secret" },
		})
		if err != nil {
			for mistake := range strings.SplitSeq(err.Error(), "\n\n") {
				if !placed.MatchString(mistake) && !strings.HasPrefix(mistake, "v.hcl:1:10: a second variable") {
					t.Fatalf("a mistake without a place: %q", mistake)
				}
			}
			if found := canary.FindString(err.Error()); found != "" && !strings.Contains(src, found) {
				t.Fatalf("the mistake shows a secret:\n%v", err)
			}
			return
		}
		out, err := json.Marshal(redactCommands(loaded))
		if err != nil {
			t.Fatal(err)
		}
		if found := canary.FindString(string(out)); found != "" && !strings.Contains(src, found) {
			t.Fatalf("a secret is left in %s", out)
		}
	})
}

// redactCommands returns an inventory whose commands are redacted as in output.
func redactCommands(l inventory.Loaded) inventory.Loaded {
	hide := func(s string) string {
		for _, v := range l.Sensitive {
			s = strings.ReplaceAll(s, v, "(sensitive)")
		}
		return s
	}
	for i := range l.Inventory.Hosts {
		h := &l.Inventory.Hosts[i]
		h.SSH.BecomePasswordCommand = hide(h.SSH.BecomePasswordCommand)
	}
	for _, p := range l.Inventory.Pools {
		if p.Drain != nil {
			p.Drain.Command, p.Drain.Undo = hide(p.Drain.Command), hide(p.Drain.Undo)
		}
		for i := range p.Gates {
			p.Gates[i].Command = hide(p.Gates[i].Command)
		}
	}
	l.Sensitive = nil
	return l
}
