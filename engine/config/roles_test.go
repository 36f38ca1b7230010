package config

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The hosts of a pool use the documents of its roles, and those without a role.
func TestRoles(t *testing.T) {
	machine := func(role string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("kind: MachineConfig\nmetadata: {name: 99-" + role + ", labels: {machineconfiguration.openshift.io/role: " + role + "}}\nspec: {kernelArguments: [" + role + "=1]}\n")}
	}
	files := fstest.MapFS{
		"all/a.yaml": machine("master"), "all/b.yaml": machine("worker"), "all/c.yaml": machine("infra"),
		"all/d.bu":     {Data: []byte("variant: fcos\nversion: 1.5.0\nkernel_arguments: {should_exist: [plain=1]}\n")},
		"infra/a.yaml": machine("infra"),
	}
	load := func(roles ...string) (string, error) {
		loaded, err := Load(Source{FS: files, Paths: []string{"all"}, Roles: roles})
		return strings.Join(loaded.Config.KernelArgs, " "), err
	}
	for want, roles := range map[string][]string{"worker=1 plain=1": {"worker"}, "master=1 plain=1": {"master"}, "worker=1 infra=1 plain=1": {"worker", "infra"}} {
		if got, err := load(roles...); err != nil || got != want {
			t.Errorf("%v: %q, %v, want %q", roles, got, err, want)
		}
	}
	if _, err := load(); err == nil || !strings.Contains(err.Error(), "config_roles") {
		t.Errorf("all roles: %v", err)
	}
	loaded, err := Load(Source{FS: files, Root: "/srv", Paths: []string{"all", "infra", "own"}, Roles: []string{"infra"}, Texts: map[string]Text{"own": {Name: "own.yaml", Data: string(bytes.ReplaceAll(machine("infra").Data, []byte("99-"), []byte("98-")))}}})
	want := []RoleUse{{"/srv/all", "master", 1, false}, {"/srv/all", "worker", 1, false}, {"/srv/all", "infra", 1, true}, {"/srv/infra", "infra", 1, true}, {"own", "infra", 1, true}}
	if err != nil || !slices.Equal(loaded.Roles, want) {
		t.Errorf("roles %v, %v, want %v", loaded.Roles, err, want)
	}
	var list Errors
	if _, err := Load(Source{FS: files, Paths: []string{"infra"}, Roles: []string{"worker"}}); !errors.As(err, &list) || len(list) != 1 {
		t.Errorf("no document of the role: %v", err)
	}
}
