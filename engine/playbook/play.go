package playbook

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
)

// plays reads the list of plays, without those of which tags leave nothing.
func (l *loader) plays(root *yaml.Node) []engine.Play {
	root = follow(root)
	if root.Kind != yaml.SequenceNode || len(root.Content) == 0 {
		l.errs.add(place{root.Line, root.Column, 1}, "a playbook is a list of plays", "begin each play with a dash: - hosts: …")
		return nil
	}
	var list []engine.Play
	for _, n := range root.Content {
		n = follow(n)
		if n.Kind != yaml.MappingNode {
			l.fail(n, "this is not a play", "a play begins with - hosts: … and has tasks")
			continue
		}
		if p := l.play(n); len(p.Tasks) > 0 {
			list = append(list, p)
		}
	}
	return list
}

func (l *loader) play(n *yaml.Node) engine.Play {
	entries := l.object(n, "a play", playFields(), nil, playLacks())
	l.vars = l.readVars(entries["vars"])
	v := l.values(entries, playFields())
	p := engine.Play{
		Name: l.title(entries, v), Serial: value[[]engine.Limit](v, "serial"),
		Order: engine.Order(v.text("order")), AnyFatal: v.truth("any_errors_fatal"), Line: n.Line,
	}
	if v.has("max_fail_percentage") {
		p.MaxFail = &engine.Limit{Percent: v.number("max_fail_percentage"), Set: true}
	}
	l.hosts, l.every = nil, nil
	if e, ok := entries["hosts"]; ok {
		p.Hosts = l.pattern(e.value)
	}
	if p.Name == "" {
		p.Name = p.Hosts
	}
	tags := value[[]string](v, "tags")
	p.PreTasks = l.tasks(preTasks, entries[preTasks], tags)
	p.Tasks = l.tasks(mainTasks, entries[mainTasks], tags)
	p.PostTasks = l.tasks(postTasks, entries[postTasks], tags)
	l.surround(entries)
	l.loses(entries[mainTasks].value, p)
	return settled(p)
}

// loses finds a play that reboots its hosts into the OS that they run, which
// loses what it has just staged. With --tags that is what was asked for.
func (l *loader) loses(n *yaml.Node, p engine.Play) {
	if len(l.opts.Tags)+len(l.opts.SkipTags) > 0 {
		return
	}
	everywhere := func(module string) bool {
		return slices.ContainsFunc(p.Tasks, func(t engine.Task) bool { return t.Module == module && len(t.Skip) == 0 })
	}
	if everywhere(engine.StageTask) && everywhere(engine.RebootTask) && !p.Has(engine.FinalizeTask) {
		l.fail(n, "reboot does not boot what stage has put on disk, which is lost with it", "write finalize in place of reboot, or stage in a later play")
	}
}

// surround notes pre_tasks and post_tasks that would never be carried out: they
// go around what is done to a host, and staging and saving are done before.
func (l *loader) surround(entries map[string]entry) {
	done := func(t engine.Task) bool {
		return t.Module != engine.StageTask && t.Module != engine.EtcdSnapshotTask
	}
	if len(l.every) == 0 || slices.ContainsFunc(l.every, done) {
		return
	}
	for _, list := range []string{preTasks, postTasks} {
		e, ok := entries[list]
		if !ok || e.value.Kind != yaml.SequenceNode || list == preTasks && l.onlySaves(e.value) {
			continue
		}
		l.fail(e.key, list+" would never be carried out, as nothing in this play is done to a host but "+l.every[0].Module, "put them into a play of their own, in tasks")
	}
}

// onlySaves reports whether a list has no tasks but those that save etcd.
func (l *loader) onlySaves(list *yaml.Node) bool {
	return !slices.ContainsFunc(list.Content, func(n *yaml.Node) bool {
		n = follow(n)
		if n.Kind == yaml.ScalarNode {
			return n.Value != engine.EtcdSnapshotTask
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == engine.EtcdSnapshotTask {
				return false
			}
		}
		return true
	})
}

// settled is a play with its tasks in the lists where they are looked for. As in
// Ansible, --tags may leave pre_tasks and post_tasks alone; and etcd clusters
// are saved once, before everything, wherever that is written.
func settled(p engine.Play) engine.Play {
	if len(p.Tasks) == 0 {
		p.Tasks, p.PreTasks, p.PostTasks = append(p.PreTasks, p.PostTasks...), nil, nil
	}
	saves := func(t engine.Task) bool { return t.Module == engine.EtcdSnapshotTask }
	if i := slices.IndexFunc(p.PreTasks, saves); i >= 0 {
		p.Tasks = append([]engine.Task{p.PreTasks[i]}, p.Tasks...)
		p.PreTasks = slices.DeleteFunc(p.PreTasks, saves)
	}
	return p
}

// title is the name of a play or task: one line.
func (l *loader) title(entries map[string]entry, v values) string {
	name := strings.TrimSpace(v.text("name"))
	if strings.Contains(name, "\n") {
		l.fail(entries["name"].value, "the name has several lines", "write it in one")
	}
	return name
}

// pattern reads the hosts of a play and chooses them.
func (l *loader) pattern(n *yaml.Node) string {
	before := l.errs.Len()
	var terms []string
	items := l.oneOrMore("hosts", n)
	for _, item := range items {
		terms = append(terms, strings.TrimSpace(item.Value))
		if strings.Contains(item.Value, "${") || strings.Contains(item.Value, "{{") {
			l.fail(item, "the hosts of a play cannot come from a variable", "write a pattern that has all of them, and use --limit")
		}
	}
	pattern := strings.Join(terms, ",") // not a colon, which a term with ~ would swallow
	if l.errs.Len() > before {
		return pattern
	}
	match, err := engine.ParsePattern(pattern, engine.Inventory{Hosts: l.opts.Hosts})
	if err != nil {
		l.noHost(n, items, err)
		return pattern
	}
	for _, h := range l.opts.Hosts {
		if match(h) {
			l.hosts = append(l.hosts, h)
		}
	}
	return pattern
}

// noHost notes what is wrong with a pattern, at the term that is.
func (l *loader) noHost(n *yaml.Node, items []*yaml.Node, err error) {
	where, advice := at(n), "write a pattern as for --limit"
	if quoted, _ := strconv.QuotedPrefix(err.Error()); quoted != "" {
		term, _ := strconv.Unquote(quoted)
		for _, item := range items {
			if i := strings.Index(item.Value, term); i >= 0 {
				where = l.within(item, i, len([]rune(term)))
				break
			}
		}
		if term == "localhost" || term == "127.0.0.1" {
			advice = "the bastion is none of the hosts; a command with delegate_to: localhost runs there"
		}
	}
	if none := (&engine.NoMatchError{}); errors.As(err, &none) && none.Near != "" {
		advice = fmt.Sprintf("did you mean %q?", none.Near)
		err = &engine.NoMatchError{Term: none.Term}
	}
	l.errs.add(where, "hosts: "+err.Error(), advice)
}
