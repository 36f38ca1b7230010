package engine_test

import "testing"

// commands lists the packages that each package of a command imports, besides
// those that every package may import and those of its own folder, with the
// reason for each. The packages that these lists lack are used by other
// packages only.
var commands = map[string]map[string]string{
	"cmd/holdfast": {
		"holdfast/engine/ansible":             "init reads an inventory of Ansible",
		"holdfast/engine/draft":               "init writes an inventory",
		"holdfast/engine/remote/sshconfig":    "init lists the hosts of an ssh_config",
		"holdfast/engine/bastion":             "who runs the command, on which machine, with which passwords",
		"holdfast/engine/config":              "diff reads documents that no inventory names",
		"holdfast/engine/connection":          "hosts and clusters are reached through its connections",
		"holdfast/engine/content":             "hosts fetch contents from its server",
		"holdfast/engine/content/regular":     "a file of metrics is read only if it is a regular one",
		"holdfast/engine/content/mirror":      "the command mirror fills a mirror",
		"holdfast/engine/desired":             "plan, apply and render need the desired states of hosts",
		"holdfast/engine/etcd":                "the results of etcd snapshot and etcd endpoints",
		"holdfast/engine/etcd/change":         "the commands etcd members and etcd restore",
		"holdfast/engine/etcd/hook":           "etcd endpoints runs the hook that is due",
		"holdfast/engine/etcd/issuer":         "it issues the certificates of new members, and checks the files of their CA",
		"holdfast/engine/etcd/membership":     "etcd members plans the steps of a change",
		"holdfast/engine/etcd/restore":        "etcd restore plans its steps",
		"holdfast/engine/event":               "sinks of events, and the start of a run",
		"holdfast/engine/filediff":            "plan and diff show the contents of files",
		"holdfast/engine/forecast":            "plan and apply tell how long a roll-out takes",
		"holdfast/engine/hostpattern":         "--limit and the names of hosts",
		"holdfast/engine/hold":                "hold and release show the errors of its keeper",
		"holdfast/engine/hostscript":          "plan --diff reads files by script",
		"holdfast/engine/input":               "files that flags name",
		"holdfast/engine/inventory":           "every command reads the inventory",
		"holdfast/engine/journal":             "runs keep a journal, and runs lists them",
		"holdfast/engine/kube":                "Kubernetes clusters are asked through its clients",
		"holdfast/engine/kubefacts":           "validate tells a missing kubeconfig from a wrong one",
		"holdfast/engine/maintenance":         "hold and release are requests of a person",
		"holdfast/engine/planner":             "status and hold judge the facts of hosts",
		"holdfast/engine/playbook":            "apply and plan read a playbook",
		"holdfast/engine/remote":              "options of SSH",
		"holdfast/engine/report":              "sinks, and the sentence at the end",
		"holdfast/engine/privatefile":         "a report replaces a file, and is private by default; a file of metrics is public",
		"holdfast/engine/report/htmlview":     "report makes the page of a run",
		"holdfast/engine/report/lines":        "output without a terminal",
		"holdfast/engine/power":               "power chooses the controller of each host",
		"holdfast/engine/redfish":             "power switches through BMCs",
		"holdfast/engine/report/live":         "output on a terminal",
		"holdfast/engine/report/membersview":  "output of a change of members",
		"holdfast/engine/report/metrics":      "apply, plan and status write metrics",
		"holdfast/engine/report/planview":     "output of plan and diff",
		"holdfast/engine/report/tables":       "output of status, etcd status, holds and runs",
		"holdfast/engine/report/termtext":     "the style of a terminal",
		"holdfast/engine/resource":            "render writes a configuration, and diff compares two",
		"holdfast/engine/rollout":             "apply and plan start a run",
		"holdfast/engine/rules":               "diff compares two configurations",
		"holdfast/engine/savedplan":           "plan saves a plan, and apply reads it",
		"holdfast/engine/standing":            "holds and etcd members judge the standing of hosts",
		"holdfast/engine/web":                 "gates and contents are fetched with its client",
		"holdfast/engine/wire":                "--json prints its JSON",
		"holdfast/modules":                    "the modules of a run",
		"holdfast/modules/hoststate":          "init --look finds the etcd and the kubelet of hosts",
		"holdfast/modules/hostconfig/observe": "its script reads the files that plan shows",
		"holdfast/modules/hostconfig/record":  "render writes the record of a host that is provisioned",
		"holdfast/modules/tasks":              "the modules of a play",
	},
	"cmd/holdfast-lab": {
		"holdfast/engine/event":   "it reads the events of roll-outs",
		"holdfast/engine/journal": "it compares forecasts with journals",
	},
	"cmd/holdfast-lab/internal/bench": {
		"holdfast/cmd/holdfast-lab/internal/disk":  "it measures the disks of hosts",
		"holdfast/cmd/holdfast-lab/internal/idle":  "it measures how busy the machine is",
		"holdfast/cmd/holdfast-lab/internal/image": "it updates to an image",
		"holdfast/cmd/holdfast-lab/internal/lab":   "it measures hosts of the lab",
		"holdfast/cmd/holdfast-lab/internal/probe": "it measures writes of a client",
		"holdfast/cmd/holdfast-lab/internal/site":  "it writes an inventory",
		"holdfast/cmd/holdfast-lab/internal/spec":  "it names hosts and clusters",
		"holdfast/engine/etcd":                     "it reads the metrics of members",
		"holdfast/engine/etcd/metrics":             "it compares two scrapes",
		"holdfast/engine/event":                    "it reads the journal of a run",
	},
	"cmd/holdfast-lab/internal/reboots": {
		"holdfast/cmd/holdfast-lab/internal/image": "it updates to an image",
		"holdfast/cmd/holdfast-lab/internal/lab":   "it measures hosts of the lab",
		"holdfast/cmd/holdfast-lab/internal/probe": "it measures writes of a client",
		"holdfast/cmd/holdfast-lab/internal/site":  "it writes an inventory",
		"holdfast/cmd/holdfast-lab/internal/spec":  "it names hosts and clusters",
		"holdfast/engine/event":                    "it reads the events of a run",
	},
	"cmd/holdfast-lab/internal/demo": {
		"holdfast/cmd/holdfast-lab/internal/idle":  "a busy machine explains short delays",
		"holdfast/cmd/holdfast-lab/internal/image": "hosts that soft reboot need an image with the same kernel",
		"holdfast/cmd/holdfast-lab/internal/lab":   "it works on hosts of the lab",
		"holdfast/cmd/holdfast-lab/internal/probe": "it shows the writes of a client",
		"holdfast/cmd/holdfast-lab/internal/site":  "it allows soft reboots in the inventory",
		"holdfast/cmd/holdfast-lab/internal/spec":  "it names clusters",
	},
	"cmd/holdfast-lab/internal/host": {
		"holdfast/cmd/holdfast-lab/internal/disk":  "a host has a disk",
		"holdfast/cmd/holdfast-lab/internal/image": "a host boots an image",
		"holdfast/cmd/holdfast-lab/internal/netns": "a host has a network",
		"holdfast/cmd/holdfast-lab/internal/pki":   "a host has keys",
		"holdfast/cmd/holdfast-lab/internal/spec":  "a host has a specification",
	},
	"cmd/holdfast-lab/internal/idle": {
		"holdfast/cmd/holdfast-lab/internal/lab": "it measures clusters of the lab",
	},
	"cmd/holdfast-lab/internal/kubernetes": {
		"holdfast/cmd/holdfast-lab/internal/pki":  "an API server has keys",
		"holdfast/cmd/holdfast-lab/internal/spec": "an API server has an address of the specification",
	},
	"cmd/holdfast-lab/internal/lab": {
		"holdfast/cmd/holdfast-lab/internal/kubernetes": "the hosts of a lab may be nodes",
		"holdfast/cmd/holdfast-lab/internal/disk":       "a lab limits disks",
		"holdfast/cmd/holdfast-lab/internal/host":       "a lab has hosts",
		"holdfast/cmd/holdfast-lab/internal/image":      "a lab has images",
		"holdfast/cmd/holdfast-lab/internal/netns":      "a lab has a network",
		"holdfast/cmd/holdfast-lab/internal/pki":        "a lab has certificates",
		"holdfast/cmd/holdfast-lab/internal/probe":      "it starts clients of its clusters",
		"holdfast/cmd/holdfast-lab/internal/serve":      "it serves its repository",
		"holdfast/cmd/holdfast-lab/internal/site":       "it writes its inventory",
		"holdfast/cmd/holdfast-lab/internal/spec":       "a lab has a specification",
		"holdfast/engine/redfish/redfishtest":           "it serves Redfish for its hosts",
	},
	"cmd/holdfast-lab/internal/judge": {
		"holdfast/engine/kube":           "it compares the client of Kubernetes",
		"holdfast/engine/kube/judgetest": "it makes drawn objects, and compares verdicts",
		"holdfast/engine/kube/kubetest":  "drawn objects have its type",
		"holdfast/engine/kubefacts":      "it compares forecasts of drains",
	},
	"cmd/holdfast-lab/internal/netns": {
		"holdfast/cmd/holdfast-lab/internal/spec": "a network has the addresses of the specification",
	},
	"cmd/holdfast-lab/internal/scenario": {
		"holdfast/cmd/holdfast-lab/internal/disk":       "a scenario slows disks",
		"holdfast/cmd/holdfast-lab/internal/idle":       "a busy machine or a slow disk explains short delays",
		"holdfast/cmd/holdfast-lab/internal/image":      "a scenario makes images",
		"holdfast/cmd/holdfast-lab/internal/judge":      "a scenario compares forecasts of drains with Kubernetes",
		"holdfast/cmd/holdfast-lab/internal/kubernetes": "a scenario controls the API server and kubelets",
		"holdfast/cmd/holdfast-lab/internal/lab":        "a scenario works on a lab",
		"holdfast/cmd/holdfast-lab/internal/pki":        "a scenario makes certificates",
		"holdfast/cmd/holdfast-lab/internal/probe":      "a scenario watches clients",
		"holdfast/cmd/holdfast-lab/internal/spec":       "a scenario names a lab",
		"holdfast/cmd/holdfast-lab/internal/terminal":   "a scenario types at a terminal",
		"holdfast/engine/event":                         "a scenario waits for events of a journal",
		"holdfast/engine/hostscript":                    "a scenario quotes values for a shell",
		"holdfast/engine/journal":                       "a scenario measures the transfers of a run",
		"holdfast/engine/report/reporttest":             "the reports of its runs are checked",
	},
	"cmd/holdfast-lab/internal/site": {
		"holdfast/cmd/holdfast-lab/internal/image": "an inventory names an image",
		"holdfast/cmd/holdfast-lab/internal/spec":  "an inventory has the hosts of the specification",
	},
}

// TestCommandsImportListedPackages checks that a package of a command imports
// only packages that commands lists, so that a new edge needs a decision.
func TestCommandsImportListedPackages(t *testing.T) {
	used := map[string]bool{}
	for _, s := range parseSources(t, "cmd") {
		if s.test() {
			continue
		}
		for _, p := range s.imports() {
			used[s.dir+" "+p] = true
			users, listed := neighbours[p]
			common := listed && users == nil
			own := isWithin(p, []string{"holdfast/" + s.dir})
			if isWithin(p, []string{"holdfast"}) && !common && !own && commands[s.dir][p] == "" {
				t.Errorf("%s imports %s; add it to the list of commands with a reason, or let a package of engine do the work", s.path(), p)
			}
		}
	}
	for dir, list := range commands {
		for p := range list {
			if !used[dir+" "+p] {
				t.Errorf("%s does not import %s any more; take it out of the list", dir, p)
			}
		}
	}
}
