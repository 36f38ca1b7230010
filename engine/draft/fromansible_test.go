package draft_test

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine/draft"
)

func readAnsible(t *testing.T, text string) draft.Draft {
	t.Helper()
	s := draft.FromAnsible(parseAnsible(t, text))
	s.Name, s.Source = "berlin", "hosts"
	d, err := draft.Make(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestConnections checks how each variable of Ansible becomes a setting of
// SSH, and that each one that does not is named.
func TestConnections(t *testing.T) {
	for variable, want := range map[string]struct{ setting, without, remark string }{
		"ansible_host=10.0.0.1":                                    {setting: `address = "10.0.0.1"`},
		"ansible_ssh_host=10.0.0.1 ansible_host=10.9.9.9":          {setting: `address = "10.0.0.1"`},
		"ansible_host={{x}}":                                       {remark: "ansible_host is a template of Jinja"},
		"ansible_user=core":                                        {setting: `user = "core"`},
		"ansible_ssh_user=core":                                    {setting: `user = "core"`},
		"ansible_ssh_user=core ansible_user=ann":                   {setting: `user = "core"`},
		"ansible_ssh_port=2222 ansible_port=22":                    {setting: `port = 2222`},
		"ansible_user={{x}}":                                       {remark: "ansible_user is a template of Jinja"},
		"ansible_port=2222":                                        {setting: `port = 2222`},
		"ansible_ssh_port=2222":                                    {setting: `port = 2222`},
		"ansible_port=ssh":                                         {remark: "ansible_port is not a number from 1 to 65535"},
		"ansible_ssh_private_key_file=~/.ssh/id":                   {setting: `identity = "~/.ssh/id"`},
		"ansible_ssh_private_key_file=keys/id":                     {remark: "not an absolute path"},
		"ansible_become=yes":                                       {setting: `become = "sudo"`},
		"ansible_become=no":                                        {setting: `become = "sudo"`},
		"ansible_become=true ansible_become_method=su":             {remark: "it is not sudo"},
		"ansible_become=true ansible_become_user=admin":            {remark: "it is not root"},
		"ansible_become_pass=geheim":                               {remark: "a password is never taken over"},
		"ansible_password=geheim":                                  {remark: "a password is never taken over"},
		"ansible_connection=local":                                 {remark: "ansible_connection is not ssh"},
		"ansible_connection=ssh":                                   {},
		"ansible_python_interpreter=/usr/bin/python3":              {},
		"ansible_ssh_common_args='-J ops@gate:2222'":               {setting: `proxy_jump = "ops@gate:2222"`},
		`ansible_ssh_common_args='-o ProxyJump="ops@gate"'`:        {setting: `proxy_jump = "ops@gate"`},
		"ansible_ssh_extra_args=-oProxyJump=gate":                  {setting: `proxy_jump = "gate"`},
		"ansible_ssh_common_args='-o StrictHostKeyChecking=no'":    {remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args='-o ProxyCommand=\"ssh -W x y\"'": {remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args='-o StrictHostKeyChecking=no -o ProxyJump=ops@gate'": {setting: `proxy_jump = "ops@gate"`, remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args='-AC -vvv -i key -F other -Jgate -oPort=7'":          {setting: `proxy_jump = "gate"`, remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_args='-C -o \"ProxyJump gate\"'":                                 {setting: `proxy_jump = "gate"`, remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args='-4J gate -J other'":                                 {setting: `proxy_jump = "gate"`, remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args='-J gate -P x'":                                      {setting: `proxy_jump = "gate"`, remark: "the first unknown one and all after it were not read"},
		"ansible_ssh_common_args='-P x -J gate'":                                      {without: "gate", remark: "the first unknown one and all after it were not read"},
		"ansible_ssh_common_args='word -J gate'":                                      {without: "gate", remark: "the first unknown one and all after it were not read"},
		"ansible_ssh_common_args='-- -J gate'":                                        {without: "gate", remark: "the first unknown one and all after it were not read"},
		"ansible_ssh_common_args='-C -J'":                                             {without: "proxy_jump", remark: "the first unknown one and all after it were not read"},
		"ansible_ssh_common_args='-J %r@gate'":                                        {without: "gate", remark: "the jump host is not a plain name"},
		"ansible_ssh_common_args='-J \"gate'":                                         {without: "gate", remark: "a quotation mark is missing"},
		"ansible_ssh_common_args='-o ProxyCommand=\"ssh -W %h:%p -J gate x\"'":        {without: "gate", remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args='-o ProxyCommand=x -o ProxyJump=gate'":               {without: "gate", remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args='-oproxycommand=x' ansible_ssh_extra_args='-J gate'": {without: "gate", remark: "only -J HOST and -o ProxyJump=HOST"},
		"ansible_ssh_common_args=''":                                                  {},
		"http_port=80":                                                                {remark: "variable http_port is not taken over"},
	} {
		d := readAnsible(t, "[web]\nok\na "+variable+"\n")
		text := strings.Join(strings.Fields(d.Text), " ")
		if want.setting != "" && !strings.Contains(text, want.setting) {
			t.Errorf("%s: no %s in\n%s", variable, want.setting, d.Text)
		}
		if want.without != "" && strings.Contains(text, want.without) {
			t.Errorf("%s: %s in\n%s", variable, want.without, d.Text)
		}
		if all := strings.Join(d.Remarks, "\n"); want.remark == "" && all != "" || !strings.Contains(all, want.remark) || strings.Contains(all+d.Text, "geheim") {
			t.Errorf("%s: remarks\n%s", variable, all)
		}
		load(t, d.Text)
	}
}

// TestPools checks that the pool of a host is the first group of the file that
// lists it, and that nothing is inferred from the name of a group.
func TestPools(t *testing.T) {
	d := readAnsible(t, "lonely\n[dc:children]\nworkers\n[rack_a:vars]\nansible_pipelining=1\n[etcd]\ne-[0:2]\n[workers]\ne-0\nw-[1:3]\n[rack_a]\nw-[1:2]\n")
	inv := load(t, d.Text)
	if len(inv.Clusters) != 0 {
		t.Errorf("a cluster was inferred: %+v", inv.Clusters)
	}
	pools := map[string]string{}
	for _, h := range inv.Hosts {
		pools[h.Name] = h.Pool
	}
	for host, pool := range map[string]string{"lonely": "ungrouped", "e-0": "etcd", "e-1": "etcd", "w-1": "workers"} {
		if pools[host] != pool {
			t.Errorf("%s is in pool %s", host, pools[host])
		}
	}
	want := `hosts:7:1: e-0: pool etcd; not in workers, because a host has one pool: the first group in the file that lists it
hosts:10:1: w-[1-2]: pool workers; not in rack_a, because a host has one pool: the first group in the file that lists it
hosts:2:1: group dc only contains groups, and is not taken over; select its hosts with -l 'workers:e-0'`
	if got := strings.Join(d.Remarks, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLeftOutHostsAreFolded checks that a range of hosts is left out with one remark.
func TestLeftOutHostsAreFolded(t *testing.T) {
	d := readAnsible(t, "ok\n[web]\nw[001:120].example ansible_host='10.1.0.{{ n }}'\n")
	want := `hosts:3:1: left out, because of the remarks about their variables: w[001-120].example
hosts:3:20: ansible_host is a template of Jinja, which is not evaluated; set the argument of holdfast by hand`
	if got := strings.Join(d.Remarks, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestUnknownWays checks that a host whose port or jump host is not known is not taken for another host
// at its address, and none of them is kept as if it were known.
func TestUnknownWays(t *testing.T) {
	const arguments, template = "arguments of ssh: only -J HOST and -o ProxyJump=HOST are taken over; write the others into ssh_config", "is a template of Jinja, which is not evaluated; set the argument of holdfast by hand"
	for name, c := range map[string]struct {
		text    string
		hosts   []string
		remarks string
	}{
		"a range": {"vm[1:3] ansible_host=gw ansible_port='{{ 2200+n }}'\n", []string{"ok"}, `
hosts:2:25: ansible_port ` + template + `
hosts:2:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: vm[1-3]`},
		"one of two": {"a ansible_host=gw\nb ansible_host=GW ansible_ssh_common_args='-o ProxyCommand=x'\n", []string{"ok", "a"}, `
hosts:3:19: ` + arguments + `
hosts:3:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: b`},
		"the first": {"a ansible_host=gw ansible_ssh_common_args='{{ x }}'\nb ansible_host=gw\nc ansible_host=gw\n", []string{"ok", "b"}, `
hosts:2:19: ansible_ssh_common_args ` + template + `
hosts:4:1: host c is left out: it has the address of b, so it is the same machine
hosts:2:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: a`},
		"port by an argument": {"a ansible_host=gw ansible_ssh_args='-p 7'\nb ansible_host=gw ansible_ssh_args='-o Port=8'\nc ansible_host=gw ansible_ssh_args=-C\n", []string{"ok", "c"}, `
hosts:2:19: ` + arguments + `
hosts:3:19: ` + arguments + `
hosts:4:19: ` + arguments + `
hosts:2:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: a
hosts:3:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: b`},
		"the older name": {"a ansible_host=gw ansible_port='{{ x }}' ansible_ssh_port=7\nb ansible_host=gw\n", []string{"ok", "a", "b"}, `
hosts:2:19: ansible_port ` + template},
		"another port is known": {"a ansible_host=gw ansible_port='{{ x }}'\nb ansible_host=GW. ansible_port=7\nc ansible_host=gw ansible_port=8\n", []string{"ok", "b", "c"}, `
hosts:2:19: ansible_port ` + template + `
hosts:2:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: a`},
		"a jump host is known": {"a ansible_host=gw ansible_ssh_args='{{ x }}'\nb ansible_host=gw ansible_ssh_args='-J gate'\n", []string{"ok", "b"}, `
hosts:2:19: ansible_ssh_args ` + template + `
hosts:2:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: a`},
		"after an unknown argument": {"a ansible_host=gw ansible_ssh_args='-J gate --x -p 7'\nb ansible_host=gw ansible_ssh_args='-J gate'\n", []string{"ok", "b"}, `
hosts:2:19: arguments of ssh: the first unknown one and all after it were not read; if they have a jump host, set proxy_jump by hand. Write the others into ssh_config
hosts:2:1: left out, because their port or jump host is not known and other hosts have their address; add them by hand: a`},
		"the only one": {"a ansible_host=gw ansible_port='{{ x }}'\n", []string{"ok", "a"}, `
hosts:2:19: ansible_port ` + template},
	} {
		d := readAnsible(t, "ok\n"+c.text)
		var hosts []string
		for _, h := range load(t, d.Text).Hosts {
			hosts = append(hosts, h.Name)
		}
		if got := "\n" + strings.Join(d.Remarks, "\n"); !slices.Equal(hosts, c.hosts) || got != c.remarks {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, hosts, got, c.remarks)
		}
	}
}
