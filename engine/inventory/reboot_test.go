package inventory_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
)

// TestRebootBlock checks the kinds of reboot that a pool allows, and where a mistake is.
func TestRebootBlock(t *testing.T) {
	for text, want := range map[string]engine.SoftRebootMode{
		``: engine.NeverSoft, `reboot {}`: engine.NeverSoft, `reboot { soft = "never" }`: engine.NeverSoft,
		`reboot { soft = "auto" }`: engine.AutoSoft, `reboot { soft = "require" }`: engine.RequireSoft,
	} {
		inv, err := load(t, "site \"s\" {}\npool \"p\" {\n"+text+"\n}\n")
		if err != nil || inv.Inventory.Pools[0].Reboot.Soft != want {
			t.Errorf("%s: %v, %v", text, inv.Inventory.Pools, err)
		}
	}
	inv, err := load(t, "site \"s\" {}\npool \"p\" {\nreboot {\nsoft = \"auto\"\nkexec = \"auto\"\n}\n}\n")
	if want := (engine.RebootSetting{Soft: engine.AutoSoft, Kexec: engine.AutoKexec}); err != nil || inv.Inventory.Pools[0].Reboot != want {
		t.Errorf("%v, %v", inv.Inventory.Pools, err)
	}
	inv, err = load(t, "site \"s\" {}\npool \"p\" {\nreboot {\nreset_after = \"5m\"\n}\nbmc {\naddress = \"192.0.2.9\"\nuser = \"u\"\npassword_file = \"p\"\n}\n}\nhost \"a\" {\naddress = \"192.0.2.1\"\npool = \"p\"\n}\n")
	if err != nil || inv.Inventory.Pools[0].ResetAfter(inv.Inventory.Hosts[0]) != engine.Duration(5*time.Minute) || inv.Inventory.Pools[0].Reboot.HasChoice() {
		t.Errorf("%+v, %v", inv.Inventory.Pools, err)
	}
	for text, want := range map[string]string{
		"reboot {\nsoft = \"maybe\"\n}":    `site/a.hcl:4:8: soft must be "never", "auto" or "require", not "maybe"`,
		"reboot {\nsoft = true\n}":         `site/a.hcl:4:8`,
		"reboot {\nfast = true\n}":         `site/a.hcl:4:1: unknown argument "fast"`,
		"reboot {\nkexec = \"require\"\n}": `site/a.hcl:4:9: kexec must be "never" or "auto", not "require"`,

		"reboot {\nreset_after = \"5s\"\n}":  `site/a.hcl:4:15: reset_after must be from 1m to 24h: give a host more time`,
		"reboot {\nreset_after = \"25h\"\n}": `site/a.hcl:4:15: reset_after must be from 1m to 24h`,
		"reboot {\nreset_after = 5\n}":       `site/a.hcl:4:15`,
		"reboot {\nreset_after = \"5m\"\n}\n}\nhost \"a\" {\naddress = \"192.0.2.1\"\npool = \"p\"": `site/a.hcl:4:15: a has no bmc block, so nothing can reset it: add one`,

		"reboot {\nsoft = \"require\"\nkexec = \"auto\"\n}": `site/a.hcl:3:1: soft = "require" allows no kexec`,
		"reboot {}\nreboot {}":                              `site/a.hcl:4:1`,
		"reboot \"x\" { soft = \"auto\" }\n":                `site/a.hcl:3:`,
	} {
		if _, err := load(t, "site \"s\" {}\npool \"p\" {\n"+text+"\n}\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestKeep checks the document with the drop-ins of the services that a pool keeps, and where a mistake is.
func TestKeep(t *testing.T) {
	inv, err := load(t, "site \"s\" {}\npool \"p\" {\nreboot {\nsoft = \"auto\"\nkeep = [\"app.service\", \"web@1.service\"]\n}\n}\n")
	if err != nil || len(inv.Inventory.Pools[0].Configs) != 1 {
		t.Fatalf("%v, %v", inv.Inventory.Pools, err)
	}
	text := inv.Inventory.Pools[0].Configs[0].Text
	for _, want := range []string{`"name":"app.service"`, `"name":"web@1.service"`, `"52-holdfast-keep.conf"`, `[Unit]\nSurviveFinalKillSignal=yes\nIgnoreOnIsolate=yes`, `[Service]\nPrivateMounts=yes`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	member := "host \"a\" {\naddress = \"192.0.2.1\"\npool = \"p\"\netcd_cluster = \"main\"\n}\nhost \"b\" {\naddress = \"192.0.2.2\"\npool = \"p\"\netcd_cluster = \"main\"\n}\n"
	for text, c := range map[string]struct{ rest, want string }{
		`keep = ["app"]`:                               {"", `site/a.hcl:5:9: "app" is not the name of a service: write it with its ending`},
		`keep = ["app.service", "app@.service"]`:       {"", `site/a.hcl:5:24: "app@.service" is not the name of a service`},
		`keep = ["a b.service"]`:                       {"", `site/a.hcl:5:9: "a b.service" is not the name`},
		`keep = ["../a.service"]`:                      {"", `site/a.hcl:5:9: "../a.service" is not the name`},
		`keep = ["a.service", "a.service"]`:            {"", `site/a.hcl:5:22: keep names a.service twice: remove one`},
		`keep = "a.service"`:                           {"", `site/a.hcl:5:8: `},
		`keep = [for i in range(9) : "a${i}.service"]`: {"", `site/a.hcl:5:8: keep names 9 services: name at most 8`},
		`keep = ["x.service", "etcd.service"]`:         {member + "etcd_cluster \"main\" {}\n", `site/a.hcl:5:22: etcd.service runs the etcd member of a, whose restarts need the quorum of cluster main: remove it, and set manage = true and survive_soft_reboots = true in etcd_cluster "main"`},
		`keep = ["db.service"]`:                        {member + "etcd_cluster \"main\" {\nmanage = true\nunit = \"db.service\"\n}\n", `site/a.hcl:5:9: db.service runs the etcd member of a`},
	} {
		_, err := load(t, "site \"s\" {}\npool \"p\" {\nreboot {\nsoft = \"auto\"\n"+text+"\n}\n}\n"+c.rest)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "the etcd member of") > 1 {
			t.Errorf("%s: %v, want %s", text, err, c.want)
		}
	}
	if _, err := load(t, "site \"s\" {}\npool \"p\" {\nreboot {\nkeep = [\"a.service\"]\n}\n}\n"); err == nil || !strings.Contains(err.Error(), `site/a.hcl:4:8: keep has no effect with soft = "never": remove it, or set soft = "auto"`) {
		t.Errorf("never: %v", err)
	}
	if _, err := load(t, "site \"s\" {}\npool \"p\" {\nreboot {\nsoft = \"auto\"\nkeep = [\"etcd.service\"]\n}\n}\nhost \"a\" {\naddress = \"192.0.2.1\"\npool = \"p\"\n}\n"); err != nil {
		t.Errorf("etcd.service of no cluster: %v", err)
	}
}
