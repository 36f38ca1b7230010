package ansible

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestMistakes checks that all mistakes of an inventory are reported at once,
// each with its position.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"ini": {"hosts.ini", "[a b]\n[web]\nw[1:3 x=1\n  w2 what\nw3 x='\nw[5:1:0]\nw[01:100]\nw[a:]\n[web:hostz]\n[ghost:vars]\nx=1\nnothing\n[up:children]\nmissing\n", `
hosts.ini:1:1: is no section; write [GROUP], [GROUP:children] or [GROUP:vars] without spaces
hosts.ini:3:1: "w[1:3": a range has no closing bracket
hosts.ini:4:6: is no variable; write NAME=VALUE, and quote values with spaces
hosts.ini:5:1: a quotation mark is missing
hosts.ini:6:1: "w[5:1:0]": range [5:1:0]: the step is a whole number from 1, of at most 9 digits
hosts.ini:7:1: "w[01:100]": range [01:100]: with zeros in front, both ends need as many digits
hosts.ini:8:1: "w[a:]": range [a:] has no end
hosts.ini:9:1: section [web:hostz] is of an unknown type; there are [GROUP], [GROUP:children] and [GROUP:vars]
hosts.ini:10:1: group "ghost" has variables and no section of its own; add [ghost], or remove the variables
hosts.ini:12:1: is no variable; write NAME=VALUE
hosts.ini:14:1: up includes group "missing", which has no section; add [missing], or remove the line`},
		"circle": {"hosts", "[a:children]\nb\n[b:children]\na\n", `
hosts:4:1: group "a" contains itself through "b"; remove one of them from the other`},
		"yaml": {"hosts.yaml", "all:\n  hosts:\n    - a\n    - b\n  children:\n    web:\n      hosts:\n        a: 7\n        'w[1': {}\n        a:\n", `
hosts.yaml:3:5: hosts of group all is not an object; write each name with a colon, and no dash
hosts.yaml:8:9: the variables of host "a" are no object; write NAME: VALUE below it
hosts.yaml:9:9: "w[1": a range has no closing bracket
hosts.yaml:10:9: "a" is there twice; keep one`},
		"not yaml": {"hosts.yaml", "all:\n  hosts: [\n", `
hosts.yaml:2:1: is not valid YAML here; check indentation, quotes and colons`},
		"list": {"hosts.yml", "- hosts: all\n", `
hosts.yml:1:1: an inventory is an object of groups; this is not one`},
		"plugin": {"aws_ec2.yml", "---\nplugin: amazon.aws.aws_ec2\nregions: [x]\n", `
aws_ec2.yml:2:1: the file configures an inventory plugin, which holdfast cannot run; write its result into a file (ansible-inventory -i aws_ec2.yml --list --yaml --output hosts.yaml), and name that file`},
		"program": {"hosts", "#!/usr/bin/env python3\n", `
hosts:1:1: the inventory is a program; write its result into a file (ansible-inventory -i hosts --list --yaml --output hosts.yaml), and name that file`},
		"vault": {"hosts", "$ANSIBLE_VAULT;1.1;AES256\n6162\n", `
hosts:1:1: the file is encrypted with ansible-vault; decrypt a copy of it`},
		"script": {"hosts.json", `{"_meta": {"hostvars": {}}}`, `
hosts.json:1:2: the file is the JSON of a script; write it as an inventory (ansible-inventory -i hosts.json --list --yaml --output hosts.yaml), and name that file`},
		"toml":   {"hosts.toml", "[a]\n", "\nhosts.toml:1:1: TOML is not supported; write the inventory as YAML (ansible-inventory -i hosts.toml --list --yaml --output hosts.yaml), and name that file"},
		"bytes":  {"hosts", "[a]\nb x=\xff\n", "\nhosts:2:1: is not UTF-8 text; save it as UTF-8"},
		"colon":  {"hosts.cfg", "all:\n", "\nhosts.cfg:1:1: \"all:\": a host does not end with a colon; in a YAML file, name it .yaml"},
		"many":   {"hosts", "w[1:100001]\n", "\nhosts:1:1: \"w[1:100001]\": range [1:100001] has more than 100000 hosts"},
		"square": {"hosts", "w[1:1000]-[1:1000]\n", "\nhosts:1:1: \"w[1:1000]-[1:1000]\": has more than 100000 hosts"},
		"two":    {"hosts.yaml", "a:\n---\nb:\n", "\nhosts.yaml:2:1: begins a second document; an inventory has one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(Source{FS: fstest.MapFS{c.file: {Data: []byte(c.text)}}, Name: c.file})
			var all Errors
			if !errors.As(err, &all) || "\n"+err.Error() != c.want {
				t.Errorf("got\n%v\nwant%s", err, c.want)
			}
		})
	}
}

// TestBombs checks that inventories which expand without end are refused
// soon.
func TestBombs(t *testing.T) {
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 {hosts: {h0: {}}}\n")
	for i := 1; i < 30; i++ {
		prev := string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		if i == 1 {
			prev = "0"
		}
		name := string(rune('0'+i/10)) + string(rune('0'+i%10))
		aliases.WriteString("a" + name + ": &a" + name + " {children: {x" + name + ": *a" + prev + ", y" + name + ": *a" + prev + "}}\n")
	}
	var ranges strings.Builder
	for i := range 200 {
		ranges.WriteString("h" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "[1:99999]\n")
	}
	for name, text := range map[string]string{
		"aliases.yaml": aliases.String(),
		"itself.yaml":  "a: &a\n  children:\n    b: *a\n",
		"merge.yaml":   "a: &a\n  <<: *a\n",
		"ranges":       ranges.String(),
		"groups":       strings.Repeat("[g]\n", maxVisits+1),
		"digits":       "w[" + strings.Repeat("0", 1_000_000) + ":" + strings.Repeat("9", 1_000_000) + "]\n",
		"a long step":  "w[5:9:9223372036854775807]\n",
		"far letters":  "w[f:h:9223372036854775807]\n",
		"long numbers": "w[0000000001:0000099999]\n",
		"many ranges":  "w" + strings.Repeat("[0:1]", 100) + "\n",
		"empty ranges": "w" + strings.Repeat("[0:0]", 100_000) + "\n",
		"a long tail":  "w[1:99999]" + strings.Repeat("x", 1_000_000) + "\n",
		"commas.yaml":  "a: [" + strings.Repeat("1,", maxVisits+1) + "1]\n",
	} {
		_, err := Read(Source{FS: fstest.MapFS{name: {Data: []byte(text)}}, Name: name})
		var all Errors
		if !errors.As(err, &all) {
			t.Errorf("%s: %.1000v", name, err)
		}
	}
}

// TestFirstVariableFile checks that of several files with the variables of one
// name, only the one that Ansible reads counts, and that the others are named.
func TestFirstVariableFile(t *testing.T) {
	inv, err := Read(Source{Name: "hosts", FS: fstest.MapFS{
		"hosts":                   {Data: []byte("[web]\na.example\n")},
		"group_vars/all.yaml":     {Data: []byte("x: all.yaml\n")},
		"group_vars/all.json":     {Data: []byte("{\"x\": \"all.json\", \"only_json\": 1}\n")},
		"group_vars/web/a.yml":    {Data: []byte("y: web/a.yml\n")},
		"group_vars/web.yml":      {Data: []byte("y: web.yml\n")},
		"host_vars/a.example":     {Data: []byte("z: a.example\n")},
		"host_vars/a.example.yml": {Data: []byte("z: a.example.yml\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	vars := inv.Hosts[0].Variables
	if vars["x"].Text != "all.yaml" || vars["y"].Text != "web/a.yml" || vars["z"].Text != "a.example" || vars["only_json"].Text != "" {
		t.Errorf("%+v", vars)
	}
	var got []string
	for _, r := range inv.Remarks {
		got = append(got, r.String())
	}
	want := `group_vars/all.json:1:1: is ignored, as in Ansible: group_vars/all.yaml already sets the variables of this group; merge the two files
group_vars/web.yml:1:1: is ignored, as in Ansible: group_vars/web already sets the variables of this group; merge the two files
host_vars/a.example.yml:1:1: is ignored, as in Ansible: host_vars/a.example already sets the variables of this host; merge the two files`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestRemarks checks that parts without an effect are named.
func TestRemarks(t *testing.T) {
	inv, err := Read(Source{Root: "/srv/", Name: "hosts.yaml", FS: fstest.MapFS{
		"hosts.yaml":          {Data: []byte("web:\n  hosts: {a: {}}\n  gropus: {}\nnote: text\n")},
		"group_vars/web":      {Data: []byte("$ANSIBLE_VAULT;1.1;AES256\n")},
		"group_vars/nobody":   {Data: []byte("x: 1\n")},
		"host_vars/a/b.yml":   {Data: []byte("x: !vault |\n  $ANSIBLE_VAULT;1.1\ny: 2\n")},
		"host_vars/a/note.md": {Data: []byte("# x")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range inv.Remarks {
		got = append(got, r.String())
	}
	want := `/srv/group_vars/nobody:1:1: no group of the inventory has this name; its variables have no effect
/srv/group_vars/web:1:1: the file is encrypted with ansible-vault; its variables were not read
/srv/hosts.yaml:3:3: group web: "gropus" is none of hosts, children and vars; Ansible skips it, too
/srv/hosts.yaml:4:1: "note" is no group, because it is no object; Ansible skips it, too`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if v := inv.Hosts[0].Variables; v["x"].Kind != Secret || v["y"].Text != "2" {
		t.Errorf("%+v", v)
	}
}

// TestTooManyVariableFiles checks that the limit counts the entries of all folders, and that exceeding it is one error.
func TestTooManyVariableFiles(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"hosts": {Data: []byte("[web]\na\nb\n")}}
	for i := range maxVarFiles/2 + 1 {
		for _, folder := range []string{"group_vars/web", "host_vars/a", "host_vars/b"} {
			files[fmt.Sprintf("%s/%d.txt", folder, i)] = &fstest.MapFile{}
		}
	}
	_, err := Read(Source{FS: files, Name: "hosts"})
	if want := "host_vars/a:1:1: group_vars and host_vars have more than 20000 files and folders; split the inventory"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// TestLinks checks that links in group_vars and host_vars are followed as in Ansible, and that circles end.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755), os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, file string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755), os.Symlink(target, filepath.Join(dir, file))); err != nil {
			t.Fatal(err)
		}
	}
	write("site/hosts", "[web]\na\n[db]\nb\n")
	write("common/all/a.yml", "x: 1\n")
	write("common/all/sub/b.yml", "y: 2\n")
	write("common/all/sub.d/c.yml", "ignored: 3\n")
	write("common/deep/d.yml", "z: 4\n")
	write("common/web.yml", "w: 5\n")
	link("../../common/all", "site/group_vars/all")
	link("../deep", "common/all/deep")
	link("../../common/web.yml", "site/group_vars/web.yml")
	link("missing", "site/group_vars/db.yml")
	link("missing", "site/group_vars/.db")
	link("../../common/deep", "site/host_vars/a")
	read := func() (Inventory, string, error) {
		inv, err := Read(Source{FS: os.DirFS(dir), Name: "site/hosts"})
		var remarks []string
		for _, r := range inv.Remarks {
			remarks = append(remarks, r.String())
		}
		return inv, strings.Join(remarks, "\n"), err
	}
	inv, remarks, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(inv.Hosts[0].Variables)); !slices.Equal(got, []string{"w", "x", "y", "z"}) {
		t.Errorf("variables %v", got)
	}
	if remarks != "site/group_vars/db.yml:1:1: is a link that cannot be followed (no such file or directory); Ansible ignores it, too" {
		t.Error(remarks)
	}
	link(".", "common/all/circle")
	if _, _, err = read(); err == nil || err.Error() != "site/group_vars/all:1:1: cannot be read: folders are nested more than 10 deep; a link may lead in a circle" {
		t.Error(err)
	}
}
