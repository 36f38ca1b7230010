package desired

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/inventory"
)

// configsIn reads the inventory site.hcl of a folder.
func configsIn(t testing.TB, dir string) *Configs {
	t.Helper()
	root := os.DirFS("/")
	loaded, err := inventory.Load(inventory.Source{FS: root, Root: "/", Paths: []string{strings.TrimPrefix(dir, "/") + "/site.hcl"}})
	if err != nil {
		t.Fatal(err)
	}
	return NewConfigs(loaded, root)
}

// fleetOfConfigs returns a site of hosts of one pool with a folder of
// documents; with own, each host also has a document of its own.
func fleetOfConfigs(t testing.TB, hosts int, own bool) *Configs {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "base"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		write(fmt.Sprintf("base/%d.bu", i), fmt.Sprintf("variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /etc/%d, contents: {inline: x}}]}\n", i))
	}
	document := ""
	if own {
		document = `  config "own.bu" { content = "variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /etc/hostname, contents: {inline: w-${id}}}]}\n" }` + "\n"
	}
	write("site.hcl", fmt.Sprintf("site \"s\" {}\npool \"w\" { configs = [\"base\"] }\nhosts \"w\" {\n  range   = \"1-%d\"\n  address = \"w-${id}\"\n  pool    = \"w\"\n%s}\n", hosts, document))
	return configsIn(t, dir)
}

// TestHostsShareConfigurations checks that hosts with the same documents share
// the result.
func TestHostsShareConfigurations(t *testing.T) {
	desired, err := fleetOfConfigs(t, 1000, false).States()
	if err != nil || desired["w-1"].Config == nil || desired["w-1"].Config != desired["w-1000"].Config {
		t.Errorf("%v: hosts with the same documents have configurations of their own", err)
	}
	if d := desired["w-1"]; len(d.Config.Files) != 10 || d.Config.Files[0].Contents != nil || string(d.Contents[d.Config.Files[0].Digest]) != "x" {
		t.Errorf("not compact: %+v", d)
	}
	desired, err = fleetOfConfigs(t, 3, true).States()
	if err != nil || desired["w-1"].Config == desired["w-2"].Config || len(desired["w-3"].Config.Files) != 11 {
		t.Errorf("%v: hosts with documents of their own share them", err)
	}
}

// TestOSOfTheDocuments checks that the OS image of a MachineConfig applies only
// to the hosts with that document.
func TestOSOfTheDocuments(t *testing.T) {
	dir := t.TempDir()
	image := "quay.example/os@sha256:" + strings.Repeat("4", 64)
	for name, text := range map[string]string{
		"site.hcl": "site \"s\" {}\npool \"w\" {\n  os { driver = \"rpm-ostree\" }\n}\nhost \"a\" {\n  address = \"a\"\n  pool = \"w\"\n  configs = [\"os.yaml\"]\n}\nhost \"b\" {\n  address = \"b\"\n  pool = \"w\"\n}\n",
		"os.yaml":  "kind: MachineConfig\nmetadata: {name: a}\nspec: {osImageURL: " + image + "}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := configsIn(t, dir).States()
	if err != nil {
		t.Fatal(err)
	}
	if d["a"].OS.Image != image || d["b"].OS.Image != "" || d["a"].OS.Driver != "rpm-ostree" {
		t.Errorf("%+v %+v", d["a"].OS, d["b"].OS)
	}
}

func BenchmarkDesired(b *testing.B) {
	for _, own := range []bool{false, true} {
		b.Run(fmt.Sprintf("hosts=1000/own=%t", own), func(b *testing.B) {
			for b.Loop() {
				if _, err := fleetOfConfigs(b, 1000, own).States(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDocumentsLeaveTheFolderOfKeysAlone checks that no document of a member
// writes into the folder in which holdfast keeps the keys and certificates of
// its cluster. The same document may do so on other hosts.
func TestDocumentsLeaveTheFolderOfKeysAlone(t *testing.T) {
	const document = `variant: fcos
version: 1.5.0
storage:
  files:
    - path: /etc/etcd/keys/ca.crt
      contents: {inline: x}
    - path: /etc/etcd/keys-of-mine
      contents: {inline: x}
  links:
    - path: /srv/key
      target: /etc/etcd/keys/peer.key
      hard: true
`
	const ca = "  manage = true\n  ca {\n    cert = \"ca.crt\"\n    key = \"ca.key\"\n    folder = \"/etc/etcd/keys\"\n  }\n"
	for name, c := range map[string]struct{ cluster, host, refused string }{
		"a member":         {ca, "  etcd_cluster = \"main\"\n", "e.bu:5:13: storage.files[0].path: is where holdfast keeps"},
		"another host":     {ca, "", ""},
		"keys of somebody": {"", "  etcd_cluster = \"main\"\n", ""},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"site.hcl": "site \"s\" {}\npool \"e\" {}\nhost \"a\" {\n  address = \"192.0.2.1\"\n  pool = \"e\"\n  configs = [\"e.bu\"]\n" + c.host + "}\n" +
				"host \"b\" {\n  address = \"192.0.2.2\"\n  pool = \"e\"\n  etcd_cluster = \"main\"\n}\netcd_cluster \"main\" {\n" + c.cluster + "}\n",
			"e.bu": document,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := configsIn(t, dir).States()
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "e.bu:11:15: storage.links[0].target") || strings.Count(err.Error(), "\n") != 1) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLocalFilesOfTheSite checks that a Butane document takes its local files
// only from the folder of the inventory, and from its own folder if it is outside:
// files above may be secrets of the operator.
func TestLocalFilesOfTheSite(t *testing.T) {
	for name, c := range map[string]struct {
		document, local string
		file            string // that exists, "" for none; relative to the folder that contains the site
		isRefused       bool
	}{
		"beside the document":                 {"site/configs/doc.bu", "files/a", "site/configs/files/a", false},
		"beside the inventory":                {"site/configs/doc.bu", "files/a", "site/files/a", false},
		"above the inventory":                 {"site/configs/doc.bu", "files/a", "files/a", true},
		"a key of the operator":               {"site/configs/doc.bu", ".ssh/id_ed25519", ".ssh/id_ed25519", true},
		"a file of the machine":               {"site/configs/doc.bu", "etc/hostname", "", true},
		"beside a document outside":           {"shared/doc.bu", "files/a", "shared/files/a", false},
		"above a document outside":            {"shared/base/doc.bu", "files/a", "shared/files/a", true},
		"outside, in a folder of like a name": {"site-2/base/doc.bu", "files/a", "site-2/files/a", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{
				"site/site.hcl": "site \"s\" {}\npool \"w\" {}\nhost \"a\" {\n  address = \"a\"\n  pool = \"w\"\n  configs = [\"../" + c.document + "\"]\n}\n",
				c.document:      "variant: fcos\nversion: 1.5.0\nstorage:\n  files:\n    - path: /etc/a\n      contents: {local: " + c.local + "}\n",
			}
			if c.file != "" {
				files[c.file] = "contents"
			}
			for name, text := range files {
				p := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := configsIn(t, filepath.Join(dir, "site")).States()
			want := filepath.Join(dir, c.document) + ":6:25: storage.files[0].contents.local: names a local file that does not exist"
			switch {
			case c.isRefused && (err == nil || !strings.HasPrefix(err.Error(), want)):
				t.Errorf("%v, want %s", err, want)
			case !c.isRefused && (err != nil || len(d["a"].Config.Files) != 1):
				t.Errorf("%v %+v", err, d["a"].Config)
			}
		})
	}
}
