package inventory_test

import (
	"strings"
	"testing"

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
	for text, want := range map[string]string{
		"reboot {\nsoft = \"maybe\"\n}":    `site/a.hcl:4:8: soft must be "never", "auto" or "require", not "maybe"`,
		"reboot {\nsoft = true\n}":         `site/a.hcl:4:8`,
		"reboot {\nfast = true\n}":         `site/a.hcl:4:1: unknown argument "fast"`,
		"reboot {\nkexec = \"require\"\n}": `site/a.hcl:4:9: kexec must be "never" or "auto", not "require"`,

		"reboot {\nsoft = \"require\"\nkexec = \"auto\"\n}": `site/a.hcl:3:1: soft = "require" allows no kexec`,
		"reboot {}\nreboot {}":                              `site/a.hcl:4:1`,
		"reboot \"x\" { soft = \"auto\" }\n":                `site/a.hcl:3:`,
	} {
		if _, err := load(t, "site \"s\" {}\npool \"p\" {\n"+text+"\n}\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
