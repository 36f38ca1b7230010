package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// source is one Go file of the project.
type source struct {
	dir   string // folder, from the root of the module
	name  string
	lines int
	tree  *ast.File
	fset  *token.FileSet
}

func (s source) path() string { return path.Join(s.dir, s.name) }

func (s source) test() bool { return strings.HasSuffix(s.name, "_test.go") }

func (s source) imports() []string {
	var paths []string
	for _, i := range s.tree.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// parsed caches the files below each folder. Several tests need the same files,
// and parsing takes most of their time.
var parsed sync.Map

func parseSources(t *testing.T, folders ...string) []source {
	t.Helper()
	var all []source
	for _, folder := range folders {
		once, _ := parsed.LoadOrStore(folder, sync.OnceValues(func() ([]source, error) { return parseFolder(folder) }))
		files, err := once.(func() ([]source, error))()
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	return all
}

func parseFolder(folder string) ([]source, error) {
	var all []source
	err := fs.WalkDir(os.DirFS(".."), folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.Contains(p, "testdata/") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("..", p))
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, p, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{dir: path.Dir(p), name: path.Base(p), lines: strings.Count(string(text), "\n"), tree: tree, fset: fset})
		return nil
	})
	return all, err
}

// forbidden lists the packages through which the functional core could touch
// the world, wait or start a process.
var forbidden = []string{"context", "crypto/rand", "database/sql", "io/ioutil", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall", "testing", "unsafe"}

// allowed lists packages within forbidden ones that only compute.
var allowed = []string{"net/netip"}

func isWithin(pkg string, list []string) bool {
	return slices.ContainsFunc(list, func(f string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") })
}

// core lists the folders without effects.
var core = []string{"engine", "engine/etcd/database", "engine/etcd/membership", "engine/etcd/restore", "engine/etcd/carotation", "engine/etcd/setting", "engine/etcdfacts", "engine/event", "engine/forecast", "engine/governor", "engine/hostpattern", "engine/hostscript", "engine/kubefacts", "engine/maintenance", "engine/planner", "engine/planner/approval", "engine/planner/rebootkind", "engine/resource", "engine/standing", "engine/textutil", "engine/version", "engine/window", "modules", "modules/hostconfig", "modules/hostconfig/observe", "modules/hostconfig/record", "modules/hoststate", "modules/osimage", "modules/shell", "modules/tasks"}

// The same input always makes the same plan: engine and modules use no files,
// no network, no clock and no random numbers, and start no goroutines.
func TestCoreIsPure(t *testing.T) {
	for _, s := range parseSources(t, "engine", "modules") {
		if !slices.Contains(core, s.dir) || s.test() {
			continue
		}
		for _, p := range s.imports() {
			if isWithin(p, forbidden) && !slices.Contains(allowed, p) {
				t.Errorf("%s imports %s", s.path(), p)
			}
			own := isWithin(p, []string{"holdfast"})
			if standard := !strings.Contains(strings.Split(p, "/")[0], "."); !isWithin(s.dir, []string{"modules"}) && !standard && !own {
				t.Errorf("%s imports %s, which is not in the standard library", s.path(), p)
			}
			if own && !mayImport(s.dir, p) {
				t.Errorf("%s imports %s", s.path(), p)
			}
		}
		findImpurities(s.tree, func(what string) { t.Errorf("%s: %s", s.path(), what) })
	}
}

// findImpurities finds reads of the clock, goroutines, channels and init
// functions.
func findImpurities(tree *ast.File, found func(string)) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	name := "time"
	for _, i := range tree.Imports {
		if i.Path.Value == `"time"` && i.Name != nil {
			name = i.Name.Name
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == name && slices.Contains(clock, n.Sel.Name) {
				found("time." + n.Sel.Name)
			}
		case *ast.GoStmt:
			found("go statement")
		case *ast.ChanType:
			found("channel")
		case *ast.FuncDecl:
			if n.Name.Name == "init" && n.Recv == nil {
				found("init")
			}
		}
		return true
	})
}

// neighbours lists the packages of engine that other packages of engine may
// import, with the reason for each. All other packages meet in cmd;
// commands lists the imports there.
var neighbours = map[string]map[string]string{
	"holdfast/engine":          nil, // the vocabulary of all packages
	"holdfast/engine/textutil": nil, // helpers for text that know nothing of hosts
	"holdfast/engine/clock":    nil, // the time, which knows nothing of hosts
	"holdfast/engine/etcdfacts": {
		"engine/report/htmlview":  "the page shows the quorum",
		"engine/report/metrics":   "metrics have the problems and certificates of clusters",
		"engine":                  "a plan and a status name unhealthy clusters",
		"engine/connection":       "it gathers the facts of clusters",
		"engine/etcd":             "it gathers the facts of one cluster",
		"engine/etcd/certificate": "facts have certificates and their problems",
		"engine/etcd/change":      "it issues certificates of each role",
		"engine/etcd/membership":  "a change of members keeps the quorum",
		"engine/etcd/pki":         "a profile has the role of a certificate",
		"engine/etcd/restore":     "a restored cluster needs a quorum",
		"engine/maintenance":      "a hold must leave a quorum",
		"engine/event":            "a sample is made of the facts of a cluster",
		"engine/planner":          "a cluster must be able to lose the hosts of a batch",
		"engine/report/live":      "the view shows the quorum",
		"engine/report/summary":   "the summary shows the quorum",
		"engine/report/tables":    "tables show members and certificates",
		"engine/rollout":          "a run gathers clusters, and checks the quorum before it disrupts a host",
	},
	"holdfast/engine/kubefacts": {
		"engine":             "facts and a status have the nodes of hosts",
		"engine/inventory":   "a drain has a label selector",
		"engine/kube":        "it gathers the facts of clusters",
		"engine/maintenance": "a person hears beforehand of everything that stops a drain",
		"engine/planner":     "a plan depends on the nodes of its hosts",
		"engine/rollout":     "a run gathers clusters",
		"engine/standing":    "a node that takes no work makes its host unavailable",
	},
	"holdfast/engine/event": {
		"engine/report/htmlview":    "the page folds over the events",
		"engine/report/metrics":     "metrics have the figures at the end of a run",
		"engine/connection":         "a sample of a cluster is part of an event",
		"engine/content":            "the progress of a transfer is part of an event",
		"engine/etcd/change":        "a change of members emits events",
		"engine/journal":            "a journal has the events of a run",
		"engine/totals":             "events have the figures that it sums up",
		"engine/report":             "sinks receive events, and the end of a run becomes a sentence",
		"engine/report/lines":       "each event is a line",
		"engine/report/live":        "the view follows the events",
		"engine/report/membersview": "the view follows the events of a change of members",
		"engine/report/summary":     "the summary folds over the events",
		"engine/report/termtext":    "texts of events are made safe for a terminal",
		"engine/report/voters":      "it follows the voters through events",
		"engine/rollout":            "a run emits events",
		"engine/rollout/governing":  "a governed staging emits events",
		"engine/rollout/sampling":   "each sample is an event",
		"engine/wire":               "it reads and writes the JSON of events",
	},
	"holdfast/engine/hostpattern": {
		"engine/draft":    "a remark has a pattern only if it selects the hosts of a group",
		"engine/playbook": "a play names its hosts by a pattern",
	},
	"holdfast/engine/window": {
		"engine/forecast":  "batches that a window has no time for are named",
		"engine/inventory": "a window too short for a batch is an error",
		"engine/planner":   "hosts are disrupted within the windows of their pool",
	},
	"holdfast/engine/version": {
		"engine/inventory": "a version that cannot be compared is an error",
		"engine/planner":   "pools may differ by max_skew minor versions",

		"engine/etcd":            "a list of members has the oldest of their versions",
		"engine/etcd/change":     "a new member says which version of etcd it has",
		"engine/etcd/membership": "a new member must not be older than its cluster",
		"modules/osimage":        "so does a staged OS",
	},
	"holdfast/engine/hold": {
		"engine/etcd/change": "a change of members keeps the holds of its hosts",
		"engine/rollout":     "a run keeps the holds of its hosts",
	},
	"holdfast/engine/maintenance": {
		"engine/rollout": "a run plans the request of a person",
	},
	"holdfast/engine/standing": {
		"engine/maintenance": "a request of a person depends on the standing of hosts, and on the quorum without them",
		"engine/planner":     "plan, budgets, status and forecasts judge the standing of hosts",
		"engine/rollout":     "the quorum check counts hosts that are away",
	},
	"holdfast/engine/hostscript": {
		"engine/hold":                "it takes, reads and ends holds by script",
		"engine/connection":          "it reads several files of a host with one script",
		"engine/config":              "no configuration may write the paths of holdfast itself",
		"modules/hostconfig/record":  "units are recorded by their path",
		"engine/planner":             "a sequence takes and releases holds by script",
		"engine/rollout":             "a run reads the exit statuses of scripts",
		"engine/rollout/governing":   "a pace is sent to a host by script",
		"engine/report/summary":      "a command is shown as it can be typed",
		"modules/hostconfig":         "its scripts check the hold, and quote their values",
		"modules/hostconfig/observe": "its scripts enter directories that an account may swap",
		"modules/hoststate":          "it reads the hold, and files that releases write",
		"modules/osimage":            "its scripts check the hold, and note a rejected OS",
		"modules/shell":              "it quotes the values of scripts",
		"modules/tasks":              "its scripts check the hold, and quote their values",
		"engine/etcd/change":         "its scripts check the hold, quote their values, and enter directories that an account may swap",
		"engine/filediff":            "a file of a host is read by a script with a quoted path",
		"engine/etcd/pki":            "a key is made by a script with quoted names, which enters its folder",
		"engine/report/planview":     "a refusal names the file of a host that it follows from",
	},
	"holdfast/engine/etcd/restore": {
		"engine/etcd/change":        "it carries the steps of a restore out",
		"engine/report/membersview": "the steps of a restore are shown before it",
	},
	"holdfast/engine/planner": {
		"engine/maintenance": "a person drains a host as a run does",
		"engine/rollout":     "a run plans again before each batch",
	},
	"holdfast/engine/planner/rebootkind": {
		"engine/planner": "a plan has the kind of each reboot",
	},
	"holdfast/engine/planner/approval": {
		"engine/planner":   "a plan lists the settings that its approval covers",
		"engine/rollout":   "a run does nothing that was not approved",
		"engine/savedplan": "a seal is of the texts that are compared with a later plan",
	},
	"holdfast/engine/governor": {
		"engine/planner":           "a plan has the limits of the governor",
		"engine/rollout":           "a run governs its stagings",
		"engine/rollout/governing": "it carries the decisions of the governor out",
		"engine/connection":        "it reads the counters of members",
	},
	"holdfast/engine/resource": {
		"engine":                     "a desired state has a configuration, and facts have the observed one",
		"engine/config":              "it merges documents into a configuration",
		"engine/config/syntax":       "nodes of a document have positions",
		"engine/desired":             "a desired state has a configuration",
		"engine/filediff":            "it compares old and new contents of files",
		"engine/maintenance":         "a hold that was read is named by its digest",
		"engine/rollout":             "a hold is written again only while it has the text that was read",
		"engine/rules":               "it compares two configurations",
		"modules/hostconfig":         "the module compares the observed resources with the configuration",
		"modules/hostconfig/observe": "it reads the observed resources",
		"modules/hostconfig/record":  "a record has a configuration",
		"modules/hoststate":          "a host prints the ID of its boot",
		"modules/osimage":            "a configuration has kernel arguments",
		"modules/shell":              "a script may name the boot that it is about",
		"modules/tasks":              "a play may leave parts of a configuration out",
	},
	"holdfast/engine/rules": {
		"modules/hostconfig": "it compares two configurations",
		"modules/tasks":      "a task carries out an action like a rule",
		"engine/inventory":   "an inventory may have rules of its own",
		"engine/filediff":    "the changes between two configurations",

		"engine/planner/rebootkind": "the class of a change decides which kind of reboot is enough",
		"modules/osimage":           "an OS is compared in the parts that belong to a class",
	},
	"holdfast/modules/shell": {
		"modules/hostconfig":         "it builds scripts",
		"modules/hostconfig/observe": "it builds a script and reads its answer",
		"modules/hoststate":          "it reads answers",
		"modules/osimage":            "it builds scripts and reads answers",
		"modules/tasks":              "it builds scripts",
	},
	"holdfast/modules/hostconfig/record": {
		"modules/hostconfig":         "a write updates the record",
		"modules/hostconfig/observe": "the record is part of the facts",
	},
	"holdfast/modules/hostconfig/observe": {
		"modules/hostconfig": "the module compares the facts with the configuration",
	},
	"holdfast/modules/hoststate": {
		"modules":       "it lists the modules",
		"modules/tasks": "a play uses the same facts",
	},
	"holdfast/modules/osimage": {
		"modules":            "it lists the modules",
		"modules/hostconfig": "a change of files may need a reboot",
		"modules/tasks":      "a play may update the OS, or reboot",
	},
	"holdfast/modules/hostconfig": {
		"modules":       "it lists the modules",
		"modules/tasks": "a play may write the configuration, or act on a unit",
	},
	"holdfast/engine/wire": {
		"engine/report/htmlview": "the page shows the same texts made safe",
		"engine/journal":         "a journal is JSON",
		"engine/report":          "so is the output for programs",
		"engine/report/termtext": "people see the same texts made safe",
	},
	"holdfast/engine/etcd/membership": {
		"engine/etcd/change":        "it carries the steps of membership out",
		"engine/report/membersview": "the steps of a change of members are shown before it",
		"engine/etcd/restore":       "a restored cluster grows by the steps of membership, and has the same members and records",
	},
	"holdfast/engine/etcd/carotation": {
		"engine/etcd/change":     "it carries the steps of a change of the CA out",
		"engine/etcd/pki":        "the steps of a host follow from its certificates",
		"engine/etcd/membership": "members change only while all trust the CA of the others",
	},
	"holdfast/engine/journal": {
		"engine/report/tables": "it shows the runs that journals tell of",
		"engine/bastion":       "a journal is of one machine",
		"engine/connection":    "a snapshot of a run that is over may be removed",
	},
	"holdfast/engine/totals": {
		"engine/report/htmlview": "a run without an end has no figures yet",
		"engine/rollout":         "the last event of a run has the figures of hosts and members",
	},
	"holdfast/engine/privatefile": {
		"engine/savedplan":   "a saved plan belongs to who saved it",
		"engine/etcd/change": "the record of restores lies beside the snapshots, in a folder of the operator",
	},
	"holdfast/engine/report": {
		"engine/report/htmlview": "the page has the outcome of the run",
		"engine/report/lines":    "the last line of a run has its outcome",
		"engine/report/summary":  "the last line of a run has its outcome",
		"engine/report/tables":   "a run is listed with its outcome",
		"engine/desired":         "a problem shows no secret",
		"engine/savedplan":       "a saved plan has no secret",
	},
	"holdfast/engine/report/membersview": {
		"engine/report/htmlview": "the page has the end of a change of members in a sentence",
		"engine/report/lines":    "a journal of a change of members shows the lines of that change",
		"engine/report/tables":   "the list of runs has the end of a change of members in a sentence",
	},
	"holdfast/engine/report/planview": {
		"engine/report/htmlview": "the page has the changes of the plan",
		"engine/report/lines":    "a run prints its plan",
		"engine/report/summary":  "changes are shown alike",
		"engine/filediff":        "contents that may be shown",
	},
	"holdfast/engine/rollout": {
		"engine/bastion":    "it implements the port of a run to commands on the bastion",
		"engine/connection": "it implements the ports of a run to hosts and clusters",
	},
	"holdfast/engine/config": {
		"engine/desired": "the documents of a host",
		"engine/web":     "contents that documents name by address and hash",
	},
	"holdfast/engine/ansible": {
		"engine/draft": "hosts of Ansible become hosts of an inventory",
	},
	"holdfast/engine/inventory": {
		"engine/draft":   "names and addresses must be valid in an inventory",
		"engine/desired": "the inventory names the documents of hosts",
	},
	"holdfast/engine/power": {
		"engine/bastion":       "commands on the bastion are a controller",
		"engine/redfish":       "a BMC is a controller",
		"engine/report/tables": "a table shows the power of hosts",
	},
	"holdfast/engine/remote": {
		"engine/connection": "it keeps one connection for each host",
	},
	"holdfast/engine/content": {
		"engine/connection": "hosts fetch contents through their connections",
	},
	"holdfast/engine/etcd": {
		"engine/etcd/change": "a change of members talks to the cluster",
		"engine/connection":  "it keeps one client for each cluster",
	},
	"holdfast/engine/etcd/metrics": {
		"engine/connection": "the governor reads the counters of members, and a sample compares two scrapes",
	},
	"holdfast/engine/etcd/snapshot": {
		"engine/etcd/change": "a snapshot is taken before members change",
		"engine/connection":  "a run saves snapshots, and removes those of runs that are over",
	},
	"holdfast/engine/input": {
		"engine/bastion": "a password may be in a file or a pipe",
	},
	"holdfast/engine/remote/sshconfig": {
		"engine/draft":           "names of ssh_config become hosts of an inventory",
		"engine/remote/hostkeys": "known_hosts may be named in ssh_config",
		"engine/connection":      "a host of the inventory is a target of SSH",
	},
	"holdfast/engine/config/butane": {
		"engine/config/ignition": "messages of Butane and Ignition share their texts",
	},
	"holdfast/engine/config/syntax": {
		"engine/config/ignition":   "a document is a tree of nodes with positions",
		"engine/config/registries": "so is a registries.conf",
		"engine/rules":             "a registries.conf that is compared is bounded in the same way",
		"engine/config/nodefiles":  "so is a configuration of the kubelet",
	},
	"holdfast/engine/content/regular": {
		"engine/content/archive": "a file of a repository is opened only if it is regular",
		"engine/content/layout":  "so is a file of an image layout",
	},
	"holdfast/engine/content/archive": {
		"engine/content/mirror": "a mirror is an ostree repository",
	},
	"holdfast/engine/content/layout": {
		"engine/content/mirror": "or an image layout",
	},
	"holdfast/engine/etcd/database": {
		"engine/etcd/change": "a snapshot is checked before a restore",
	},
	"holdfast/engine/etcd/pki": {
		"engine/etcd/change": "a member needs certificates",
		"engine/etcd/issuer": "requests and certificates have a profile",
	},
	"holdfast/engine/etcd/setting": {
		"engine/etcd/change": "it writes the settings of members",
	},
	"holdfast/engine/etcd/certificate": {
		"engine/etcd/issuer": "it reads certificates",
		"engine/etcd/pki":    "it reads certificates",
	},
	"holdfast/engine/report/governed": {
		"engine/report/lines":    "governed stagings are events",
		"engine/report/planview": "a plan has the limits of the governor",
		"engine/report/summary":  "the summary has the latencies",
	},
	"holdfast/engine/report/lines": {
		"engine/report/live": "without a terminal, lines are printed",
	},
	"holdfast/engine/report/summary": {
		"engine/report/htmlview": "the page has the sums of the summary",
		"engine/report/lines":    "a run ends with its summary",
	},
	"holdfast/engine/report/tables": {
		"engine/report/planview": "a plan lists unhealthy clusters",
		"engine/report/summary":  "lists have columns",
	},
	"holdfast/engine/report/termtext": {
		"engine/report/htmlview":    "durations and counts are written alike",
		"engine/report/governed":    "text for a terminal",
		"engine/report/lines":       "text for a terminal",
		"engine/report/live":        "text for a terminal",
		"engine/report/membersview": "text for a terminal",
		"engine/report/planview":    "text for a terminal",
		"engine/report/summary":     "text for a terminal",
		"engine/report/tables":      "text for a terminal",
	},
	"holdfast/engine/report/voters": {
		"engine/report/htmlview": "the page shows the voters over time",
		"engine/report/live":     "the view shows the voters of clusters",
		"engine/report/summary":  "the summary shows them",
	},
}

func mayImport(dir, pkg string) bool {
	users, common := neighbours[pkg]
	return common && (users == nil || users[dir] != "")
}

// testPackages lists the packages that are for tests only, with all packages
// below each of them. Only tests and the lab may import them, and they may import
// every package.
var testPackages = []string{
	"holdfast/engine/config/librarytest",              // the source of the Ignition library
	"holdfast/engine/content/ostreetest",              // runs the ostree tool
	"holdfast/engine/docstest",                        // generated parts of the documentation
	"holdfast/engine/etcd/etcdtest",                   // etcd members on loopback
	"holdfast/engine/kube/judgetest",                  // drawn objects, and verdicts of Kubernetes on them
	"holdfast/engine/kube/kubetest",                   // a fake API server of Kubernetes
	"holdfast/engine/longtest",                        // how many cases tests try
	"holdfast/engine/pathtest",                        // fake hosts that are kept apart from the machine
	"holdfast/engine/remote/sshtest",                  // an SSH server
	"holdfast/engine/redfish/redfishtest",             // a service of Redfish
	"holdfast/engine/shelltest",                       // shellcheck over scripts
	"holdfast/engine/report/reporttest",               // plans, events and goldens of the views
	"holdfast/engine/simulator",                       // worlds in memory, and the laws
	"holdfast/modules/hostconfig/observe/observetest", // a fake host for probes, and accounts that interfere
	"holdfast/modules/moduletest",                     // a fake host, and golden cases of modules
}

func isTestPackage(dir string) bool { return isWithin("holdfast/"+dir, testPackages) }

// TestProductDoesNotImportTestPackages checks that no product code imports a
// package that is for tests only, and that the lab does not import testing.
func TestProductDoesNotImportTestPackages(t *testing.T) {
	there := map[string]bool{}
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		there["holdfast/"+s.dir] = true
		if s.test() || isTestPackage(s.dir) {
			continue
		}
		for _, p := range s.imports() {
			if isWithin(p, testPackages) && classifyPackage(s.dir) == product || p == "testing" {
				t.Errorf("%s imports %s, which is for tests", s.path(), p)
			}
		}
	}
	for _, pkg := range testPackages {
		if !there[pkg] {
			t.Errorf("there is no package %s any more; take it out of the list", pkg)
		}
	}
	for dir := range there {
		if strings.HasSuffix(dir, "test") && !isWithin(dir, testPackages) {
			t.Errorf("package %s is for tests by its name; add it to the list", dir)
		}
	}
}

// A package of engine or modules imports its own rooms, and others only where neighbours allows it.
func TestSiblingsAreStrangers(t *testing.T) {
	used := map[string]bool{}
	for _, s := range parseSources(t, "engine", "modules") {
		for _, p := range s.imports() {
			used[s.dir+" "+p] = used[s.dir+" "+p] || !s.test()
		}
		if s.dir == "engine" || s.dir == "modules" || s.test() || isTestPackage(s.dir) {
			continue
		}
		for _, p := range s.imports() {
			own := isWithin(p, []string{"holdfast/" + s.dir}) && !isWithin(p, testPackages)
			if isWithin(p, []string{"holdfast"}) && !mayImport(s.dir, p) && !own {
				t.Errorf("%s imports %s", s.path(), p)
			}
		}
	}
	for pkg, users := range neighbours {
		for dir := range users {
			if !used[dir+" "+pkg] {
				t.Errorf("%s does not import %s any more; take it out of the list", dir, pkg)
			}
		}
	}
}

// A file that needs scrolling should be two files.
func TestFilesAreShort(t *testing.T) {
	const limit = 300
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		if s.lines > limit && !s.test() {
			t.Errorf("%s has %d lines, more than %d", s.path(), s.lines, limit)
		}
	}
}

// Every package has a doc comment.
func TestPackagesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range parseSources(t, "engine", "modules", "cmd") {
		if !s.test() {
			documented[s.dir] = documented[s.dir] || s.tree.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment", dir)
		}
	}
}

// The tests above find the faults that they search for.
func TestImpuritiesAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"import \"time\"; var x = time.Now":                "time.Now",
		"import clock \"time\"; var x = clock.Since(y)":    "time.Since",
		"func f() { go g() }":                              "go statement",
		"var x chan int":                                   "channel",
		"func init() {}":                                   "init",
		"import \"time\"; var x = time.Second; type T int": "",
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		findImpurities(tree, func(what string) { got = what })
		if got != want {
			t.Errorf("%s: found %q, want %q", text, got, want)
		}
	}
	if !isWithin("os/exec", forbidden) || !isWithin("net", forbidden) || isWithin("netip", forbidden) || isWithin("logic", forbidden) {
		t.Error("the list of forbidden packages does not work")
	}
}
