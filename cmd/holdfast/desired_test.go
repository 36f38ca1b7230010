package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
)

// TestExamplesAreValid: whole sites to copy, with their documents, are valid
// without a warning.
func TestExamplesAreValid(t *testing.T) {
	t.Setenv("HOLDFAST_VAR_commit", strings.Repeat("4", 64))
	t.Setenv("HOLDFAST_VAR_token", "t0ken")
	documents := 0
	for _, pattern := range []string{"../../inventories/*", "../../examples/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			args := []string{"validate", "-i", p}
			if vars, _ := filepath.Glob(filepath.Join(p, "*.vars")); len(vars) > 0 {
				args = append(args, "--var-file", vars[0])
			}
			if info, err := os.Stat(p); err != nil || !info.IsDir() && filepath.Ext(p) != ".hcl" {
				continue
			}
			code, stdout, stderr := runHoldfast(t, args...)
			if code != engine.ExitOK || stderr != "" {
				t.Errorf("%s: exit %d: %s", p, code, stderr)
			}
			if strings.Contains(stdout, "documents: ") {
				documents++
			}
		}
	}
	if documents == 0 {
		t.Error("no example has a document")
	}
}

// fleetOfConfigs returns a site of hosts of one pool with a folder of
// documents; with own, each host also has a document of its own.
func fleetOfConfigs(t testing.TB, hosts int, own bool) *configs {
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
	a := &app{inventory: []string{filepath.Join(dir, "site.hcl")}}
	loaded, err := a.loadInventory()
	if err != nil {
		t.Fatal(err)
	}
	return a.newConfigs(context.Background(), loaded)
}

// TestHostsShareConfigurations checks that hosts with the same documents share
// the result.
func TestHostsShareConfigurations(t *testing.T) {
	desired, err := fleetOfConfigs(t, 1000, false).desiredStates()
	if err != nil || desired["w-1"].Config == nil || desired["w-1"].Config != desired["w-1000"].Config {
		t.Errorf("%v: hosts with the same documents have configurations of their own", err)
	}
	if d := desired["w-1"]; len(d.Config.Files) != 10 || d.Config.Files[0].Contents != nil || string(d.Contents[d.Config.Files[0].Digest]) != "x" {
		t.Errorf("not compact: %+v", d)
	}
	desired, err = fleetOfConfigs(t, 3, true).desiredStates()
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
	a := &app{inventory: []string{filepath.Join(dir, "site.hcl")}}
	s, err := a.openDesired(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if d := s.run.Desired; d["a"].OS.Image != image || d["b"].OS.Image != "" || d["a"].OS.Driver != "rpm-ostree" {
		t.Errorf("%+v %+v", d["a"].OS, d["b"].OS)
	}
}

func BenchmarkDesired(b *testing.B) {
	for _, own := range []bool{false, true} {
		b.Run(fmt.Sprintf("hosts=1000/own=%t", own), func(b *testing.B) {
			for b.Loop() {
				if _, err := fleetOfConfigs(b, 1000, own).desiredStates(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
