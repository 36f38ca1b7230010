package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/report"
)

var updateDocs = flag.Bool("update-docs", false, "write the generated part of docs/json.md")

// printed is what each command prints with --json.
var printed = []struct {
	command string
	value   any
}{
	{"holdfast plan", engine.Plan{}},
	{"holdfast apply: one event per line, and so in the journals", engine.Event{}},
	{"holdfast status", engine.Status{}},
	{"holdfast validate", engine.Inventory{}},
	{"holdfast holds: a list of these", report.HeldHost{}},
	{"holdfast runs: a list of these", report.RunInfo{}},
	{"holdfast etcd status: a list of these", engine.ClusterFacts{}},
	{"holdfast etcd snapshot", etcd.SnapshotInfo{}},
}

// plainly is the meaning of fields whose names say it all in the code.
var plainly = map[string]string{
	"schema": "version of this format; it only grows", "site": "name of the site", "host": "name of the host", "name": "its name",
	"pool": "name of the pool", "pools": "the pools", "hosts": "the hosts", "cluster": "name of the etcd cluster", "clusters": "the etcd clusters",
	"zone": "its zone", "changes": "what differs", "actions": "what makes that take effect, in order", "stage": "steps that put the new OS on disk, while everything runs",
	"roll": "steps of the disruption", "matching": "hosts that match", "excluded": "hosts that are left out", "lanes": "who is staged after whom",
	"batches": "who is disrupted together, in order", "warnings": "what the operator should know", "before": "what it is", "after": "what it will be",
	"seq": "number of the event in its run, from 1", "time": "when", "run": "ID of the run", "type": "its kind; see below", "step": "name of the step", "message": "for people",
	"took": "how long it took, such as \"4.2s\"", "failure": "what went wrong", "start": "of run-started", "plan": "of planned", "progress": "how far the step is", "etcd": "of etcd-sampled",
	"end": "of run-ended, and how the run ended", "pid": "process ID on the bastion", "version": "version", "args": "command line", "bytes": "bytes so far, or in all",
	"total": "hosts, or bytes, in all; 0 if not known", "voters": "members that vote", "healthy": "whether, or how many, are healthy", "problems": "what is wrong", "latency": "disk latency of members",
	"wal_fsync_p99": "99th percentile of WAL fsync, in seconds", "backend_commit_p99": "99th percentile of backend commits, in seconds", "command": "what was run", "stderr": "the end of what it printed there",
	"cause": "why", "exit": "exit code", "updated": "hosts that were made to match", "failed": "hosts that failed", "complete": "every host matches and is free", "counts": "hosts by state",
	"state": "see below", "booted": "digest of what it runs", "hold": "its hold", "kind": "run or maintenance", "reason": "why", "ticket": "ticket it belongs to",
	"acquired": "when it was taken", "renewed": "when it was last renewed", "address": "name or IP address", "ssh": "how it is reached", "os": "the OS it is to run", "driver": "ostree, rpm-ostree or bootc",
	"remote": "ostree remote", "ref": "branch in the remote", "commit": "ostree commit", "image": "container image by digest", "max_unavailable": "as in the inventory", "timeouts": "as in the inventory",
	"drain": "as in the inventory", "gates": "as in the inventory", "user": "who logs in", "port": "its port", "config": "ssh_config", "undo": "as in the inventory", "timeout": "its bound", "id": "ID", "started": "when it began",
	"learner": "whether it does not vote", "leader": "whether it, or who, leads", "raft_index": "its raft index", "db_bytes": "size of its database", "members": "its members", "alarms": "alarms that are raised",
	"problem": "what is wrong", "expired": "whether it has run out, by the host's clock", "path": "file on the bastion", "sha256": "of the file", "client_port": "port for clients", "tls": "as in the inventory", "ca": "path on the members",
	"cert": "path on the members", "key": "path on the members", "snapshot": "of this cluster; or whether one is taken", "identities": "private key files", "known_hosts": "files with host keys", "proxy_jump": "jump hosts", "become": "how to become root",
	"connect_timeout": "as in the inventory", "keep_alive": "as in the inventory", "percent": "a percentage", "count": "a number", "reboot": "as in the inventory", "health": "as in the inventory", "when": "as in the inventory", "holder": "user@bastion",
	"do": "what it does: one of these is set", "exec": "a script on the host", "script": "text of the script", "abort": "ends what an interrupted script left running", "local": "a command on the bastion", "take_hold": "takes the host's hold", "release": "releases it",
	"quorum": "voters that must be healthy, or the check that enough are", "move_leader": "moves etcd's leader away", "await_boot": "waits for the next boot", "await_units": "waits for services", "await_etcd": "waits for the etcd member",
	"for": "how long it is good for", "adopt": "run whose hold is taken over", "retry": "whether it is tried again until its timeout", "boot_id": "boot that is to end", "digest": "OS that is to run then", "running": "services that are to run", "member": "the member", "why": "the kind of reason; see above", "set": "whether the inventory gives one",
}

// TestJSONReference: docs/json.md describes what the program prints.
func TestJSONReference(t *testing.T) {
	const page = "../../docs/json.md"
	const from, to = "<!-- generated by go test ./cmd/holdfast -update-docs -->\n", "<!-- end of what is generated -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks around what is generated", page)
	}
	r := reference{t: t, comments: comments(t), done: map[reflect.Type]bool{}}
	for _, p := range printed {
		name, how, _ := strings.Cut(p.command, ":")
		fmt.Fprintf(&r.out, "## `%s --json`\n\n", name)
		typ := reflect.TypeOf(p.value)
		fmt.Fprintf(&r.out, "[`%s`](#%s)%s.\n\n", typ.Name(), strings.ToLower(typ.Name()), strings.TrimRight(","+how, ","))
	}
	r.out.WriteString("## Types\n\n")
	for _, p := range printed {
		r.describe(reflect.TypeOf(p.value))
	}
	want := head + from + "\n" + r.out.String() + to + tail
	if want == string(text) {
		return
	}
	if !*updateDocs {
		t.Fatalf("%s does not describe what is printed; go test ./cmd/holdfast -update-docs writes it", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

type reference struct {
	t        *testing.T
	out      strings.Builder
	comments map[string]string // Type and Type.Field to what the code says
	done     map[reflect.Type]bool
}

// describe writes the fields of a type, and then of those it is made of.
func (r *reference) describe(typ reflect.Type) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || r.done[typ] || named2(typ) != "" {
		return
	}
	r.done[typ] = true
	fmt.Fprintf(&r.out, "### %s\n\n%s\n\n", typ.Name(), r.comments[typ.Name()])
	if typ.NumField() == 0 {
		return
	}
	r.out.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		meaning := r.comments[typ.Name()+"."+f.Name]
		if meaning == "" {
			meaning = plainly[name]
		}
		if meaning == "" {
			r.t.Errorf("%s.%s (%s) has no meaning: say it in a comment", typ.Name(), f.Name, name)
		}
		if strings.Contains(options, "omit") {
			meaning += " *(may be missing)*"
		}
		fmt.Fprintf(&r.out, "| `%s` | %s | %s |\n", name, r.kind(f.Type), strings.ReplaceAll(meaning, "|", `\|`))
	}
	r.out.WriteString("\n")
	for i := range typ.NumField() {
		r.describe(typ.Field(i).Type)
	}
}

// named2 is how types print themselves that are no objects in JSON.
func named2(typ reflect.Type) string {
	switch typ {
	case reflect.TypeFor[time.Time]():
		return "time (RFC 3339)"
	case reflect.TypeFor[engine.Duration]():
		return "duration (\"1m30s\")"
	}
	return ""
}

func (r *reference) kind(typ reflect.Type) string {
	if s := named2(typ); s != "" {
		return s
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return r.kind(typ.Elem())
	case reflect.Slice:
		return "list of " + r.kind(typ.Elem())
	case reflect.Map:
		return "object of " + r.kind(typ.Elem())
	case reflect.Struct:
		return fmt.Sprintf("[%s](#%s)", typ.Name(), strings.ToLower(typ.Name()))
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	}
	return "number"
}

// comments reads what the code says about the types that are printed.
func comments(t *testing.T) map[string]string {
	t.Helper()
	said := map[string]string{}
	for _, dir := range []string{"../../engine", "../../engine/report", "../../engine/etcd"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool { return collect(said, n) })
		}
	}
	return said
}

func collect(said map[string]string, n ast.Node) bool {
	decl, ok := n.(*ast.GenDecl)
	if !ok {
		return true
	}
	for _, s := range decl.Specs {
		typ, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		fields, ok := typ.Type.(*ast.StructType)
		if !ok {
			continue
		}
		said[typ.Name.Name] = oneLine(decl.Doc.Text() + typ.Doc.Text())
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				said[typ.Name.Name+"."+name.Name] = oneLine(f.Comment.Text() + f.Doc.Text())
			}
		}
	}
	return true
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
