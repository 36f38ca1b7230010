package desired

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// siteWithRoles returns a site with documents of the roles master, worker, infra
// (two) and gpu, and one without a role. Only the host gpu names the document of
// the role gpu.
func siteWithRoles(t *testing.T, pools string) *Configs {
	t.Helper()
	dir := t.TempDir()
	machine := func(name, role string) string {
		return "kind: MachineConfig\nmetadata: {name: " + name + ", labels: {machineconfiguration.openshift.io/role: " + role + "}}\nspec: {kernelArguments: [" + name + "=1]}\n"
	}
	for name, text := range map[string]string{
		"site.hcl":     "site \"s\" {}\n" + pools + "host \"gpu\" {\n  address = \"gpu\"\n  pool = \"infra\"\n  configs = [\"gpu.yaml\"]\n}\nhost \"w\" {\n  address = \"w\"\n  pool = \"worker\"\n}\nhost \"i\" {\n  address = \"i\"\n  pool = \"infra\"\n}\n",
		"all/a.yaml":   machine("m1", "master"),
		"all/b.yaml":   machine("w1", "worker"),
		"all/c.yaml":   machine("i1", "infra") + "---\n" + machine("i2", "infra"),
		"all/plain.bu": "variant: fcos\nversion: 1.5.0\nsystemd: {units: [{name: a.service, enabled: true}]}\n",
		"gpu.yaml":     machine("g1", "gpu"),
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return configsIn(t, dir)
}

// poolsWithRoles returns the pools worker and infra, with these config_roles.
func poolsWithRoles(worker, infra string) string {
	const pool = "pool %q {\n  os { driver = \"rpm-ostree\" }\n  configs = [\"all\"]\n  config_roles = [%s]\n}\n"
	return fmt.Sprintf(pool, "worker", worker) + fmt.Sprintf(pool, "infra", infra)
}

// TestRolesOfPools checks that a role of config_roles that no document has is an
// error, and that documents that no host uses cause a warning.
func TestRolesOfPools(t *testing.T) {
	for name, c := range map[string]struct {
		worker, infra string // config_roles of the pools
		refused       string // the error, "" for none
		warned        string // the end of a warning, "" for none
	}{
		"each has its own":      {`"worker"`, `"worker", "infra", "gpu"`, "", "/all: no host uses its documents of these roles: master (1); name the roles in config_roles of a pool, or remove the documents"},
		"one is forgotten":      {`"worker"`, `"worker", "gpu"`, "", "/all: no host uses its documents of these roles: infra (2), master (1); name the roles in config_roles of a pool, or remove the documents"},
		"all are used":          {`"master"`, `"worker", "infra", "gpu"`, "", ""},
		"one is misspelt":       {`"worker"`, `"worker", "infar", "gpu"`, `config_roles of pool "infra": no document of its hosts has the role "infar"; did you mean "infra"?`, ""},
		"one is another host's": {`"worker", "gpu"`, `"worker", "infra", "gpu"`, "", `config_roles of pool "worker": no document of its hosts has the role "gpu"; correct the role, or ignore this if it has no documents yet`},
		"none is known":         {`"edge"`, `"worker", "infra", "gpu"`, `config_roles of pool "worker": no document of its hosts has the role "edge"; correct the role, or remove it from config_roles`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			configs := siteWithRoles(t, poolsWithRoles(c.worker, c.infra))
			_, err := configs.States()
			switch {
			case c.refused != "":
				if err == nil || err.Error() != c.refused {
					t.Errorf("%v, want %s", err, c.refused)
				}
			case err != nil:
				t.Error(err)
			case c.warned == "" && len(configs.Warnings) > 0 || c.warned != "" && !slices.ContainsFunc(configs.Warnings, func(w string) bool { return strings.HasSuffix(w, c.warned) }):
				t.Errorf("%q, want %q", configs.Warnings, c.warned)
			}
		})
	}
}

// TestRolesOfOneHostDespiteAnother checks that the documents of another host of the pool, which are needed for its roles
// only, do not fail the configuration of a host.
func TestRolesOfOneHostDespiteAnother(t *testing.T) {
	configs := siteWithRoles(t, poolsWithRoles(`"worker"`, `"worker", "infra", "gpu"`))
	if err := os.WriteFile(filepath.Join(configs.site.Dir, "gpu.yaml"), []byte("kind: MachineConfig\nspec: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host, _ := configs.site.Inventory.Host("i")
	if _, err := configs.HostConfig(host); err != nil {
		t.Error(err)
	}
	other, _ := configs.site.Inventory.Host("gpu")
	if _, err := configs.HostConfig(other); err == nil {
		t.Error("the documents of this host have an error")
	}
}

// TestRolesOfOneHost checks roles when only one host's configuration is needed.
func TestRolesOfOneHost(t *testing.T) {
	for infra, isRefused := range map[string]bool{`"worker", "infra", "gpu"`: false, `"worker", "infar", "gpu"`: true} {
		configs := siteWithRoles(t, poolsWithRoles(`"worker"`, infra))
		for _, h := range configs.site.Inventory.Hosts {
			if h.Name != "i" {
				continue
			}
			if _, err := configs.HostConfig(h); (err != nil) != isRefused {
				t.Errorf("%s: %v", infra, err)
			}
		}
	}
}
