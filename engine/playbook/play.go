package playbook

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"holdfast/engine"
	"holdfast/engine/hostpattern"
)

func (l *loader) readPlays(root *yaml.Node) []engine.Play {
	root = resolveAlias(root)
	if root.Kind != yaml.SequenceNode || len(root.Content) == 0 {
		l.errs.addProblem(place{root.Line, root.Column, 1}, "a playbook is a list of plays", "begin each play with a dash: - hosts: …")
		return nil
	}
	var list []engine.Play
	for _, n := range root.Content {
		n = resolveAlias(n)
		if n.Kind != yaml.MappingNode {
			l.addProblem(n, "this is not a play", "a play begins with - hosts: … and has tasks")
			continue
		}
		if key, is := isImport(n); is {
			l.addProblem(key, fmt.Sprintf("a play has no %q", key.Value), unsupportedPlayWords()["import_playbook"])
			continue
		}
		if p := l.readPlay(n); len(p.Tasks) > 0 {
			list = append(list, p)
		}
	}
	return list
}

func (l *loader) readPlay(n *yaml.Node) engine.Play {
	removeWords(n, playWordsWithoutEffect())
	entries := l.readFields(n, vocabulary{owner: "a play", fields: playFields(), unsupported: unsupportedPlayWords()})
	l.vars = l.readVars(entries["vars"])
	v := l.readValues(entries, playFields())
	p := engine.Play{
		Name: l.readName(entries, v), Serial: typedValue[[]engine.CountOrPercent](v, "serial"),
		Order: engine.Order(strings.ReplaceAll(v.textOf("order"), "_", "-")), AnyErrorsFatal: v.isTrue("any_errors_fatal"), Line: n.Line,
	}
	if v.has("max_fail_percentage") {
		p.MaxFailPercentage = &engine.CountOrPercent{Percent: v.numberOf("max_fail_percentage"), Set: true}
	}
	l.hosts, l.allTasks, l.dropped = nil, nil, ""
	if e, ok := entries["hosts"]; ok {
		p.Hosts = l.readHosts(e.value)
	}
	if p.Name == "" {
		p.Name = p.Hosts
	}
	tags := typedValue[[]string](v, "tags")
	p.PreTasks = l.readTasks(preTasks, entries[preTasks], tags)
	p.Tasks = l.readTasks(mainTasks, entries[mainTasks], tags)
	p.PostTasks = l.readTasks(postTasks, entries[postTasks], tags)
	if l.dropped != "" && len(l.allTasks) == 0 && len(p.PreTasks)+len(p.PostTasks) == 0 {
		l.refuseEmptyPlay(n, l.dropped)
	}
	l.refuseUnusedLists(entries, p)
	l.refuseRebootAfterStage(entries[mainTasks].value, p)
	return normalizeTaskLists(p)
}

// refuseRebootAfterStage refuses a play that reboots hosts after staging,
// which would lose the staged OS. With --tags it is allowed, because the
// operator selected the tasks.
func (l *loader) refuseRebootAfterStage(n *yaml.Node, p engine.Play) {
	if len(l.opts.Tags)+len(l.opts.SkipTags) > 0 {
		return
	}
	everywhere := func(module string) bool {
		return slices.ContainsFunc(p.Tasks, func(t engine.Task) bool { return t.Module == module && len(t.Skip) == 0 })
	}
	if everywhere(engine.StageTask) && everywhere(engine.RebootTask) && !p.Has(engine.FinalizeTask) {
		l.addProblem(n, "reboot would lose the OS that stage has put on disk", "write finalize in place of reboot, or stage in a later play")
	}
}

// refuseUnusedLists refuses pre_tasks and post_tasks that would never run.
// These lists run before and after the changes of a host, but staging and
// snapshots are done earlier. With --tags, the selected tasks decide, too.
func (l *loader) refuseUnusedLists(entries map[string]entry, p engine.Play) {
	if len(l.allTasks) > 0 && !slices.ContainsFunc(l.allTasks, changesHosts) {
		for _, list := range []string{preTasks, postTasks} {
			e, ok := entries[list]
			if !ok || e.value.Kind != yaml.SequenceNode || list == preTasks && l.hasOnlySnapshots(e.value) {
				continue
			}
			l.addProblem(e.key, list+" would never run, because the play only has "+l.allTasks[0].Module, "move them to the tasks of another play")
		}
		return
	}
	if len(p.Tasks) == 0 || slices.ContainsFunc(p.Tasks, changesHosts) {
		return
	}
	selected := map[string][]engine.Task{preTasks: p.PreTasks, postTasks: p.PostTasks}
	for _, list := range []string{preTasks, postTasks} {
		if slices.ContainsFunc(selected[list], func(t engine.Task) bool { return list == postTasks || t.Module != engine.EtcdSnapshotTask }) {
			l.addProblem(entries[list].key, list+" would never run, because --tags selects only "+p.Tasks[0].Module+" from the tasks", "also select a task that changes hosts, or move this list to another play")
		}
	}
}

func changesHosts(t engine.Task) bool {
	return t.Module != engine.StageTask && t.Module != engine.EtcdSnapshotTask
}

func (l *loader) hasOnlySnapshots(list *yaml.Node) bool {
	return !slices.ContainsFunc(list.Content, func(n *yaml.Node) bool {
		n = resolveAlias(n)
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

// normalizeTaskLists moves tasks to the lists in which the planner expects
// them. As in Ansible, --tags may select only pre_tasks and post_tasks; these
// become main tasks. A snapshot of etcd always becomes the first main task.
func normalizeTaskLists(p engine.Play) engine.Play {
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

func (l *loader) readName(entries map[string]entry, v values) string {
	name := strings.TrimSpace(v.textOf("name"))
	if strings.Contains(name, "\n") {
		l.addProblem(entries["name"].value, "the name has several lines", "write it in one")
	}
	return name
}

func (l *loader) readHosts(n *yaml.Node) string {
	before := l.errs.Len()
	var terms []string
	items := l.readTexts("hosts", n)
	for _, item := range items {
		terms = append(terms, strings.TrimSpace(item.Value))
		if strings.Contains(item.Value, "${") || strings.Contains(item.Value, "{{") {
			l.addProblem(item, "the hosts of a play cannot come from a variable", "write a pattern for all of them, and use --limit")
		}
	}
	pattern := strings.Join(terms, ",") // a colon would become part of a term with ~
	if l.errs.Len() > before {
		return pattern
	}
	match, err := hostpattern.Parse(pattern, engine.Inventory{Hosts: l.opts.Hosts})
	if err != nil {
		l.reportPatternError(n, items, err)
		return pattern
	}
	for _, h := range l.opts.Hosts {
		if match(h) {
			l.hosts = append(l.hosts, h)
		}
	}
	return pattern
}

func (l *loader) reportPatternError(n *yaml.Node, items []*yaml.Node, err error) {
	where, advice := nodePlace(n), "write a pattern as for --limit"
	if quoted, _ := strconv.QuotedPrefix(err.Error()); quoted != "" {
		term, _ := strconv.Unquote(quoted)
		for _, item := range items {
			if i := strings.Index(item.Value, term); i >= 0 {
				where = l.textPlace(item, i, len([]rune(term)))
				break
			}
		}
		if term == "localhost" || term == "127.0.0.1" {
			advice = "the bastion is not one of the hosts; a command with delegate_to: localhost runs there"
		}
	}
	if none := (&hostpattern.NoMatchError{}); errors.As(err, &none) && none.Near != "" {
		advice = fmt.Sprintf("did you mean %q?", none.Near)
		err = &hostpattern.NoMatchError{Term: none.Term}
	}
	l.errs.addProblem(where, "hosts: "+err.Error(), advice)
}
